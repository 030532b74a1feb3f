import { describe, expect, test } from 'vitest';
import { type Definition, keepTaskTimeouts } from '../../../infra/local/definition.ts';

import { after, eventsOf, machine, numberIn, TASK } from './machine.ts';

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
