import type { Definition, State } from './definition.ts';

const RETRY_COUNT = '$$.State.RetryCount';

/**
 * The interpreter has no `$$.State.RetryCount`. But it computes a task's Parameters anew at each try, from the same
 * object: where a member of them, at any depth, is the count, the task is handed that object instead, to be counted by.
 */
export function takeRetryCount(definition: Definition): Definition {
  const take = (state: State): State => ({
    ...state,
    ...(isTask(state) && { Parameters: mark(state.Parameters) }),
    ...(state.ItemProcessor && { ItemProcessor: takeRetryCount(state.ItemProcessor) }),
    ...(state.Branches && { Branches: state.Branches.map(takeRetryCount) }),
  });
  const states = Object.entries(definition.States).map(([name, state]) => [name, take(state)]);
  return { ...definition, States: Object.fromEntries(states) };
}

function isTask(state: State): state is State & { Parameters: object } {
  return state.Type === 'Task' && typeof state.Parameters === 'object' && state.Parameters !== null;
}

/** Ends the name of a member that is to become the count. */
const MARK = ' (RetryCount)';

function mark(parameters: object): object {
  const entries = Object.entries(parameters).map(([name, value]) => {
    if (value === RETRY_COUNT) return [name.replace(/\.\$$/, `${MARK}.$`), '$'];
    return [name, isObject(value) ? mark(value) : value];
  });
  return Object.fromEntries(entries);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Puts the count into what a task is handed. */
export function openRetryCounter(): (input: unknown) => unknown {
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
