import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { ClockAnchor } from './clock.ts';
import type { Answer, FunctionData, Invocation } from './function-messages.ts';
import { MAX_ANSWER_BYTES } from './limits.ts';
import { functionFailure, TaskError, type TaskFailure } from './task-error.ts';

/** A function as the template describes it, its environment resolved. */
export interface FunctionSpec {
  readonly name: string;
  readonly arn: string;
  /** The module of the bundled asset, and the name that it exports the handler by. */
  readonly file: string;
  readonly exportName: string;
  /** All of `process.env`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  /** ReservedConcurrentExecutions, where the template sets it. */
  readonly reserved?: number;
}

/** One line that a function wrote. */
export interface LogLine {
  readonly function: string;
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** One execution environment: a thread that is used again while it is warm, for one invocation at a time. */
export interface Instance {
  readonly busy: boolean;
  /** False once the thread has ended, by itself or by force. */
  readonly alive: boolean;
  /** The handler's module is loaded. Rejects with a TaskError where the thread ended before. */
  readonly ready: Promise<void>;
  /** @throws TaskError, named as Step Functions would see it */
  invoke(event: unknown): Promise<unknown>;
  /** Ends the thread at once; an invocation in it fails as if the process had been killed. */
  kill(): Promise<void>;
}

export function startInstance(
  spec: FunctionSpec,
  clock: ClockAnchor,
  log: (line: LogLine) => void,
): Instance {
  const worker = startWorker(spec, clock, log);
  let alive = true;
  let settle: ((answer: Answer) => void) | undefined;
  const loaded = Promise.withResolvers<void>();
  loaded.promise.catch(() => {}); // whoever waits for it hears of it
  const answer = (given: Answer) => {
    if ('ready' in given) return loaded.resolve();
    if ('failure' in given) loaded.reject(new TaskError(given.failure));
    settle?.(given);
    settle = undefined;
  };
  worker.on('message', answer);
  // What nobody caught, which Node prints, or the thread's own: out of memory, or a module that cannot be read.
  worker.on('error', (error) => {
    alive = false;
    const isOutOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
    if (isOutOfMemory) return answer({ failure: exited('signal: killed', 'Runtime.OutOfMemory') });
    log({ function: spec.name, stream: 'stderr', text: inspect(error) });
    answer({ failure: exited('exit status 1') });
  });
  worker.on('exit', (code) => {
    alive = false;
    answer({ failure: exited(code === 0 ? 'exited without providing a reason' : `exit status ${code}`) });
  });

  const kill = async () => {
    alive = false;
    answer({ failure: exited('signal: killed') });
    await worker.terminate();
  };
  const expire = (requestId: string) => {
    alive = false;
    answer({ failure: timedOut(requestId, spec.timeoutSeconds) });
    void worker.terminate();
  };
  const invoke = async (event: unknown): Promise<unknown> => {
    const requestId = randomUUID();
    const { promise, resolve } = Promise.withResolvers<Answer>();
    settle = resolve;
    const milliseconds = spec.timeoutSeconds * 1000;
    const timer = setTimeout(expire, milliseconds, requestId);
    const invocation: Invocation = {
      event: JSON.stringify(event ?? null),
      requestId,
      deadline: Date.now() + milliseconds,
    };
    worker.postMessage(invocation);
    return read(await promise.finally(() => clearTimeout(timer)));
  };
  return {
    ...{ invoke, kill, ready: loaded.promise },
    get busy() {
      return settle !== undefined;
    },
    get alive() {
      return alive;
    },
  };
}

function startWorker(spec: FunctionSpec, clock: ClockAnchor, log: (line: LogLine) => void): Worker {
  const { name, arn, memoryMb } = spec;
  // Node would read the options from a thread's environment, and refuse V8's: those are the whole process's.
  const { NODE_OPTIONS, ...environment } = spec.environment;
  const { NODE_COMPILE_CACHE } = process.env;
  const workerData: FunctionData = {
    file: spec.file,
    exportName: spec.exportName,
    clock: { start: clock.start, speed: clock.speed },
    ...(NODE_OPTIONS !== undefined && { nodeOptions: NODE_OPTIONS }),
    context: {
      functionName: name,
      functionVersion: '$LATEST',
      invokedFunctionArn: arn,
      memoryLimitInMB: String(memoryMb),
      logGroupName: `/aws/lambda/${name}`,
      logStreamName: 'local',
    },
  };
  const worker = new Worker(new URL('./function-worker.ts', import.meta.url), {
    workerData,
    // The thread takes it out again before a handler can see it.
    env: { ...environment, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) },
    execArgv: [],
    // What a handler writes is a log line, never part of what this process prints.
    stdout: true,
    stderr: true,
    resourceLimits: heapLimits(memoryMb, NODE_OPTIONS),
  });
  for (const stream of ['stdout', 'stderr'] as const) {
    createInterface({ input: worker[stream] }).on('line', (text) => log({ function: name, stream, text }));
  }
  return worker;
}

/** The JavaScript heap alone, where Lambda counts buffers as well. A young generation is three semi-spaces. */
function heapLimits(memoryMb: number, nodeOptions = ''): ResourceLimits {
  const [, semiSpaceMb] = /--max-semi-space-size=(\d+)/.exec(nodeOptions) ?? [];
  return {
    maxOldGenerationSizeMb: memoryMb,
    ...(semiSpaceMb !== undefined && { maxYoungGenerationSizeMb: 3 * Number(semiSpaceMb) }),
  };
}

function read(answer: Answer): unknown {
  if ('ready' in answer) return undefined;
  if ('failure' in answer) throw new TaskError(answer.failure);
  if (Buffer.byteLength(answer.output) > MAX_ANSWER_BYTES) {
    throw new TaskError(
      functionFailure('Function.ResponseSizeTooLarge', `The answer is over ${MAX_ANSWER_BYTES} bytes.`),
    );
  }
  return JSON.parse(answer.output);
}

function timedOut(requestId: string, seconds: number): TaskFailure {
  const message = `RequestId: ${requestId} Error: Task timed out after ${seconds.toFixed(2)} seconds`;
  return functionFailure('Sandbox.Timedout', message);
}

function exited(reason: string, name = 'Runtime.ExitError'): TaskFailure {
  return functionFailure(name, `Error: Runtime exited with error: ${reason}`);
}
