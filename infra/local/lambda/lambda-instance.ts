import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { moduleBeside } from '../../package.ts';
import type { ClockAnchor } from '../clock.ts';
import type { Answer, FunctionData, Invocation } from './lambda-process.ts';
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

/** An execution environment: a process for one invocation at a time, used again while warm. */
export interface Instance {
  readonly busy: boolean;
  /** False once the process has ended. */
  readonly alive: boolean;
  /** @throws TaskError with the name that Step Functions would report */
  invoke(event: unknown): Promise<unknown>;
  /** Ends the process at once. */
  kill(): Promise<void>;
}

const PROCESS = moduleBeside(import.meta, 'lambda-process');

/** The process has its own temporary folder, as each instance on Lambda has its own /tmp. */
export function startInstance(
  spec: FunctionSpec,
  { real, start, speed }: ClockAnchor,
  log: (line: string) => void,
): Instance {
  const { file, timeoutSeconds, memoryMb, environment, scratch: parent = tmpdir() } = spec;
  mkdirSync(parent, { recursive: true });
  const scratch = mkdtempDisposableSync(join(parent, 'lambda-'));
  const data: FunctionData = { file, clock: { real, start, speed } };
  // The process removes NODE_COMPILE_CACHE again before it loads the handler.
  const { NODE_COMPILE_CACHE } = process.env;
  const child = fork(PROCESS, [JSON.stringify(data)], {
    env: {
      ...environment,
      ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
      TMPDIR: scratch.path,
    },
    // Limits the JavaScript heap only; Lambda also counts buffers.
    execArgv: [`--max-old-space-size=${memoryMb}`],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  // Rejects if the process cannot be started.
  const ended = once(child, 'exit').catch(() => {});
  for (const stream of ['stdout', 'stderr'] as const)
    createInterface({ input: child[stream] as Readable }).on('line', log);
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
    child.kill('SIGKILL');
    await ended;
  };
  child.on('message', receive);
  child.on('error', ({ message }) => end(exited(message)));
  child.on('exit', (code, signal) => {
    scratch.remove();
    // V8 aborts a process whose heap is full.
    if (signal === 'SIGABRT') end(exited('signal: killed', 'Runtime.OutOfMemory'));
    else end(exited(code === 0 ? 'exited without providing a reason' : `exit status ${code}`));
  });
  return {
    async invoke(event) {
      const requestId = randomUUID();
      const { promise, resolve } = Promise.withResolvers<Answer>();
      settle = resolve;
      const milliseconds = timeoutSeconds * 1000;
      const timer = setTimeout(terminate, milliseconds, timedOut(requestId, timeoutSeconds));
      child.send({ event: JSON.stringify(event ?? null), requestId, milliseconds } satisfies Invocation);
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

function timedOut(requestId: string, seconds: number): TaskFailure {
  const message = `RequestId: ${requestId} Error: Task timed out after ${seconds.toFixed(2)} seconds`;
  return functionFailure('Sandbox.Timedout', message);
}

function exited(reason: string, name = 'Runtime.ExitError'): TaskFailure {
  return functionFailure(name, `Error: Runtime exited with error: ${reason}`);
}
