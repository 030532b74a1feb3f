import type { ClockAnchor } from './clock.ts';
import {
  type FunctionSpec,
  type Instance,
  type LogLine,
  runsInProcess,
  startInstance,
} from './lambda-instance.ts';

/** Instances of a function without reserved concurrency: one for each window that runs at the same time by default. */
const MAX_INSTANCES = 8;

/**
 * Real ms. A waiting call starts another instance only if no call of the function has ended for `startAfter`: most calls end
 * within milliseconds, so one instance serves many windows, while copies take longer and run side by side. Idle instances end
 * once no call has started or ended for `endAfter`. A thread takes 25 MB and 0.1 s of CPU; a process takes 160 MB and half a
 * second.
 */
const PACE = {
  thread: { startAfter: 500, endAfter: 1_000 },
  process: { startAfter: 5_000, endAfter: 5_000 },
};

export interface LocalFunction {
  readonly name: string;
  readonly arn: string;
  /**
   * Calls the function. Waits for an instance, also where AWS would refuse a call over the reserved concurrency: with a scaled
   * clock, a Retry waits N times less, but the call ahead takes as long as ever.
   *
   * @throws TaskError: the handler's error, `Sandbox.Timedout`, `Runtime.OutOfMemory` or `Runtime.ExitError`
   */
  invoke(event: unknown): Promise<unknown>;
  /** Kills every busy instance. Returns their number. */
  kill(): Promise<number>;
  /** The number of instances started so far. */
  readonly started: number;
  close(): Promise<void>;
}

/** A call that has no instance yet. */
interface Waiting {
  take(instance: Instance): void;
  fail(error: unknown): void;
}

/** @param keepIdle tests save the time of starting instances again */
export function createFunction(
  spec: FunctionSpec,
  clock: ClockAnchor,
  log: (line: LogLine) => void,
  keepIdle = false,
): LocalFunction {
  const { name, arn } = spec;
  const limit = spec.reserved ?? MAX_INSTANCES;
  const pace = PACE[runsInProcess(spec) ? 'process' : 'thread'];
  const waiting: Waiting[] = [];
  let instances: Instance[] = [];
  const all: Instance[] = [];
  let starting: Instance | undefined;
  let overload: NodeJS.Timeout | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  const idle = () => instances.filter((instance) => instance !== starting && !instance.busy);

  /** Gives waiting calls to idle instances. */
  const assign = (): void => {
    clearTimeout(overload);
    clearTimeout(idleTimer);
    instances = instances.filter(({ alive }) => alive);
    for (const instance of idle()) waiting.shift()?.take(instance);
    if (!keepIdle) idleTimer = setTimeout(endIdle, pace.endAfter).unref();
    if (waiting.length === 0 || starting || instances.length >= limit) return;
    if (instances.length === 0) void start();
    else overload = setTimeout(start, pace.startAfter);
  };
  const endIdle = () => {
    for (const instance of idle()) void instance.kill();
  };
  const start = async () => {
    starting = startInstance(spec, clock, log);
    instances.push(starting);
    all.push(starting);
    const failure = await starting.ready.then(
      () => undefined,
      (error: unknown) => error,
    );
    starting = undefined;
    if (failure) waiting.shift()?.fail(failure);
    assign();
  };

  return {
    name,
    arn,
    invoke: (event) =>
      new Promise<unknown>((resolve, fail) => {
        // Invokes in the same turn of the event loop, so that no other call finds the instance idle.
        waiting.push({ take: (instance) => resolve(instance.invoke(event).finally(assign)), fail });
        if (waiting.length === 1) assign();
      }),
    async kill() {
      const killed = instances.filter((instance) => instance.busy);
      await Promise.all(killed.map((instance) => instance.kill()));
      return killed.length;
    },
    get started() {
      return all.length;
    },
    async close() {
      clearTimeout(overload);
      clearTimeout(idleTimer);
      for (const { fail } of waiting.splice(0)) fail(new Error(`${name} was closed`));
      // Also those that a time-out has killed: one that has not ended yet still has its temporary folder.
      await Promise.all(all.map((instance) => instance.kill()));
    },
  };
}
