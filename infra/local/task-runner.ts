import type { EventBus } from './events.ts';
import type { LocalFunction } from './functions.ts';
import type { RunTask } from './state-machine.ts';
import type { TaskAnswers } from './task-answers.ts';

const PUT_EVENTS = 'arn:aws:states:::events:putEvents';
const WAIT_FOR_TOKEN = 'arn:aws:states:::lambda:invoke.waitForTaskToken';

/** Does what the stack's Task states name: a function of its own, or an integration of Step Functions. */
export function taskRunner(
  functions: readonly LocalFunction[],
  bus: EventBus,
  answers: TaskAnswers,
): RunTask {
  const byArn = new Map(functions.map((each) => [each.arn, each]));
  const functionAt = (arn: string): LocalFunction => {
    const target = byArn.get(arn);
    if (!target) throw new Error(`The local run cannot do ${arn}`);
    return target;
  };
  return async (resource, input, token) => {
    if (resource === PUT_EVENTS) return bus.putEvents(input);
    if (resource !== WAIT_FOR_TOKEN) return functionAt(resource).invoke(input);
    const { FunctionName, Payload } = input as { FunctionName: string; Payload: unknown };
    return answered(functionAt(FunctionName), Payload, answers.wait(token));
  };
}

/** What the function returns is of no account; where it fails before it has answered, so does the task. */
async function answered(
  target: LocalFunction,
  payload: unknown,
  { answer, close }: ReturnType<TaskAnswers['wait']>,
): Promise<unknown> {
  try {
    return await Promise.race([answer, target.invoke(payload).then(() => answer)]);
  } finally {
    close();
  }
}
