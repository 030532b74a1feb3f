import type { EventBus } from './events.ts';
import type { LocalFunction } from './functions.ts';
import type { RunTask } from './state-machine.ts';

const PUT_EVENTS = 'arn:aws:states:::events:putEvents';

/** Does what the stack's Task states name: a function of its own, or an integration of Step Functions. */
export function taskRunner(functions: readonly LocalFunction[], bus: EventBus): RunTask {
  const byArn = new Map(functions.map((each) => [each.arn, each]));
  const functionAt = (arn: string): LocalFunction => {
    const target = byArn.get(arn);
    if (!target) throw new Error(`The local run cannot do ${arn}`);
    return target;
  };
  return async (resource, input) =>
    resource === PUT_EVENTS ? bus.putEvents(input) : functionAt(resource).invoke(input);
}
