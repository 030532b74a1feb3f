import { join } from 'node:path';
import { INTERPRETER_FILE, prepareAssembly } from '../../../infra/local/assembly.ts';
import { scaledClock } from '../../../infra/local/clock.ts';
import type { Definition } from '../../../infra/local/definition.ts';
import {
  createStateMachine,
  type LocalStateMachine,
  type RunTask,
} from '../../../infra/local/step-functions.ts';

/** A Task state that does what the test says. */
export const TASK = {
  Type: 'Task',
  Resource: 'arn:aws:lambda:eu-west-1:000000000000:function:Step',
  TimeoutSeconds: 60,
};

const interpreter = join(await prepareAssembly(), INTERPRETER_FILE);

/** Creates a state machine that starts at the first of these states. */
export function machine(
  States: Definition['States'],
  runTask: RunTask,
  speed = 1000,
  rest: Partial<Definition> = {},
): LocalStateMachine {
  const [StartAt = ''] = Object.keys(States);
  return createStateMachine({
    arn: 'arn:aws:states:eu-west-1:000000000000:stateMachine:Test',
    name: 'Test',
    definition: { StartAt, States, ...rest },
    interpreter,
    clock: scaledClock(speed),
    runTask,
  });
}
