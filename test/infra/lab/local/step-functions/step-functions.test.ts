import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { prepareAssembly } from '../../../../../infra/lab/local/assembly/assembly.ts';
import { INTERPRETER_FILE } from '../../../../../infra/lab/local/assembly/interpreter.ts';
import { scaledClock } from '../../../../../infra/lab/local/clock.ts';
import { functionFailure, TaskError } from '../../../../../infra/lab/local/lambda/task-error.ts';
import type { Definition } from '../../../../../infra/lab/local/step-functions/step-functions.ts';
import {
  createStateMachine,
  type LocalStateMachine,
  type RunTask,
} from '../../../../../infra/lab/local/step-functions/step-functions.ts';

/** A Task state that does what the test says. */
const TASK = {
  Type: 'Task',
  Resource: 'arn:aws:lambda:eu-west-1:000000000000:function:Step',
  TimeoutSeconds: 60,
};

const interpreter = join(prepareAssembly(), INTERPRETER_FILE);

/** Creates a state machine that starts at the first of these states. */
function machine(
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

const refused = new TaskError(functionFailure('Refused', 'no such report', ['Error: no']));

describe('an execution', () => {
  test('that ends with an error has its name, and a Catch gets a Cause of JSON, like on AWS', async () => {
    const Catch = [{ ErrorEquals: ['Refused'], Next: 'Caught', ResultPath: '$.caught' }];
    const fail = { Type: 'Fail', ErrorPath: '$.caught.Error', CausePath: '$.caught.Cause' };
    const states = { Do: { ...TASK, Catch, End: true }, Caught: fail };
    await using local = machine(states, () => Promise.reject(refused));
    const { status, error, cause } = await local.start('caught', { id: 7 }).result;
    expect({ status, error }).toEqual({ status: 'FAILED', error: 'Refused' });
    expect(JSON.parse(cause ?? '')).toEqual({
      errorType: 'Refused',
      errorMessage: 'no such report',
      trace: ['Error: no'],
    });
  });

  test.each([
    ['input', { text: 'x'.repeat(200_000) }, { 'a.$': '$', 'b.$': '$' }],
    ['output', {}, {}],
  ])('ends with an %s over 256 KB despite a Catch', async (_, input, Parameters) => {
    const Catch = [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }];
    const states = { Do: { ...TASK, Parameters, Catch, End: true }, Caught: { Type: 'Succeed' } };
    await using local = machine(states, async () => 'x'.repeat(256 * 1024));
    const result = await local.start('large', input).result;
    expect(result).toMatchObject({ status: 'FAILED', error: 'States.DataLimitExceeded' });
    expect(() => local.start('larger', 'x'.repeat(256 * 1024))).toThrow(RangeError);
  });
});

test('a task has its whole time-out in real time at any speed, also inside a Map', async () => {
  const slow = () => new Promise((resolve) => setTimeout(resolve, 50, 'done'));
  // At speed 1000, 50 ms are 50 s of the run's clock.
  const States: Definition['States'] = { Slow: { ...TASK, TimeoutSeconds: 1, End: true } };
  const map = { Type: 'Map', ItemProcessor: { StartAt: 'Slow', States }, ItemsPath: '$', End: true };
  await using local = machine({ Each: map }, slow);
  const execution = local.start('slow', ['a', 'b']);
  expect(await execution.result).toEqual({ status: 'SUCCEEDED', output: ['done', 'done'] });
  const done = execution.history.events.filter(
    ({ type, state }) => type === 'StateExited' && state === 'Slow',
  );
  expect(done.map(({ window }) => window).sort()).toEqual([0, 1]);
});

describe('abort', () => {
  test('ends the execution as ABORTED in the middle of a wait, as closing does', async () => {
    const local = machine({ Wait: { Type: 'Wait', Seconds: 100_000, End: true } }, async () => null);
    const execution = local.start('aborted', {});
    const closed = local.start('closed', {});
    execution.abort();
    expect(await execution.result).toEqual({ status: 'ABORTED' });
    expect(execution.history.events.at(-1)?.type).toBe('ExecutionAborted');
    await local[Symbol.asyncDispose]();
    expect(await closed.result).toEqual({ status: 'ABORTED' });
  });

  test('starts no other task, not even one that waits for its retry', async () => {
    const { promise: called, resolve } = Promise.withResolvers<void>();
    const calls: unknown[] = [];
    const Retry = [{ ErrorEquals: ['States.ALL'], IntervalSeconds: 1000, MaxAttempts: 5 }];
    await using local = machine({ Do: { ...TASK, Retry, End: true } }, async (_, input) => {
      calls.push(input);
      resolve();
      throw refused;
    });
    const execution = local.start('aborted', 'first');
    await called;
    execution.abort();
    expect((await execution.result).status).toBe('ABORTED');
    // While another execution runs and ends, the first one could have started a task.
    const second = local.start('second', 'second');
    second.abort();
    await second.result;
    expect(calls.filter((input) => input === 'first')).toHaveLength(1);
  });
});
