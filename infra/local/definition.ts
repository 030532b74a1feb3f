/** A state machine's definition in the Amazon States Language. Fields that the local run ignores have no type. */
export interface Definition {
  readonly StartAt: string;
  readonly TimeoutSeconds?: number;
  readonly States: Readonly<Record<string, State>>;
}

export interface State {
  readonly Type: string;
  readonly Resource?: string;
  readonly TimeoutSeconds?: number;
  readonly Parameters?: unknown;
  readonly Retry?: readonly Retrier[];
  readonly ItemProcessor?: Definition;
  readonly Branches?: readonly Definition[];
  readonly [field: string]: unknown;
}

/** An entry of a state's Retry. */
export interface Retrier {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds?: number;
  readonly MaxAttempts?: number;
  readonly BackoffRate?: number;
  readonly MaxDelaySeconds?: number;
  readonly JitterStrategy?: 'FULL' | 'NONE';
}

/** Changes every state, including those inside a Map or Parallel state. */
export function mapStates(definition: Definition, change: (state: State, name: string) => State): Definition {
  const inside = ({ ItemProcessor, Branches, ...state }: State): State => ({
    ...state,
    ...(ItemProcessor && { ItemProcessor: mapStates(ItemProcessor, change) }),
    ...(Branches && { Branches: Branches.map((branch) => mapStates(branch, change)) }),
  });
  const states = Object.entries(definition.States).map(([name, state]) => [
    name,
    change(inside(state), name),
  ]);
  return { ...definition, States: Object.fromEntries(states) };
}

/** The Resource of every Task state, by the state's name. Names are unique in a state machine. */
export function taskResources(definition: Definition): Map<string, string> {
  const resources = new Map<string, string>();
  mapStates(definition, (state, name) => {
    if (state.Type === 'Task') resources.set(name, state.Resource ?? '');
    return state;
  });
  return resources;
}

/** The Retry of every state that has one, by the state's name. */
export function retriersByState(definition: Definition): Map<string, readonly Retrier[]> {
  const found = new Map<string, readonly Retrier[]>();
  mapStates(definition, (state, name) => {
    if (state.Retry) found.set(name, state.Retry);
    return state;
  });
  return found;
}

/** The first retrier that matches an error, as Step Functions chooses it. */
export function findRetrier(retriers: readonly Retrier[], error: string): Retrier | undefined {
  return retriers.find(({ ErrorEquals }) =>
    ErrorEquals.some(
      (name) =>
        name === error ||
        name === 'States.ALL' ||
        (name === 'States.TaskFailed' && error !== 'States.Timeout'),
    ),
  );
}

/** Seconds before a retry. With FULL jitter, it is the most that a retry waits. @param failures that the retrier has matched so far */
export function retryWait(retrier: Retrier, failures: number): number {
  const { IntervalSeconds = 1, BackoffRate = 2, MaxDelaySeconds = Number.POSITIVE_INFINITY } = retrier;
  return Math.min(IntervalSeconds * BackoffRate ** (failures - 1), MaxDelaySeconds);
}

/**
 * Multiplies the time-outs of tasks by `speed`. The interpreter's clock is `speed` times faster, but a task takes as long as ever.
 */
export function scaleTaskTimeouts(definition: Definition, speed: number): Definition {
  return mapStates(definition, (state) =>
    state.TimeoutSeconds === undefined ? state : { ...state, TimeoutSeconds: state.TimeoutSeconds * speed },
  );
}

const RETRY_COUNT = '$$.State.RetryCount';

/** Marks the name of a member that {@link createRetryCounter} replaces by the count. */
const MARK = ' (RetryCount)';

/**
 * Prepares a definition for {@link createRetryCounter}. The interpreter has no `$$.State.RetryCount`, but it gives a task the same
 * input object at every try. So each member of Parameters that is the count becomes the input itself, and that object is counted.
 */
export function markRetryCounts(definition: Definition): Definition {
  return mapStates(definition, (state) =>
    state.Type === 'Task' && isObject(state.Parameters)
      ? { ...state, Parameters: markMembers(state.Parameters) }
      : state,
  );
}

function markMembers(parameters: object): object {
  const entries = Object.entries(parameters).map(([name, value]) => {
    if (value === RETRY_COUNT) return [name.replace(/\.\$$/, `${MARK}.$`), '$'];
    return [name, isObject(value) ? markMembers(value) : value];
  });
  return Object.fromEntries(entries);
}

/** Returns a function that puts the count of earlier tries into a task's input. */
export function createRetryCounter(): (input: unknown) => unknown {
  const tries = new WeakMap<object, number>();
  const count = (input: unknown): unknown => {
    if (!isObject(input)) return input;
    const entries = Object.entries(input).map(([name, value]) => {
      if (!name.endsWith(MARK)) return [name, count(value)];
      const before = tries.get(value) ?? 0;
      if (typeof value === 'object' && value !== null) tries.set(value, before + 1);
      return [name.slice(0, -MARK.length), before];
    });
    return Object.fromEntries(entries);
  };
  return count;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
