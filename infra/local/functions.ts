import type { ClockAnchor } from './clock.ts';
import { type FunctionSpec, type Instance, type LogLine, startInstance } from './function-instance.ts';
import { TaskError } from './task-error.ts';

/** Instances of a function that reserves no concurrency: one window's copy must not wait for another one's. */
const MAX_INSTANCES = 10;

export interface LocalFunction {
  readonly name: string;
  readonly arn: string;
  /**
   * Calls the function; waits for an instance where it reserves no concurrency.
   *
   * @throws TaskError: what the handler threw, `Lambda.TooManyRequestsException`, `Sandbox.Timedout`, `Runtime.ExitError`
   */
  invoke(event: unknown): Promise<unknown>;
  /** Kills every instance that is in the middle of an invocation; says how many. */
  kill(): Promise<number>;
  /** Instances started so far. */
  readonly started: number;
  close(): Promise<void>;
}

export function openFunction(
  spec: FunctionSpec,
  clock: ClockAnchor,
  log: (line: LogLine) => void,
): LocalFunction {
  let instances: Instance[] = [];
  let started = 0;
  const waiting: (() => void)[] = [];
  const limit = spec.reserved ?? MAX_INSTANCES;

  // Not asynchronous: between choosing an instance and using it nobody else may choose it.
  const acquire = (): Instance | undefined => {
    instances = instances.filter(({ alive }) => alive);
    const idle = instances.find(({ busy }) => !busy);
    if (idle) return idle;
    if (instances.length >= limit) return undefined;
    const instance = startInstance(spec, clock, log);
    instances.push(instance);
    started += 1;
    return instance;
  };
  const invoke = async (event: unknown): Promise<unknown> => {
    const instance = acquire();
    if (instance) return instance.invoke(event).finally(() => waiting.shift()?.());
    if (spec.reserved !== undefined) throw tooManyRequests();
    await new Promise<void>((resolve) => waiting.push(resolve));
    return invoke(event);
  };
  const busy = () => instances.filter((instance) => instance.busy);

  return {
    name: spec.name,
    arn: spec.arn,
    invoke,
    async kill() {
      const killed = busy();
      await Promise.all(killed.map((instance) => instance.kill()));
      return killed.length;
    },
    get started() {
      return started;
    },
    async close() {
      await Promise.all(instances.map((instance) => instance.kill()));
    },
  };
}

function tooManyRequests(): TaskError {
  return new TaskError({
    error: 'Lambda.TooManyRequestsException',
    cause: 'Rate Exceeded. (Service: Lambda, Status Code: 429)',
  });
}
