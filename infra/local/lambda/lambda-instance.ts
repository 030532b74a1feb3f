import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { ClockAnchor } from '../clock.ts';
import type { Answer, FunctionData, Invocation } from './lambda-worker.ts';
import { functionFailure, TaskError, type TaskFailure } from './task-error.ts';

/** A function as the template describes it, with all references resolved. */
export interface FunctionSpec {
  readonly name: string;
  readonly arn: string;
  /** The bundled module, which exports `handler`. */
  readonly file: string;
  /** All of `process.env`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  /** ReservedConcurrentExecutions, if the template sets it. */
  readonly reserved?: number;
  /** Takes the temporary folder of each process. Default: the system's. */
  readonly scratch?: string;
}

/** The folder of `--out` for {@link FunctionSpec.scratch}: rows of reports must not stay elsewhere if the machine is switched off. */
export const SCRATCH = '.scratch';

/** One line that a function wrote. */
export interface LogLine {
  readonly function: string;
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** One execution environment: a thread or a process that handles one invocation at a time and is used again while it is warm. */
export interface Instance {
  readonly busy: boolean;
  /** False once the thread has ended. */
  readonly alive: boolean;
  /** Resolves when the handler's module is loaded. Rejects with a TaskError if the thread ended before that. */
  readonly ready: Promise<void>;
  /** @throws TaskError with the name that Step Functions would report */
  invoke(event: unknown): Promise<unknown>;
  /** Ends the thread at once. An invocation in it fails as if the process had been killed. */
  kill(): Promise<void>;
}

export function startInstance(
  spec: FunctionSpec,
  clock: ClockAnchor,
  log: (line: LogLine) => void,
): Instance {
  const worker = startRunner(spec, clock, log);
  let alive = true;
  let settle: ((answer: Answer) => void) | undefined;
  const loaded = Promise.withResolvers<void>();
  loaded.promise.catch(() => {}); // reported to everyone who awaits `ready`
  const receive = (answer: Answer) => {
    if ('ready' in answer) return loaded.resolve();
    if ('failure' in answer) loaded.reject(new TaskError(answer.failure));
    settle?.(answer);
    settle = undefined;
  };
  worker.on('message', receive);
  // An uncaught error, memory that ran out, or a module that cannot be read.
  worker.on('error', (error) => {
    alive = false;
    const isOutOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
    if (isOutOfMemory) return receive({ failure: exited('signal: killed', 'Runtime.OutOfMemory') });
    log({ function: spec.name, stream: 'stderr', text: inspect(error) });
    receive({ failure: exited('exit status 1') });
  });
  worker.on('exit', (code) => {
    alive = false;
    receive({ failure: exited(code === 0 ? 'exited without providing a reason' : `exit status ${code}`) });
  });

  const end = (failure: TaskFailure) => {
    alive = false;
    receive({ failure });
    return worker.terminate();
  };
  const kill = async () => void (await end(exited('signal: killed')));
  const invoke = async (event: unknown): Promise<unknown> => {
    const requestId = randomUUID();
    const { promise, resolve } = Promise.withResolvers<Answer>();
    settle = resolve;
    const milliseconds = spec.timeoutSeconds * 1000;
    const timer = setTimeout(() => end(timedOut(requestId, spec.timeoutSeconds)), milliseconds);
    const invocation: Invocation = {
      event: JSON.stringify(event ?? null),
      requestId,
      deadline: Date.now() + milliseconds,
    };
    worker.postMessage(invocation);
    return readAnswer(await promise.finally(() => clearTimeout(timer)));
  };
  return {
    invoke,
    kill,
    ready: loaded.promise,
    get busy() {
      return settle !== undefined;
    },
    get alive() {
      return alive;
    },
  };
}

/** DuckDB aborts its whole process if a thread is ended during a query, so these steps run in a process of their own. */
function runsInProcess({ environment }: FunctionSpec): boolean {
  return environment.STEP === 'CurateReport';
}

const WORKER = new URL('./lambda-worker.ts', import.meta.url);

/** The part of a thread that a process has too. */
type Runner = Pick<Worker, 'on' | 'postMessage' | 'terminate' | 'stdout' | 'stderr'>;

function startRunner(spec: FunctionSpec, clock: ClockAnchor, log: (line: LogLine) => void): Runner {
  const { name, memoryMb } = spec;
  // Node refuses V8's options in the environment of a thread, because they apply to the whole process.
  const { NODE_OPTIONS, ...environment } = spec.environment;
  const { NODE_COMPILE_CACHE } = process.env;
  const data: FunctionData = {
    file: spec.file,
    clock: { start: clock.start, speed: clock.speed, ahead: clock.ahead ?? 0 },
  };
  // The worker removes NODE_COMPILE_CACHE again before it loads the handler.
  const cache = NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE };
  const env = { ...environment, ...cache, AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb) };
  const runner = runsInProcess(spec)
    ? startProcess(data, env, spec)
    : startThread(data, env, heapLimits(memoryMb, NODE_OPTIONS));
  for (const stream of ['stdout', 'stderr'] as const) {
    createInterface({ input: runner[stream] }).on('line', (text) => log({ function: name, stream, text }));
  }
  return runner;
}

/** A handler's output is a log line and never part of what this process prints. */
function startThread(
  workerData: FunctionData,
  env: NodeJS.ProcessEnv,
  resourceLimits: ResourceLimits,
): Runner {
  return new Worker(WORKER, { workerData, env, resourceLimits, execArgv: [], stdout: true, stderr: true });
}

/** The process has its own temporary folder, as each instance on Lambda has its own /tmp. */
function startProcess(
  data: FunctionData,
  env: NodeJS.ProcessEnv,
  { memoryMb, scratch: parent = tmpdir() }: FunctionSpec,
): Runner {
  mkdirSync(parent, { recursive: true });
  const scratch = mkdtempDisposableSync(join(parent, 'lambda-'));
  const execArgv = [`--max-old-space-size=${memoryMb}`];
  const child = fork(WORKER, [JSON.stringify({ ...data, scratch: scratch.path })], {
    env: { ...env, TMPDIR: scratch.path },
    execArgv,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.once('exit', (_, signal) => {
    scratch.remove();
    // V8 aborts a process whose heap is full.
    if (signal === 'SIGABRT') child.emit('error', { code: 'ERR_WORKER_OUT_OF_MEMORY' });
  });
  return Object.assign(child, {
    postMessage: (message: Invocation) => void child.send(message),
    async terminate() {
      child.kill('SIGKILL');
      await ended;
      return 1;
    },
  }) as unknown as Runner;
}

/** Limits the JavaScript heap only; Lambda also counts buffers. A young generation has three semi-spaces. */
function heapLimits(memoryMb: number, nodeOptions = ''): ResourceLimits {
  const [, semiSpaceMb] = /--max-semi-space-size=(\d+)/.exec(nodeOptions) ?? [];
  return {
    maxOldGenerationSizeMb: memoryMb,
    ...(semiSpaceMb !== undefined && { maxYoungGenerationSizeMb: 3 * Number(semiSpaceMb) }),
  };
}

function readAnswer(answer: Answer): unknown {
  if ('ready' in answer) return undefined;
  if ('failure' in answer) throw new TaskError(answer.failure);
  return JSON.parse(answer.output);
}

function timedOut(requestId: string, seconds: number): TaskFailure {
  const message = `RequestId: ${requestId} Error: Task timed out after ${seconds.toFixed(2)} seconds`;
  return functionFailure('Sandbox.Timedout', message);
}

function exited(reason: string, name = 'Runtime.ExitError'): TaskFailure {
  return functionFailure(name, `Error: Runtime exited with error: ${reason}`);
}
