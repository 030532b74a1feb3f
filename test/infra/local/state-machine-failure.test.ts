import { describe, expect, test } from 'vitest';
import { functionFailure, TaskError } from '../../../infra/local/task-error.ts';

import { eventsOf, machine, TASK } from './machine.ts';

describe('failure', () => {
  const refused = () =>
    Promise.reject(new TaskError(functionFailure('Refused', 'no such report', ['Error: no'])));

  test('a Catch is given the error and a Cause of JSON, as AWS gives it', async () => {
    const states = {
      Do: {
        ...TASK,
        Catch: [{ ErrorEquals: ['Refused'], Next: 'Caught', ResultPath: '$.caught' }],
        End: true,
      },
      Caught: { Type: 'Succeed' },
    };
    await using local = await machine(states, refused);
    const { output } = await local.start('caught', { id: 7 }).result;
    const { caught } = output as { caught: { Error: string; Cause: string } };
    expect(caught.Error).toBe('Refused');
    expect(JSON.parse(caught.Cause)).toEqual({
      errorType: 'Refused',
      errorMessage: 'no such report',
      trace: ['Error: no'],
    });
  });

  test('an error that nothing catches ends the execution as FAILED', async () => {
    await using local = await machine({ Do: { ...TASK, End: true } }, refused);
    const execution = local.start('failed', {});
    expect(await execution.result).toMatchObject({ status: 'FAILED', error: 'Refused' });
    expect((await eventsOf(execution.events)).at(-1)).toMatchObject({
      type: 'ExecutionFailed',
      error: 'Refused',
    });
  });

  test('a Fail state says why by its paths', async () => {
    const fail = { Type: 'Fail', ErrorPath: '$.error', CausePath: '$.cause' };
    await using local = await machine({ End: fail }, async () => null);
    const result = await local.start('failed', { error: 'ReportStuck', cause: '{"a":1}' }).result;
    expect(result).toEqual({ status: 'FAILED', error: 'ReportStuck', cause: '{"a":1}' });
  });

  test('a Retry waits by the scaled clock', async () => {
    let tries = 0;
    const retry = [{ ErrorEquals: ['Refused'], IntervalSeconds: 10, BackoffRate: 2, MaxAttempts: 3 }];
    const flaky = async () => (++tries < 3 ? refused() : 'done');
    await using local = await machine({ Do: { ...TASK, Retry: retry, End: true } }, flaky);
    const execution = local.start('retried', {});
    expect((await execution.result).output).toBe('done');
    const retried = (await eventsOf(execution.events)).filter(({ type }) => type === 'StateRetried');
    expect(retried.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test.each([
    ['input', { text: 'x'.repeat(200_000) }, { 'a.$': '$', 'b.$': '$' }],
    ['output', {}, {}],
  ])('an %s over 256 KB ends the execution, and no Catch helps', async (_, input, Parameters) => {
    const catchAll = [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }];
    const states = { Do: { ...TASK, Parameters, Catch: catchAll, End: true }, Caught: { Type: 'Succeed' } };
    await using local = await machine(states, async () => 'x'.repeat(256 * 1024));
    const result = await local.start('large', input).result;
    expect(result).toMatchObject({ status: 'FAILED', error: 'States.DataLimitExceeded' });
  });

  test('an input that StartExecution would not take is refused', async () => {
    await using local = await machine({ Do: { ...TASK, End: true } }, async () => null);
    expect(() => local.start('large', 'x'.repeat(256 * 1024))).toThrow(RangeError);
  });

  test('a definition that is not valid is refused with what is wrong', async () => {
    await expect(machine({ Do: { ...TASK, Next: 'Nowhere' } }, async () => null)).rejects.toThrow('Nowhere');
  });
});

describe('abort', () => {
  test('ends the execution as ABORTED in the middle of a wait', async () => {
    await using local = await machine(
      { Wait: { Type: 'Wait', Seconds: 100_000, End: true } },
      async () => null,
    );
    const execution = local.start('aborted', {});
    execution.abort();
    expect(await execution.result).toEqual({ status: 'ABORTED' });
    expect((await eventsOf(execution.events)).at(-1)?.type).toBe('ExecutionAborted');
  });

  test('no task starts after it, not even one that was waiting for its retry', async () => {
    const { promise: called, resolve } = Promise.withResolvers<void>();
    const calls: unknown[] = [];
    const retry = [{ ErrorEquals: ['States.ALL'], IntervalSeconds: 1000, MaxAttempts: 5 }];
    await using local = await machine({ Do: { ...TASK, Retry: retry, End: true } }, async (_, input) => {
      calls.push(input);
      resolve();
      throw new TaskError(functionFailure('Refused', 'no'));
    });
    const execution = local.start('aborted', 'first');
    await called;
    execution.abort();
    expect((await execution.result).status).toBe('ABORTED');
    // Another execution goes through the same thread, so what the first one would still do has been done.
    const second = local.start('second', 'second');
    second.abort();
    await second.result;
    expect(calls.filter((input) => input === 'first')).toHaveLength(1);
  });

  test('closing ends what runs', async () => {
    const local = await machine({ Wait: { Type: 'Wait', Seconds: 100_000, End: true } }, async () => null);
    const execution = local.start('closed', {});
    await local.close();
    expect(await execution.result).toEqual({ status: 'ABORTED' });
    await eventsOf(execution.events);
  });
});
