import { NOT_STARTED } from '../../infra/stack/constructs/retries.ts';
import type { Synthesized } from '../../infra/stack/synthesize.ts';

// The worst case of a definition: how long its states take, and how many events they write.

export interface State {
  readonly Type: string;
  readonly Next?: string;
  readonly Default?: string;
  readonly Choices?: readonly { readonly Next: string }[];
  readonly Catch?: readonly { readonly ErrorEquals: readonly string[]; readonly Next: string }[];
  readonly Retry?: readonly Retry[];
  /** The logical id of a Lambda function, or the ARN of a service integration. */
  readonly Resource?: string;
  readonly TimeoutSeconds?: number;
  readonly Parameters?: unknown;
  readonly ToleratedFailurePercentage?: number;
  readonly ItemProcessor?: Machine & { readonly ProcessorConfig?: { readonly Mode: string } };
}

export interface Machine {
  readonly StartAt: string;
  readonly TimeoutSeconds?: number;
  readonly States: Readonly<Record<string, State>>;
}

interface Retry {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds: number;
  readonly MaxAttempts: number;
  readonly BackoffRate: number;
  readonly MaxDelaySeconds: number;
  readonly JitterStrategy: string;
}

/** The stack's definition, with logical ids in place of the functions' ARNs. */
export function machineOf({ template }: Synthesized): Machine {
  const resources = Object.values<Synthesized['template']>(template.Resources);
  const machine = resources.find(({ Type }) => Type === 'AWS::StepFunctions::StateMachine');
  const parts: (string | { 'Fn::GetAtt'?: string[] })[] = machine?.Properties.DefinitionString['Fn::Join'][1];
  const text = parts.map((part) => (typeof part === 'string' ? part : (part['Fn::GetAtt']?.[0] ?? '')));
  return JSON.parse(text.join(''));
}

/** The longest that one call of a task can run: its function's timeout, if it has a function. */
export function secondsOfCall(
  { Resource = '', TimeoutSeconds = 0 }: State,
  { template }: Synthesized,
): number {
  return template.Resources[Resource]?.Properties.Timeout ?? TimeoutSeconds;
}

/** The wait before each retry, in order; with jitter, the longest one. */
export function waitsOf({ IntervalSeconds, MaxAttempts, BackoffRate, MaxDelaySeconds }: Retry): number[] {
  return Array.from({ length: MaxAttempts }, (_, n) =>
    Math.min(IntervalSeconds * BackoffRate ** n, MaxDelaySeconds),
  );
}

/** True if AWS reports all errors of a Retry, so that none comes from a step. */
const isFromAws = ({ ErrorEquals }: Retry) => ErrorEquals.every((name) => name.includes('.'));
const isStart = (name: string) => NOT_STARTED.some((error) => error === name);

/**
 * Seconds from entering a task to leaving it when it uses up all retries.
 *
 * @param errors `aws` counts only retries after errors that AWS reports
 */
export function secondsIn(state: State, stack: Synthesized, errors: 'all' | 'aws' = 'all'): number {
  const retries = (state.Retry ?? []).filter((retry) => errors === 'all' || isFromAws(retry));
  const waits = retries.flatMap(waitsOf);
  const started = retries.filter(({ ErrorEquals }) => !ErrorEquals.every(isStart));
  const calls = 1 + started.reduce((sum, { MaxAttempts }) => sum + MaxAttempts, 0);
  return calls * secondsOfCall(state, stack) + sum(waits);
}

/** The states to which Next, Default, Choices and Catch lead. */
export function following({ Next, Default, Choices = [], Catch = [] }: State): string[] {
  const all = [Next, Default, ...Choices.map((choice) => choice.Next), ...Catch.map((caught) => caught.Next)];
  return all.filter((next) => next !== undefined);
}

/** The states that write into one history. A child of a Distributed Map has a history of its own. */
export function statesIn({ States }: Machine): [string, State][] {
  return Object.entries(States).flatMap(([name, state]) => {
    const { Type, ItemProcessor: inside } = state;
    if (Type === 'Parallel') throw new Error(`${name} writes several branches to one history`);
    const isInline = inside && inside.ProcessorConfig?.Mode !== 'DISTRIBUTED';
    return [[name, state], ...(isInline ? statesIn(inside) : [])];
  });
}

/** True if the machine has a cycle that passes through none of the gates. */
export function hasCycleWithout({ States }: Machine, gates: readonly string[]): boolean {
  const reaches = (from: string, seen: readonly string[]): boolean =>
    following(States[from] ?? { Type: '' })
      .filter((next) => !gates.includes(next))
      .some((next) => seen.includes(next) || reaches(next, [...seen, next]));
  return Object.keys(States).some((name) => !gates.includes(name) && reaches(name, [name]));
}

/** Events of one entry of a state: StateEntered, the events of one call, StateExited. */
function eventsOfEntry(state: State): number {
  return 2 + (state.Type === 'Task' || state.Type === 'Map' ? EVENTS_OF_CALL : 0);
}

/** TaskScheduled, TaskStarted and its end. */
const EVENTS_OF_CALL = 3;

/** ExecutionStarted and ExecutionSucceeded or ExecutionFailed. */
const EVENTS_OF_EXECUTION = 2;

/**
 * The most events that an execution can write. Calls fail at once, the retries with the shortest waits come
 * first, and jitter draws a wait of 0.
 *
 * @param entries how often each state is entered
 * @param seconds the duration of the execution
 */
export function mostEvents(machine: Machine, entries: Readonly<Record<string, number>>, seconds: number) {
  const states = statesIn(machine);
  const entered = states.map(([name, state]) => (entries[name] ?? 0) * eventsOfEntry(state));
  const retries = states
    .flatMap(([name, state]) =>
      (state.Retry ?? []).flatMap((retry) =>
        waitsOf(retry).map((wait) => ({
          wait: retry.JitterStrategy === 'FULL' ? 0 : wait,
          times: entries[name] ?? 0,
        })),
      ),
    )
    .sort((first, second) => first.wait - second.wait);
  let left = seconds;
  let retried = 0;
  for (const { wait, times } of retries) {
    const affordable = wait === 0 ? times : Math.min(times, Math.floor(left / wait));
    retried += affordable;
    left -= affordable * wait;
  }
  return EVENTS_OF_EXECUTION + sum(entered) + retried * EVENTS_OF_CALL;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
