import { createRequire } from 'node:module';
import type { LambdaContext } from '../../../../functions/workflow/step.ts';
import { type ClockAnchor, createScaledDate } from '../clock.ts';
import { functionFailure, type TaskFailure } from './task-error.ts';

/**
 * The process of one function: Lambda's runtime as far as a handler can see it. It handles one invocation at
 * a time. Like the runtime for Node 24, it does not listen for uncaught errors: such an error ends the
 * process.
 */

/** The argument, as JSON. */
export interface FunctionData {
  /** The bundled module. */
  readonly file: string;
  readonly clock: ClockAnchor;
}

export interface Invocation {
  /** JSON. */
  readonly event: string;
  readonly requestId: string;
  /** Real ms until the time-out. */
  readonly milliseconds: number;
}

/** `output` is JSON. */
export type InvocationResult = { readonly output: string } | { readonly failure: TaskFailure };

type Handler = (event: unknown, context: LambdaContext) => unknown;

const { file, clock }: FunctionData = JSON.parse(process.argv[2] ?? '');
// The process that started this one has ended, perhaps killed.
process.on('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches each process. The one that started this one decides what ends.
process.on('SIGINT', () => {});
// Before the handler's module is loaded, because that may keep what it finds.
globalThis.Date = createScaledDate(clock);
delete process.env.NODE_COMPILE_CACHE;

const sendResult = (answer: InvocationResult) => process.send?.(answer);

/** Lambda's runtime uses `import`, which first scans the module for exports: a sixth of the load time. */
const loaded = (async (): Promise<{ handler: Handler }> => createRequire(import.meta.url)(file))();
// Every invocation says why.
loaded.catch(() => {});

process.on('message', async ({ event, requestId, milliseconds }: Invocation) => {
  const started = performance.now();
  const context = {
    awsRequestId: requestId,
    getRemainingTimeInMillis: () => milliseconds - Math.round(performance.now() - started),
  };
  try {
    const { handler } = await loaded;
    // Like Lambda, turns undefined into null and a Date into text, and fails for a BigInt.
    sendResult({ output: JSON.stringify((await handler(JSON.parse(event), context)) ?? null) });
  } catch (error) {
    sendResult({ failure: toTaskFailure(error) });
  }
});

function toTaskFailure(error: unknown): TaskFailure {
  if (!(error instanceof Error)) return functionFailure(typeof error, String(error));
  return functionFailure(error.name, error.message, error.stack?.split('\n'));
}
