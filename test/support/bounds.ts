import type { Synthesized } from '../../infra/synthesize.ts';

/** What a definition allows at the worst: how long its states may take, and how many events they may write. */

export interface State {
  readonly Type: string;
  readonly Next?: string;
  readonly Default?: string;
  readonly Choices?: readonly { readonly Next: string }[];
  readonly Catch?: readonly { readonly ErrorEquals: readonly string[]; readonly Next: string }[];
  readonly Retry?: readonly Retry[];
  /** Of a Lambda function, its logical id; of an integration of Step Functions, its ARN. */
  readonly Resource?: string;
  readonly TimeoutSeconds?: number;
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

/** The definition with the functions' logical ids for their ARNs, and the time-outs of those functions. */
export function machineOf({ template }: Synthesized): Machine {
  const resources = Object.values<Synthesized['template']>(template.Resources);
  const machine = resources.find(({ Type }) => Type === 'AWS::StepFunctions::StateMachine');
  const parts: (string | { 'Fn::GetAtt'?: string[] })[] = machine?.Properties.DefinitionString['Fn::Join'][1];
  const text = parts.map((part) => (typeof part === 'string' ? part : (part['Fn::GetAtt']?.[0] ?? '')));
  return JSON.parse(text.join(''));
}

/** How long one call of a task may run: as long as its function, where it ends with that. */
export function secondsOfCall(
  { Resource = '', TimeoutSeconds = 0 }: State,
  { template }: Synthesized,
): number {
  return template.Resources[Resource]?.Properties.Timeout ?? TimeoutSeconds;
}

/** The waits before each repetition, in order; the longest that jitter may draw. */
export function waitsOf({ IntervalSeconds, MaxAttempts, BackoffRate, MaxDelaySeconds }: Retry): number[] {
  return Array.from({ length: MaxAttempts }, (_, n) =>
    Math.min(IntervalSeconds * BackoffRate ** n, MaxDelaySeconds),
  );
}

/** What Step Functions and Lambda report of a function that did not come to say anything. */
const isUnsaid = ({ ErrorEquals }: Retry) => ErrorEquals.every((name) => name.includes('.'));
const NOT_STARTED = 'Lambda.TooManyRequestsException';

/**
 * Seconds from entering a task to leaving it, every repetition used up.
 *
 * @param about `unsaid` counts only what can go wrong before the function says anything
 */
export function secondsIn(state: State, stack: Synthesized, about: 'all' | 'unsaid' = 'all'): number {
  const retries = (state.Retry ?? []).filter((retry) => about === 'all' || isUnsaid(retry));
  const waits = retries.flatMap(waitsOf);
  const started = retries.filter(({ ErrorEquals }) => ErrorEquals.some((name) => name !== NOT_STARTED));
  const calls = 1 + started.reduce((sum, { MaxAttempts }) => sum + MaxAttempts, 0);
  return calls * secondsOfCall(state, stack) + sum(waits);
}

/** Every state that can follow, over whatever arrow. */
export function following({ Next, Default, Choices = [], Catch = [] }: State): string[] {
  const all = [Next, Default, ...Choices.map((choice) => choice.Next), ...Catch.map((each) => each.Next)];
  return all.filter((next) => next !== undefined);
}

/** The states that write into one history: those of a distributed Map's executions have their own. */
export function statesIn({ States }: Machine): [string, State][] {
  for (const [name, { Type, ItemProcessor }] of Object.entries(States)) {
    const isInline = ItemProcessor && ItemProcessor.ProcessorConfig?.Mode !== 'DISTRIBUTED';
    if (isInline || Type === 'Parallel') throw new Error(`${name} writes several branches into one history`);
  }
  return Object.entries(States);
}

/** Whether the machine goes round in circles once these states are taken out of it. */
export function hasCircleWithout({ States }: Machine, gates: readonly string[]): boolean {
  const reaches = (from: string, seen: readonly string[]): boolean =>
    following(States[from] ?? { Type: '' })
      .filter((next) => !gates.includes(next))
      .some((next) => seen.includes(next) || reaches(next, [...seen, next]));
  return Object.keys(States).some((name) => !gates.includes(name) && reaches(name, [name]));
}

/** Events that one entry of a state writes, with one call: entered, those of the call, exited. */
function eventsOfEntry(state: State): number {
  return 2 + (state.Type === 'Task' || state.Type === 'Map' ? EVENTS_OF_CALL : 0);
}

/** Scheduled, started and ended. */
const EVENTS_OF_CALL = 3;

/**
 * The most events that an execution writes in a time, if each state is entered so often. Calls fail at once, and the
 * repetitions that are waited for the shortest are all used first; jitter draws no wait at all.
 *
 * @param entries by the states' names
 */
export function mostEvents(
  machine: Machine,
  entries: Readonly<Record<string, number>>,
  seconds: number,
): number {
  const states = statesIn(machine);
  const entered = states.map(([name, state]) => (entries[name] ?? 0) * eventsOfEntry(state));
  const repetitions = states
    .flatMap(([name, state]) =>
      (state.Retry ?? []).flatMap((retry) =>
        waitsOf(retry).map((wait) => ({
          wait: retry.JitterStrategy === 'FULL' ? 0 : wait,
          times: entries[name] ?? 0,
          events: EVENTS_OF_CALL,
        })),
      ),
    )
    .sort((one, other) => one.wait - other.wait);
  let left = seconds;
  let repeated = 0;
  for (const { wait, times, events } of repetitions) {
    const affordable = wait === 0 ? times : Math.min(times, Math.floor(left / wait));
    repeated += affordable * events;
    left -= affordable * wait;
  }
  const EXECUTION = 2;
  return EXECUTION + sum(entered) + repeated;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
