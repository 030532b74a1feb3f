import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
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
  /** Takes the temporary folder of each process. Default: the system's. */
  readonly scratch?: string;
}

/** The folder of `--out` for {@link FunctionSpec.scratch}: no row of a report may stay elsewhere. */
export const SCRATCH = '.scratch';

/** One line that a function wrote. */
export interface LogLine {
  readonly function: string;
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** An execution environment: a thread or a process for one invocation at a time, used again while warm. */
export interface Instance {
  readonly busy: boolean;
  /** False once the thread has ended. */
  readonly alive: boolean;
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
  const { name, timeoutSeconds } = spec;
  const runner = startRunner(spec, clock);
  for (const stream of ['stdout', 'stderr'] as const)
    createInterface({ input: runner[stream] }).on('line', (text) => log({ function: name, stream, text }));
  let alive = true;
  let settle: ((answer: Answer) => void) | undefined;
  const receive = (answer: Answer) => {
    settle?.(answer);
    settle = undefined;
  };
  const end = (failure: TaskFailure) => {
    alive = false;
    receive({ failure });
  };
  const terminate = async (failure: TaskFailure) => {
    end(failure);
    await runner.terminate();
  };
  runner.on('message', receive);
  // An uncaught error, memory that ran out, or a module that cannot be read.
  runner.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')
      return end(exited('signal: killed', 'Runtime.OutOfMemory'));
    log({ function: name, stream: 'stderr', text: inspect(error) });
    end(exited('exit status 1'));
  });
  runner.on('exit', (code) =>
    end(exited(code === 0 ? 'exited without providing a reason' : `exit status ${code}`)),
  );
  return {
    async invoke(event) {
      const requestId = randomUUID();
      const { promise, resolve } = Promise.withResolvers<Answer>();
      settle = resolve;
      const milliseconds = timeoutSeconds * 1000;
      const timer = setTimeout(terminate, milliseconds, timedOut(requestId, timeoutSeconds));
      runner.postMessage({ event: JSON.stringify(event ?? null), requestId, milliseconds });
      const answer = await promise.finally(() => clearTimeout(timer));
      if ('failure' in answer) throw new TaskError(answer.failure);
      return JSON.parse(answer.output);
    },
    kill: () => terminate(exited('signal: killed')),
    get busy() {
      return settle !== undefined;
    },
    get alive() {
      return alive;
    },
  };
}

const WORKER = new URL('./lambda-worker.ts', import.meta.url);

/** The part of a thread that a process has too. */
interface Runner extends Pick<Worker, 'on' | 'terminate' | 'stdout' | 'stderr'> {
  postMessage(invocation: Invocation): void;
}

function startRunner(spec: FunctionSpec, { start, speed, ahead = 0 }: ClockAnchor): Runner {
  const { file, memoryMb } = spec;
  // Node refuses V8's options in the environment of a thread, because they apply to the whole process.
  const { NODE_OPTIONS, ...environment } = spec.environment;
  const { NODE_COMPILE_CACHE } = process.env;
  // The worker removes NODE_COMPILE_CACHE again before it loads the handler.
  const cache = NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE };
  const env = { ...environment, ...cache, AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb) };
  const data: FunctionData = { file, clock: { start, speed, ahead } };
  // DuckDB aborts its whole process if a thread ends during a query, so this step has its own.
  return environment.STEP === 'CurateReport'
    ? startProcess(data, env, spec)
    : startThread(data, env, heapLimits(memoryMb, NODE_OPTIONS));
}

/** A thread takes less than a process. A handler's output is a log line, which this process never prints. */
function startThread(data: FunctionData, env: NodeJS.ProcessEnv, resourceLimits: ResourceLimits): Runner {
  const argv = [JSON.stringify(data)];
  return new Worker(WORKER, { argv, env, resourceLimits, execArgv: [], stdout: true, stderr: true });
}

/** The process has its own temporary folder, as each instance on Lambda has its own /tmp. */
function startProcess(
  data: FunctionData,
  env: NodeJS.ProcessEnv,
  { memoryMb, scratch: parent = tmpdir() }: FunctionSpec,
): Runner {
  mkdirSync(parent, { recursive: true });
  const scratch = mkdtempDisposableSync(join(parent, 'lambda-'));
  const child = fork(WORKER, [JSON.stringify({ ...data, scratch: scratch.path })], {
    env: { ...env, TMPDIR: scratch.path },
    execArgv: [`--max-old-space-size=${memoryMb}`],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const ended = once(child, 'exit');
  child.on('exit', (_, signal) => {
    scratch.remove();
    // V8 aborts a process whose heap is full.
    if (signal === 'SIGABRT') child.emit('error', { code: 'ERR_WORKER_OUT_OF_MEMORY' });
  });
  return Object.assign(child, {
    postMessage: (invocation: Invocation) => void child.send(invocation),
    async terminate() {
      child.kill('SIGKILL');
      await ended;
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

function timedOut(requestId: string, seconds: number): TaskFailure {
  const message = `RequestId: ${requestId} Error: Task timed out after ${seconds.toFixed(2)} seconds`;
  return functionFailure('Sandbox.Timedout', message);
}

function exited(reason: string, name = 'Runtime.ExitError'): TaskFailure {
  return functionFailure(name, `Error: Runtime exited with error: ${reason}`);
}
