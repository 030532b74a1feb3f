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
  readonly Parameters?: Readonly<Record<string, unknown>>;
  readonly Retry?: readonly Retrier[];
  readonly ItemProcessor?: Definition;
  readonly Branches?: readonly Definition[];
  readonly [field: string]: unknown;
}

interface Retrier {
  readonly ErrorEquals: readonly string[];
  readonly MaxAttempts?: number;
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

/** Returns a function that counts the tries that a state has for an error. */
export function createTryCounter(definition: Definition): (state: string, error: string) => number {
  const retriers = new Map<string, readonly Retrier[]>();
  mapStates(definition, (state, name) => {
    retriers.set(name, state.Retry ?? []);
    return state;
  });
  return (state, error) => {
    const names = [error, 'States.ALL', ...(error === 'States.Timeout' ? [] : ['States.TaskFailed'])];
    const isFor = ({ ErrorEquals }: Retrier) => ErrorEquals.some((name) => names.includes(name));
    return 1 + (retriers.get(state)?.find(isFor)?.MaxAttempts ?? 0);
  };
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

/** Marks the name of a parameter that {@link createRetryCounter} replaces by the count. */
const MARK = ' (RetryCount)';

/**
 * Prepares a definition for {@link createRetryCounter}. The interpreter has no `$$.State.RetryCount`, but it gives a task the same
 * input object at every try. So each parameter that is the count becomes the input itself, and that object is counted.
 */
export function markRetryCounts(definition: Definition): Definition {
  return mapStates(definition, (state) => {
    if (state.Type !== 'Task' || !state.Parameters) return state;
    const parameters = Object.entries(state.Parameters).map(([name, value]) =>
      value === RETRY_COUNT ? [name.replace(/\.\$$/, `${MARK}.$`), '$'] : [name, value],
    );
    return { ...state, Parameters: Object.fromEntries(parameters) };
  });
}

/** Returns a function that puts the count of earlier tries into a task's input. */
export function createRetryCounter(): (input: unknown) => unknown {
  const tries = new WeakMap<object, number>();
  return (input) => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
    const entries = Object.entries(input).map(([name, value]) => {
      if (!name.endsWith(MARK)) return [name, value];
      const before = tries.get(value) ?? 0;
      if (typeof value === 'object' && value !== null) tries.set(value, before + 1);
      return [name.slice(0, -MARK.length), before];
    });
    return Object.fromEntries(entries);
  };
}
