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

/** Changes every state, including those inside a Map. Only a state has a Type. */
export function mapStates(definition: Definition, change: (state: State, name: string) => State): Definition {
  return JSON.parse(JSON.stringify(definition), (name, value) =>
    typeof value?.Type === 'string' ? change(value, name) : value,
  );
}

/**
 * Adapts a definition to the interpreter. Its clock is `speed` times faster, but a task takes as long as
 * ever, so time-outs of tasks are multiplied. It has no `$$.State.RetryCount`, so each parameter that is one
 * becomes 0: the functions only name it in their log.
 */
export function adapt(definition: Definition, speed: number): Definition {
  const scaled = mapStates(definition, (state) =>
    state.TimeoutSeconds === undefined ? state : { ...state, TimeoutSeconds: state.TimeoutSeconds * speed },
  );
  const text = JSON.stringify(scaled);
  return JSON.parse(text.replaceAll(/"(\w+)\.\$":"\$\$\.State\.RetryCount"/g, '"$1":0'));
}
