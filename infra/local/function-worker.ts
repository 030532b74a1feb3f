import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { installDate } from './clock.ts';
import type { Answer, FunctionData, Invocation } from './function-messages.ts';
import { functionFailure, type TaskFailure } from './task-error.ts';

/**
 * The thread of one function: Lambda's runtime, as far as a handler can see it. One invocation at a time. It does not listen
 * for what nobody caught, as the runtime for Node 24 does not: the thread ends with that.
 */

type Handler = (event: unknown, context: object) => unknown;

const port = parentPort;
if (!port) throw new Error('function-worker.ts runs as a worker');
const { file, exportName, clock, nodeOptions, context: constant } = workerData as FunctionData;
// Before the handler's module is loaded, which may keep what it finds.
installDate(clock);
delete process.env.NODE_COMPILE_CACHE;
if (nodeOptions !== undefined) process.env.NODE_OPTIONS = nodeOptions;

const tell = (answer: Answer) => port.postMessage(answer);

/** Lambda's runtime says `import`, which first reads all of it for the names that it exports: a sixth of the time, in each thread. */
const load = async () => createRequire(import.meta.url)(file) as Record<string, Handler>;
const loaded = load();
loaded.then(
  () => tell({ ready: true }),
  () => tell({ ready: true }), // each invocation says why it could not be loaded
);

port.on('message', async ({ event, requestId, deadline }: Invocation) => {
  const context = {
    ...constant,
    awsRequestId: requestId,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => deadline - Math.round(performance.timeOrigin + performance.now()),
  };
  try {
    const handler = (await loaded)[exportName];
    if (!handler) {
      const missing = `${file} has no export ${exportName}`;
      return tell({ failure: functionFailure('Runtime.HandlerNotFound', missing) });
    }
    // Lambda hands over JSON: undefined becomes null, a Date its text, and a BigInt fails.
    tell({ output: JSON.stringify((await handler(JSON.parse(event), context)) ?? null) });
  } catch (error) {
    tell({ failure: describe(error) });
  }
});

function describe(error: unknown): TaskFailure {
  if (!(error instanceof Error)) return functionFailure(typeof error, String(error));
  return functionFailure(error.name, error.message, error.stack?.split('\n'));
}
