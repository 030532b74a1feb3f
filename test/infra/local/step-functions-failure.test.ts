import { describe, expect, test } from 'vitest';
import { functionFailure, TaskError } from '../../../infra/local/task-error.ts';
import { machine, TASK } from './machine.ts';

describe('failure', () => {
  const refused = () =>
    Promise.reject(new TaskError(functionFailure('Refused', 'no such report', ['Error: no'])));

  test('a Catch gets the error and a Cause of JSON, like on AWS', async () => {
    const Catch = [{ ErrorEquals: ['Refused'], Next: 'Caught', ResultPath: '$.caught' }];
    const states = { Do: { ...TASK, Catch, End: true }, Caught: { Type: 'Succeed' } };
    await using local = machine(states, refused);
    const { output } = await local.start('caught', { id: 7 }).result;
    const { caught } = output as { caught: { Error: string; Cause: string } };
    expect(caught.Error).toBe('Refused');
    expect(JSON.parse(caught.Cause)).toEqual({
      errorType: 'Refused',
      errorMessage: 'no such report',
      trace: ['Error: no'],
    });
  });

  test('an error without a Catch ends the execution as FAILED', async () => {
    await using local = machine({ Do: { ...TASK, End: true } }, refused);
    const execution = local.start('failed', {});
    expect(await execution.result).toMatchObject({ status: 'FAILED', error: 'Refused' });
    const events = await Array.fromAsync(execution.events);
    expect(events.at(-1)).toMatchObject({ type: 'ExecutionFailed', error: 'Refused' });
  });

  test('a Fail state takes Error and Cause from its paths', async () => {
    const fail = { Type: 'Fail', ErrorPath: '$.error', CausePath: '$.cause' };
    await using local = machine({ End: fail }, async () => null);
    const result = await local.start('failed', { error: 'ReportStuck', cause: '{"a":1}' }).result;
    expect(result).toEqual({ status: 'FAILED', error: 'ReportStuck', cause: '{"a":1}' });
  });

  test('a Retry waits by the scaled clock', async () => {
    let tries = 0;
    const Retry = [{ ErrorEquals: ['Refused'], IntervalSeconds: 10, BackoffRate: 2, MaxAttempts: 3 }];
    const flaky = async () => (++tries < 3 ? refused() : 'done');
    await using local = machine({ Do: { ...TASK, Retry, End: true } }, flaky);
    const execution = local.start('retried', {});
    expect((await execution.result).output).toBe('done');
    const events = await Array.fromAsync(execution.events);
    const retried = events.filter(({ type }) => type === 'StateRetried');
    expect(retried.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test.each([
    ['input', { text: 'x'.repeat(200_000) }, { 'a.$': '$', 'b.$': '$' }],
    ['output', {}, {}],
  ])('an %s over 256 KB ends the execution despite a Catch', async (_, input, Parameters) => {
    const Catch = [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }];
    const states = { Do: { ...TASK, Parameters, Catch, End: true }, Caught: { Type: 'Succeed' } };
    await using local = machine(states, async () => 'x'.repeat(256 * 1024));
    const result = await local.start('large', input).result;
    expect(result).toMatchObject({ status: 'FAILED', error: 'States.DataLimitExceeded' });
  });

  test('refuses an input that is too large for StartExecution', async () => {
    await using local = machine({ Do: { ...TASK, End: true } }, async () => null);
    expect(() => local.start('large', 'x'.repeat(256 * 1024))).toThrow(RangeError);
  });
});

describe('abort', () => {
  const WAIT = { Wait: { Type: 'Wait', Seconds: 100_000, End: true } };

  test('ends the execution as ABORTED in the middle of a wait', async () => {
    await using local = machine(WAIT, async () => null);
    const execution = local.start('aborted', {});
    execution.abort();
    expect(await execution.result).toEqual({ status: 'ABORTED' });
    expect((await Array.fromAsync(execution.events)).at(-1)?.type).toBe('ExecutionAborted');
  });

  test('starts no other task, not even one that waits for its retry', async () => {
    const { promise: called, resolve } = Promise.withResolvers<void>();
    const calls: unknown[] = [];
    const Retry = [{ ErrorEquals: ['States.ALL'], IntervalSeconds: 1000, MaxAttempts: 5 }];
    await using local = machine({ Do: { ...TASK, Retry, End: true } }, async (_, input) => {
      calls.push(input);
      resolve();
      throw new TaskError(functionFailure('Refused', 'no'));
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

  test('close aborts every execution', async () => {
    const local = machine(WAIT, async () => null);
    const execution = local.start('closed', {});
    await local.close();
    expect(await execution.result).toEqual({ status: 'ABORTED' });
    await Array.fromAsync(execution.events);
  });
});
