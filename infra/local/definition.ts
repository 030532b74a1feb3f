import { arnOf, type Place, type Resource, resolve, resourcesOf, type Template } from './template.ts';

/** A state machine's definition in the Amazon States Language; only what the local run looks at has a type. */
export interface Definition {
  readonly StartAt: string;
  readonly TimeoutSeconds?: number;
  readonly States: Readonly<Record<string, State>>;
}

export interface State {
  readonly Type: string;
  readonly Resource?: string;
  readonly TimeoutSeconds?: number;
  readonly ItemProcessor?: Definition;
  readonly Branches?: readonly Definition[];
  readonly [field: string]: unknown;
}

/** The template's state machine, as CloudFormation would hand it to Step Functions. */
export function readStateMachine(
  template: Template,
  place: Place,
): { arn: string; name: string; definition: Definition } {
  const machines = resourcesOf(template, 'AWS::StepFunctions::StateMachine');
  const [machine] = machines;
  if (!machine || machines.length > 1) {
    throw new Error(`The template has ${machines.length} state machines, and the local run needs one`);
  }
  const [id, resource] = machine;
  const arn = arnOf(template, place, id);
  const definition = JSON.parse(definitionText(resource, template, place)) as Definition;
  return { arn, name: arn.split(':').at(-1) ?? id, definition };
}

function definitionText({ Properties }: Resource, template: Template, place: Place): string {
  return String(resolve(template, place, Properties?.DefinitionString));
}

/** Every Task's resource by the state's name; names are unique in a machine, those within a Map included. */
export function taskResources(definition: Definition): Map<string, string> {
  const resources = new Map<string, string>();
  visit(definition, (name, state) => {
    if (state.Type === 'Task') resources.set(name, state.Resource ?? '');
  });
  return resources;
}

function visit(definition: Definition, look: (name: string, state: State) => void): void {
  for (const [name, state] of Object.entries(definition.States)) {
    look(name, state);
    for (const nested of [state.ItemProcessor, ...(state.Branches ?? [])]) if (nested) visit(nested, look);
  }
}

/**
 * The definition for an interpreter whose clock runs `speed` times faster. What a task does is as slow as ever, so its
 * time-out is made longer by as much as the clock will shorten it. Nothing else is changed, and nothing at speed 1.
 *
 * @throws Error for a Task without a time-out: the interpreter would take 60 s where AWS takes for ever
 */
export function keepTaskTimeouts(definition: Definition, speed: number): Definition {
  const keep = (state: State, name: string): State => {
    const { ItemProcessor, Branches } = state;
    if (state.Type === 'Task' && state.TimeoutSeconds === undefined) {
      throw new Error(`The task ${name} states no TimeoutSeconds`);
    }
    return {
      ...state,
      ...(state.TimeoutSeconds !== undefined && { TimeoutSeconds: state.TimeoutSeconds * speed }),
      ...(ItemProcessor && { ItemProcessor: keepTaskTimeouts(ItemProcessor, speed) }),
      ...(Branches && { Branches: Branches.map((branch) => keepTaskTimeouts(branch, speed)) }),
    };
  };
  const states = Object.entries(definition.States).map(([name, state]) => [name, keep(state, name)]);
  return { ...definition, States: Object.fromEntries(states) };
}
