import type { ClockAnchor } from '../clock.ts';
import { type FunctionSpec, type Instance, startInstance } from './lambda-instance.ts';

/** Instances of a function: one for each parallel window by default. */
const MAX_INSTANCES = 8;

/**
 * Real ms. A waiting call starts another instance only if no call of the function has ended for so long: most
 * calls end within milliseconds, so one instance serves many windows, while copies take longer and run side
 * by side.
 */
const START_AFTER_MS = 1_000;

export interface LocalFunction extends AsyncDisposable {
  readonly name: string;
  readonly arn: string;
  /**
   * Calls the function. Waits for an instance where Lambda would throttle the call: with a scaled clock, a
   * Retry waits N times less, but the call ahead takes as long as ever.
   *
   * @throws TaskError: the handler's error, `Sandbox.Timedout`, `Runtime.OutOfMemory` or `Runtime.ExitError`
   */
  invoke(event: unknown): Promise<unknown>;
  /** Kills every busy instance. Returns their number. */
  kill(): Promise<number>;
}

export function createFunction(
  spec: FunctionSpec,
  clock: ClockAnchor,
  log: (line: string) => void,
): LocalFunction {
  const { name, arn } = spec;
  const waiting: ((instance: Instance) => void)[] = [];
  const instances: Instance[] = [];
  const living = () => instances.filter(({ alive }) => alive);
  let overload: NodeJS.Timeout | undefined;

  /** Gives waiting calls to idle instances. */
  const assign = (): void => {
    clearTimeout(overload);
    for (const instance of living()) if (!instance.busy) waiting.shift()?.(instance);
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
    invoke: (event) =>
      new Promise<unknown>((resolve) => {
        // Invokes in the same turn of the event loop, so that no other call finds the instance idle.
        waiting.push((instance) => resolve(instance.invoke(event).finally(assign)));
        if (waiting.length === 1) assign();
      }),
    kill: async () => (await killAll(living().filter(({ busy }) => busy))).length,
    async [Symbol.asyncDispose]() {
      waiting.length = 0;
      clearTimeout(overload);
      // Also processes that a time-out has killed: until it ends, a process has its temporary folder.
      await killAll(instances);
    },
  };
}
