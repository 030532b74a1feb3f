import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { moduleBeside } from '../../../package.ts';
import type { ClockAnchor } from '../clock.ts';
import type { FunctionData, Invocation, InvocationResult } from './lambda-process.ts';
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

/** Instances of a function: one for each parallel window by default. */
const MAX_INSTANCES = 8;

/**
 * Real ms. A waiting call starts another instance only if no call of the function has ended for so long: most
 * calls end within milliseconds, so one instance serves many windows, while copies take longer and run side
 * by side.
 */
const START_AFTER_MS = 1_000;

const PROCESS = moduleBeside(import.meta, 'lambda-process');

export type LocalFunction = ReturnType<typeof createLocalFunction>;

export function createLocalFunction(spec: FunctionSpec, clock: ClockAnchor, log: (line: string) => void) {
  const { name, arn } = spec;
  const waiting: ((instance: Instance) => void)[] = [];
  const instances: Instance[] = [];
  const living = () => instances.filter((instance) => instance.isAlive());
  let overload: NodeJS.Timeout | undefined;

  /** Gives waiting calls to idle instances. */
  const assign = (): void => {
    clearTimeout(overload);
    for (const instance of living()) if (!instance.isBusy()) waiting.shift()?.(instance);
    if (waiting.length === 0 || living().length >= MAX_INSTANCES) return;
    if (living().length === 0) start();
    else overload = setTimeout(start, START_AFTER_MS);
  };
  const start = () => {
    instances.push(startInstance(spec, clock, log));
    assign();
  };
  const killAll = (some: readonly Instance[]) => Promise.all(some.map((instance) => instance.kill()));

  return {
    name,
    arn,
    /**
     * Calls the function. Waits for an instance where Lambda would throttle the call: with a scaled clock, a
     * Retry waits N times less, but the call ahead takes as long as ever.
     *
     * @throws TaskError: the handler's error, `Sandbox.Timedout`, `Runtime.OutOfMemory` or
     *   `Runtime.ExitError`
     */
    invoke: (event: unknown) =>
      new Promise<unknown>((resolve) => {
        // Invokes in the same turn of the event loop, so that no other call finds the instance idle.
        waiting.push((instance) => resolve(instance.invoke(event).finally(assign)));
        if (waiting.length === 1) assign();
      }),
    /** Kills every busy instance. Returns their number. */
    kill: async () => (await killAll(living().filter((instance) => instance.isBusy()))).length,
    async [Symbol.asyncDispose]() {
      waiting.length = 0;
      clearTimeout(overload);
      // Also processes that a time-out has killed: until it ends, a process has its temporary folder.
      await killAll(instances);
    },
  };
}

type Instance = ReturnType<typeof startInstance>;

/**
 * An execution environment: a process for one invocation at a time, used again while warm. It has its own
 * temporary folder, as each instance on Lambda has its own /tmp.
 */
function startInstance(
  { file, timeoutSeconds, memoryMb, environment, scratch: parent = tmpdir() }: FunctionSpec,
  { real, start, speed, catchesUp = false }: ClockAnchor,
  log: (line: string) => void,
) {
  mkdirSync(parent, { recursive: true });
  const scratch = mkdtempDisposableSync(join(parent, 'lambda-'));
  const data: FunctionData = { file, clock: { real, start, speed, catchesUp } };
  // The process removes NODE_COMPILE_CACHE again before it loads the handler.
  const { NODE_COMPILE_CACHE } = process.env;
  const child = fork(PROCESS, [JSON.stringify(data)], {
    env: { ...environment, ...trustedCas(), NODE_COMPILE_CACHE, TMPDIR: scratch.path },
    // Limits the JavaScript heap only; Lambda also counts buffers.
    execArgv: [`--max-old-space-size=${memoryMb}`, ...caFlags()],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  // Rejects if the process cannot be started.
  const ended = once(child, 'exit').catch(() => {});
  for (const stream of ['stdout', 'stderr'] as const)
    createInterface({ input: child[stream] as Readable }).on('line', log);
  let isAlive = true;
  let settle: ((answer: InvocationResult) => void) | undefined;
  const receive = (answer: InvocationResult) => {
    settle?.(answer);
    settle = undefined;
  };
  const end = (failure: TaskFailure) => {
    isAlive = false;
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
    else end(exited(`exit status ${code}`));
  });
  return {
    isAlive: () => isAlive,
    isBusy: () => settle !== undefined,
    /** @throws TaskError with the name that Step Functions would report */
    async invoke(event: unknown): Promise<unknown> {
      const requestId = randomUUID();
      const { promise, resolve } = Promise.withResolvers<InvocationResult>();
      settle = resolve;
      const milliseconds = timeoutSeconds * 1000;
      const message = `RequestId: ${requestId} Error: Task timed out after ${timeoutSeconds.toFixed(2)} seconds`;
      const timer = setTimeout(terminate, milliseconds, functionFailure('Sandbox.Timedout', message));
      child.send({ event: JSON.stringify(event ?? null), requestId, milliseconds } satisfies Invocation);
      const answer = await promise.finally(() => clearTimeout(timer));
      if ('failure' in answer) throw new TaskError(answer.failure);
      return JSON.parse(answer.output);
    },
    /** Ends the process at once. */
    kill: () => terminate(exited('signal: killed')),
  };
}

function exited(reason: string, name = 'Runtime.ExitError'): TaskFailure {
  return functionFailure(name, `Error: Runtime exited with error: ${reason}`);
}

/** The settings of Node and OpenSSL that name CAs to trust, such as that of a company's proxy. */
function trustedCas(): Record<string, string | undefined> {
  const { NODE_EXTRA_CA_CERTS, NODE_USE_SYSTEM_CA, SSL_CERT_FILE, SSL_CERT_DIR } = process.env;
  return { NODE_EXTRA_CA_CERTS, NODE_USE_SYSTEM_CA, SSL_CERT_FILE, SSL_CERT_DIR };
}

function caFlags(): string[] {
  const flags = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? '').split(' ')];
  return flags.filter((flag) => /^--use-(system|openssl|bundled)-ca$/.test(flag));
}
