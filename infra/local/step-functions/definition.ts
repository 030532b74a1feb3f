/** A state machine's definition in the Amazon States Language. Ignored fields have no type. */
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
  readonly ItemProcessor?: Definition;
  readonly [field: string]: unknown;
}

/** Changes every state, including those inside a Map. */
export function mapStates(definition: Definition, change: (state: State, name: string) => State): Definition {
  const inside = ({ ItemProcessor, ...state }: State): State => ({
    ...state,
    ...(ItemProcessor && { ItemProcessor: mapStates(ItemProcessor, change) }),
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

/**
 * Multiplies the time-outs of tasks by `speed`. The interpreter's clock is `speed` times faster, but a task
 * takes as long as ever.
 */
export function scaleTaskTimeouts(definition: Definition, speed: number): Definition {
  return mapStates(definition, (state) =>
    state.TimeoutSeconds === undefined ? state : { ...state, TimeoutSeconds: state.TimeoutSeconds * speed },
  );
}

/**
 * Makes each parameter that is `$$.State.RetryCount` 0, because the interpreter does not have it. The
 * functions only name it in their log.
 */
export function leaveOutRetryCounts(definition: Definition): Definition {
  const text = JSON.stringify(definition);
  return JSON.parse(text.replaceAll(/"(\w+)\.\$":"\$\$\.State\.RetryCount"/g, '"$1":0'));
}
