import { describe, expect, test } from 'vitest';
import { scaledClock } from '../../../infra/local/clock.ts';
import { type Definition, keepTaskTimeouts } from '../../../infra/local/definition.ts';
import type { HistoryEvent } from '../../../infra/local/history.ts';
import { type RunTask, startStateMachine } from '../../../infra/local/state-machine.ts';
import { functionFailure, TaskError } from '../../../infra/local/task-error.ts';

const TASK = {
  Type: 'Task',
  Resource: 'arn:aws:lambda:eu-west-1:000000000000:function:Step',
  TimeoutSeconds: 60,
};

function machine(
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

async function eventsOf(events: AsyncIterable<HistoryEvent>): Promise<HistoryEvent[]> {
  return Array.fromAsync(events);
}

describe('an execution', () => {
  test('hands each task its input, and ends with the output of the last one', async () => {
    await using local = await machine(
      {
        Double: { ...TASK, Next: 'Add' },
        Add: { ...TASK, Resource: 'arn:aws:lambda:::function:Add', End: true },
      },
      async (resource, input) => ({
        value: resource.endsWith('Add') ? numberIn(input) + 1 : numberIn(input) * 2,
      }),
    );
    const execution = local.start('one', { value: 20 });
    expect(await execution.result).toEqual({ status: 'SUCCEEDED', output: { value: 41 } });
    const events = await eventsOf(execution.events);
    expect(events.map(({ type, state }) => [type, state])).toEqual([
      ['ExecutionStarted', undefined],
      ['StateEntered', 'Double'],
      ['StateExited', 'Double'],
      ['StateEntered', 'Add'],
      ['StateExited', 'Add'],
      ['ExecutionSucceeded', undefined],
    ]);
    expect(events[2]).toMatchObject({ stateType: 'Task', input: { value: 20 }, output: { value: 40 } });
  });

  test('knows its name and its state machine from the context object', async () => {
    const context = {
      'name.$': '$$.Execution.Name',
      'id.$': '$$.Execution.Id',
      'machine.$': '$$.StateMachine.Name',
    };
    await using local = await machine(
      { Look: { ...TASK, Parameters: context, End: true } },
      async (_, input) => input,
    );
    const { output } = await local.start('daily-1', {}).result;
    expect(output).toEqual({
      name: 'daily-1',
      id: 'arn:aws:states:eu-west-1:000000000000:execution:Test:daily-1',
      machine: 'Test',
    });
  });

  test('runs beside others of the same machine', async () => {
    await using local = await machine({ Echo: { ...TASK, End: true } }, async (_, input) => input);
    const runs = Array.from({ length: 50 }, (_, n) => local.start(`run-${n}`, { n }).result);
    expect((await Promise.all(runs)).map(({ output }) => output)).toEqual(
      Array.from({ length: 50 }, (_, n) => ({ n })),
    );
  });

  test('has a name that is never used again', async () => {
    await using local = await machine({ Echo: { ...TASK, End: true } }, async (_, input) => input);
    await local.start('daily', {}).result;
    expect(() => local.start('daily', {})).toThrow('daily');
  });

  test('tells which item of a Map an event is about', async () => {
    const item: Definition = { StartAt: 'Item', States: { Item: { ...TASK, End: true } } };
    const each = {
      Type: 'Map',
      ItemProcessor: { ProcessorConfig: { Mode: 'DISTRIBUTED', ExecutionType: 'STANDARD' }, ...item },
      ItemsPath: '$.items',
      End: true,
    };
    await using local = await machine({ Each: each as never }, async (_, input) => `did ${input}`);
    const execution = local.start('map', { items: ['a', 'b'] });
    expect(await execution.result).toEqual({ status: 'SUCCEEDED', output: ['did a', 'did b'] });
    const events = await eventsOf(execution.events);
    const done = events.filter(({ type, state }) => type === 'StateExited' && state === 'Item');
    expect(done.map(({ window, output }) => [window, output]).sort()).toEqual([
      [0, 'did a'],
      [1, 'did b'],
    ]);
  });
});

describe('time', () => {
  test('a wait that grows by SecondsPath is scaled and never short', async () => {
    const started: number[] = [];
    const states = {
      Poll: { ...TASK, Next: 'Enough' },
      Enough: {
        Type: 'Choice',
        Choices: [{ Variable: '$.seconds', NumericGreaterThan: 40, Next: 'Done' }],
        Default: 'Wait',
      },
      Wait: { Type: 'Wait', SecondsPath: '$.seconds', Next: 'Poll' },
      Done: { Type: 'Succeed' },
    };
    await using local = await machine(
      states,
      async (_, input) => {
        started.push(performance.now());
        return { seconds: (input as { seconds: number }).seconds * 2 };
      },
      100,
    );
    const execution = local.start('polls', { seconds: 5 });
    expect((await execution.result).status).toBe('SUCCEEDED');
    const waits = started.slice(1).map((at, n) => (at - (started[n] ?? 0)) / 10);
    expect(waits).toHaveLength(3);
    for (const [n, wait] of waits.entries()) expect(wait).toBeGreaterThanOrEqual(10 * 2 ** n);
    const times = (await eventsOf(execution.events)).map(({ time }) => Date.parse(time));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(70_000);
  });

  test('a task may take its whole time-out of real time, however fast the clock', async () => {
    await using local = await machine({ Slow: { ...TASK, TimeoutSeconds: 1, End: true } }, () =>
      after(50, 'done'),
    );
    // At speed 1000 the 50 ms are 50 s of the run's clock.
    expect(await local.start('slow', {}).result).toEqual({ status: 'SUCCEEDED', output: 'done' });
  });

  test('a task that takes longer fails with States.Timeout', async () => {
    await using local = await machine(
      { Stuck: { ...TASK, TimeoutSeconds: 1, End: true } },
      () => new Promise(() => {}),
    );
    expect(await local.start('stuck', {}).result).toMatchObject({
      status: 'FAILED',
      error: 'States.Timeout',
    });
  });

  test('the time-out of the execution is scaled', async () => {
    const wait = { Wait: { Type: 'Wait', Seconds: 1000, End: true } };
    await using local = await machine(wait, async () => null, 1000, { TimeoutSeconds: 100 });
    expect((await local.start('late', {}).result).status).toBe('TIMED_OUT');
  });

  test('only the time-outs of tasks are changed, and nothing at speed 1', () => {
    const wait = { Type: 'Wait', Seconds: 10, End: true };
    const nested = { StartAt: 'Do', States: { Do: { ...TASK, Next: 'Wait' }, Wait: wait } };
    const definition: Definition = {
      StartAt: 'Each',
      TimeoutSeconds: 900,
      States: { Each: { Type: 'Map', ItemProcessor: nested, End: true } },
    };
    expect(keepTaskTimeouts(definition, 1)).toEqual(definition);
    const faster = keepTaskTimeouts(definition, 100);
    const states = { Do: { ...TASK, TimeoutSeconds: 6000, Next: 'Wait' }, Wait: wait };
    expect(faster.TimeoutSeconds).toBe(900);
    expect(faster.States.Each?.ItemProcessor?.States).toEqual(states);
  });

  test('a task without a time-out is refused', async () => {
    const { TimeoutSeconds: _, ...task } = TASK;
    await expect(machine({ Do: { ...task, End: true } }, async () => null)).rejects.toThrow(
      'Do states no TimeoutSeconds',
    );
  });
});

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

function numberIn(input: unknown): number {
  return (input as { value: number }).value;
}

function after<T>(ms: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, ms, value));
}
