import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { LambdaContext } from '../../../functions/workflow/step.ts';
import { type ClockAnchor, createScaledDate } from '../clock.ts';
import { functionFailure, type TaskFailure } from './task-error.ts';

/**
 * The thread or process of one function: Lambda's runtime as far as a handler can see it. It handles one invocation at a time.
 * Like the runtime for Node 24, it does not listen for uncaught errors: such an error ends the thread. A process gets its data as
 * an argument.
 */

export interface FunctionData {
  /** The bundled module. */
  readonly file: string;
  readonly clock: ClockAnchor;
  /** A process's own temporary folder. Whoever started the process removes it, unless it is killed. */
  readonly scratch?: string;
}

export interface Invocation {
  /** JSON. */
  readonly event: string;
  readonly requestId: string;
  /** Real epoch ms. */
  readonly deadline: number;
}

/** `ready`: the module is loaded, or loading it failed and every invocation will say why. `output` is JSON. */
export type Answer =
  | { readonly ready: true }
  | { readonly output: string }
  | { readonly failure: TaskFailure };

type Handler = (event: unknown, context: LambdaContext) => unknown;

const port = parentPort ?? process;
const data: FunctionData = parentPort ? workerData : JSON.parse(process.argv[2] ?? '');
const { file, clock, scratch } = data;
// The process that started this one has ended, perhaps killed.
if (!parentPort) process.on('disconnect', endProcess);
// Before the handler's module is loaded, because that may keep what it finds.
globalThis.Date = createScaledDate(clock);
delete process.env.NODE_COMPILE_CACHE;

const send = (answer: Answer) => (parentPort ? parentPort.postMessage(answer) : process.send?.(answer));

/** Lambda's runtime uses `import`, which first scans the whole module for its exports: a sixth of the load time. */
const load = async () => createRequire(import.meta.url)(file) as { handler: Handler };
const loaded = load();
loaded.then(
  () => send({ ready: true }),
  () => send({ ready: true }),
);

port.on('message', async ({ event, requestId, deadline }: Invocation) => {
  const context = {
    awsRequestId: requestId,
    getRemainingTimeInMillis: () => deadline - Math.round(performance.timeOrigin + performance.now()),
  };
  try {
    const { handler } = await loaded;
    // Like Lambda, turns undefined into null and a Date into text, and fails for a BigInt.
    send({ output: JSON.stringify((await handler(JSON.parse(event), context)) ?? null) });
  } catch (error) {
    send({ failure: describe(error) });
  }
});

function endProcess(): void {
  try {
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  } finally {
    process.exit();
  }
}

function describe(error: unknown): TaskFailure {
  if (!(error instanceof Error)) return functionFailure(typeof error, String(error));
  return functionFailure(error.name, error.message, error.stack?.split('\n'));
}
