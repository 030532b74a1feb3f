import { scaledClock } from '../../../infra/local/clock.ts';
import type { Definition } from '../../../infra/local/definition.ts';
import type { HistoryEvent } from '../../../infra/local/history.ts';
import { type RunTask, startStateMachine } from '../../../infra/local/state-machine.ts';

/** A Task state; what it does is the test's. */
export const TASK = {
  Type: 'Task',
  Resource: 'arn:aws:lambda:eu-west-1:000000000000:function:Step',
  TimeoutSeconds: 60,
};

/** The definition's states, run by the interpreter; the first one is where it starts. */
export function machine(
  States: Definition['States'],
  runTask: RunTask,
  speed = 1000,
  rest: Partial<Definition> = {},
) {
  const [StartAt = ''] = Object.keys(States);
  return startStateMachine({
    arn: 'arn:aws:states:eu-west-1:000000000000:stateMachine:Test',
    name: 'Test',
    definition: { StartAt, States, ...rest },
    clock: scaledClock(speed),
    runTask,
  });
}

export async function eventsOf(events: AsyncIterable<HistoryEvent>): Promise<HistoryEvent[]> {
  return Array.fromAsync(events);
}

export function numberIn(input: unknown): number {
  return (input as { value: number }).value;
}

export function after<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, ms, value));
}
