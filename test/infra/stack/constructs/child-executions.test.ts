import { join } from 'node:path';
import { expect, it } from 'vitest';
import { prepareAssembly } from '../../../../infra/lab/local/assembly/assembly.ts';
import { INTERPRETER_FILE } from '../../../../infra/lab/local/assembly/interpreter.ts';
import { scaledClock } from '../../../../infra/lab/local/clock.ts';
import { TaskError } from '../../../../infra/lab/local/lambda/task-error.ts';
import type { Definition } from '../../../../infra/lab/local/step-functions/step-functions.ts';
import { createStateMachine } from '../../../../infra/lab/local/step-functions/step-functions.ts';
import { definitionOf, synthesizeStack } from '../../../support/stack.ts';

const interpreter = join(prepareAssembly(), INTERPRETER_FILE);

/** The part of the state machine that starts an execution for each account. */
function startsOnly(): Definition {
  const { ExportAccounts } = definitionOf(synthesizeStack(), 'Workflow').States;
  const { Next: _, Catch: __, ...map } = ExportAccounts;
  return { StartAt: 'ExportAccounts', States: { ExportAccounts: { ...map, End: true } } };
}

/** Exports one account. @param errors of its first starts, one after the other */
async function exportOne(errors: readonly string[]) {
  const names: unknown[] = [];
  await using machine = createStateMachine({
    arn: 'arn:aws:states:us-east-1:111122223333:stateMachine:exports',
    name: 'exports',
    definition: startsOnly(),
    interpreter,
    clock: scaledClock(1_000),
    async runTask(_, input) {
      const error = errors[names.push(Object(input).Name) - 1];
      if (error !== undefined) throw new TaskError({ error, cause: 'Rate exceeded' });
      return {};
    },
  });
  const input = { accounts: [{ account: 'acme', name: 'a-1', facts: {} }], max_accounts: 1, request: {} };
  const { output } = await machine.start('e', input).result;
  return { end: Object(output).accounts?.[0], names };
}

const REFUSED = 'StepFunctions.AWSStepFunctionsException';
const LIMITED = 'StepFunctions.ExecutionLimitExceededException';

it.each([
  [
    'is tried again under the same name while Step Functions refuses it',
    Array(6).fill(REFUSED),
    { outcome: 'delivered' },
    7,
  ],
  ['is tried again if too many executions run', [LIMITED], { outcome: 'delivered' }, 2],
  ['is given up after six more tries', Array(7).fill(REFUSED), { outcome: 'failed', error: REFUSED }, 7],
  [
    'is not tried again after its execution has failed',
    ['States.TaskFailed'],
    { outcome: 'failed', error: 'States.TaskFailed' },
    1,
  ],
  [
    'finds an execution that has ended',
    [REFUSED, 'StepFunctions.ExecutionAlreadyExistsException'],
    { outcome: 'repeated' },
    2,
  ],
])("the start of an account's execution %s", async (_, errors, end, tries) => {
  const names = Array(tries).fill('a-1');
  expect(await exportOne(errors)).toEqual({ end: { account: 'acme', execution: 'a-1', ...end }, names });
});
