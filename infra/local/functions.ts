import type { ClockAnchor } from './clock.ts';
import { type FunctionSpec, type Instance, type LogLine, startInstance } from './function-instance.ts';
import { TaskError } from './task-error.ts';

/** Instances of a function that reserves no concurrency: one window's copy must not wait for another one's. */
const MAX_INSTANCES = 10;

/**
 * How long an invocation waits for reserved concurrency where the clock runs faster, in real ms. A Retry then waits N
 * times less, but the function ahead of it is as slow as ever: without this, fifty in line would use up their tries.
 */
const PATIENCE_MS = 250;

export interface LocalFunction {
  readonly name: string;
  readonly arn: string;
  /**
   * Calls the function; waits for an instance where it reserves no concurrency.
   *
   * @throws TaskError: what the handler threw, `Lambda.TooManyRequestsException`, `Sandbox.Timedout`, `Runtime.OutOfMemory`, `Runtime.ExitError`
   */
  invoke(event: unknown): Promise<unknown>;
  /** Kills every instance that is in the middle of an invocation; says how many. */
  kill(): Promise<number>;
  /** Instances started so far. */
  readonly started: number;
  close(): Promise<void>;
}

/** An invocation that has no instance yet. */
interface Waiting {
  take(instance: Instance): void;
  fail(error: unknown): void;
}

export function openFunction(
  spec: FunctionSpec,
  clock: ClockAnchor,
  log: (line: LogLine) => void,
): LocalFunction {
  const { reserved, name, arn } = spec;
  const limit = reserved ?? MAX_INSTANCES;
  const patience = clock.speed > 1 ? PATIENCE_MS : 0;
  const waiting: Waiting[] = [];
  let instances: Instance[] = [];
  let starting: Instance | undefined;
  let started = 0;
  const busy = () => instances.filter((instance) => instance.busy);

  /** Gives waiting invocations to idle instances, and starts one more where that is not enough. */
  const assign = (): void => {
    instances = instances.filter(({ alive }) => alive);
    for (const idle of instances.filter((instance) => instance !== starting && !instance.busy)) {
      waiting.shift()?.take(idle);
    }
    // One at a time: loading a bundle is work, and what comes in meanwhile is often done by those that are there.
    if (waiting.length > 0 && !starting && instances.length < limit) void start();
  };
  const start = async () => {
    starting = startInstance(spec, clock, log);
    instances.push(starting);
    started += 1;
    const failure = await starting.ready.then(
      () => undefined,
      (error: unknown) => error,
    );
    starting = undefined;
    if (failure) waiting.shift()?.fail(failure);
    assign();
  };
  const invoke = async (event: unknown): Promise<unknown> => {
    const inLine = reserved !== undefined && busy().length + waiting.length >= reserved;
    if (inLine && patience === 0) throw tooManyRequests();
    return new Promise<unknown>((resolve, fail) => {
      // Invoked in the same moment, so that nobody else finds the instance idle.
      waiting.push({ take: (instance) => resolve(instance.invoke(event).finally(assign)), fail });
      if (inLine) giveUpAfter(patience, waiting, fail);
      assign();
    });
  };

  return {
    ...{ name, arn, invoke },
    async kill() {
      const killed = busy();
      await Promise.all(killed.map((instance) => instance.kill()));
      return killed.length;
    },
    get started() {
      return started;
    },
    async close() {
      for (const { fail } of waiting.splice(0)) fail(new Error(`${name} was closed`));
      await Promise.all(instances.map((instance) => instance.kill()));
    },
  };
}

/** Fails the last one in line unless it has its turn in time. */
function giveUpAfter(ms: number, waiting: Waiting[], fail: (error: unknown) => void): void {
  const last = waiting.at(-1);
  const giveUp = () => {
    const at = last ? waiting.indexOf(last) : -1;
    if (at >= 0) waiting.splice(at, 1);
    fail(tooManyRequests());
  };
  setTimeout(giveUp, ms).unref();
}

function tooManyRequests(): TaskError {
  return new TaskError({
    error: 'Lambda.TooManyRequestsException',
    cause: 'Rate Exceeded. (Service: Lambda, Status Code: 429)',
  });
}
