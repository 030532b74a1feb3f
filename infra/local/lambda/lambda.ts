import type { ClockAnchor } from '../clock.ts';
import { type FunctionSpec, type Instance, type LogLine, startInstance } from './lambda-instance.ts';

/** Instances of a function without reserved concurrency: one for each window that runs at the same time by default. */
const MAX_INSTANCES = 8;

/**
 * Real ms. A waiting call starts another instance only if no call of the function has ended for so long: most calls end within
 * milliseconds, so one instance serves many windows, while copies take longer and run side by side.
 */
const START_AFTER_MS = 1_000;

/** Real ms after the last call of a function. Each idle thread takes 25 MB, each idle process 160 MB. */
const END_AFTER_MS = 1_000;

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
  close(): Promise<void>;
}

/** A call that has no instance yet. */
interface Waiting {
  take(instance: Instance): void;
  fail(error: unknown): void;
}

/** @param endAfter see {@link END_AFTER_MS} */
export function createFunction(
  spec: FunctionSpec,
  clock: ClockAnchor,
  log: (line: LogLine) => void,
  endAfter = END_AFTER_MS,
): LocalFunction {
  const { name, arn } = spec;
  const limit = spec.reserved ?? MAX_INSTANCES;
  const waiting: Waiting[] = [];
  const instances: Instance[] = [];
  const living = () => instances.filter(({ alive }) => alive);
  let starting: Instance | undefined;
  let overload: NodeJS.Timeout | undefined;
  let idle: NodeJS.Timeout | undefined;

  /** Gives waiting calls to idle instances. */
  const assign = (): void => {
    clearTimeout(overload);
    clearTimeout(idle);
    idle = setTimeout(endIdle, endAfter).unref();
    for (const instance of living())
      if (instance !== starting && !instance.busy) waiting.shift()?.take(instance);
    if (waiting.length === 0 || starting || living().length >= limit) return;
    if (living().length === 0) void start();
    else overload = setTimeout(start, START_AFTER_MS);
  };
  const endIdle = () => {
    for (const instance of living()) if (instance !== starting && !instance.busy) void instance.kill();
  };
  const start = async () => {
    starting = startInstance(spec, clock, log);
    instances.push(starting);
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
      const killed = living().filter((instance) => instance.busy);
      await Promise.all(killed.map((instance) => instance.kill()));
      return killed.length;
    },
    async close() {
      clearTimeout(overload);
      clearTimeout(idle);
      for (const { fail } of waiting.splice(0)) fail(new Error(`${name} was closed`));
      // Also those that a time-out has killed: one that has not ended yet still has its temporary folder.
      await Promise.all(instances.map((instance) => instance.kill()));
    },
  };
}
