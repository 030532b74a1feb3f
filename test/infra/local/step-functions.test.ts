import { describe, expect, test } from 'vitest';
import type { Definition } from '../../../infra/local/definition.ts';
import { machine, TASK } from './machine.ts';

describe('an execution', () => {
  test('passes each task its input and ends with the output of the last one', async () => {
    const states = {
      Double: { ...TASK, Next: 'Add' },
      Add: { ...TASK, Resource: 'arn:aws:lambda:::function:Add', End: true },
    };
    await using local = machine(states, async (resource, input) => {
      const { value } = input as { value: number };
      return { value: resource.endsWith('Add') ? value + 1 : value * 2 };
    });
    const execution = local.start('one', { value: 20 });
    expect(await execution.result).toEqual({ status: 'SUCCEEDED', output: { value: 41 } });
    const events = await Array.fromAsync(execution.events);
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

  test('finds its name and its state machine in the context object', async () => {
    const Parameters = {
      'name.$': '$$.Execution.Name',
      'id.$': '$$.Execution.Id',
      'machine.$': '$$.StateMachine.Name',
    };
    await using local = machine({ Look: { ...TASK, Parameters, End: true } }, async (_, input) => input);
    const { output } = await local.start('daily-1', {}).result;
    expect(output).toEqual({
      name: 'daily-1',
      id: 'arn:aws:states:eu-west-1:000000000000:execution:Test:daily-1',
      machine: 'Test',
    });
  });

  test('runs at the same time as others of the same state machine', async () => {
    await using local = machine({ Echo: { ...TASK, End: true } }, async (_, input) => input);
    const runs = Array.from({ length: 50 }, (_, n) => local.start(`run-${n}`, { n }).result);
    expect((await Promise.all(runs)).map(({ output }) => output)).toEqual(
      Array.from({ length: 50 }, (_, n) => ({ n })),
    );
  });

  test('is refused a name that was used before', async () => {
    await using local = machine({ Echo: { ...TASK, End: true } }, async (_, input) => input);
    await local.start('daily', {}).result;
    expect(() => local.start('daily', {})).toThrow('daily');
  });

  test('numbers the events of a Map by item', async () => {
    const item: Definition = { StartAt: 'Item', States: { Item: { ...TASK, End: true } } };
    const each = {
      Type: 'Map',
      ItemProcessor: { ProcessorConfig: { Mode: 'DISTRIBUTED', ExecutionType: 'STANDARD' }, ...item },
      ItemsPath: '$.items',
      End: true,
    };
    await using local = machine({ Each: each }, async (_, input) => `did ${input}`);
    const execution = local.start('map', { items: ['a', 'b'] });
    expect(await execution.result).toEqual({ status: 'SUCCEEDED', output: ['did a', 'did b'] });
    const events = await Array.fromAsync(execution.events);
    const done = events.filter(({ type, state }) => type === 'StateExited' && state === 'Item');
    expect(done.map(({ window, output }) => [window, output]).sort()).toEqual([
      [0, 'did a'],
      [1, 'did b'],
    ]);
  });
});

describe('time', () => {
  test('a Wait of SecondsPath is scaled and never short', async () => {
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
    const poll = async (_: string, input: unknown) => {
      started.push(performance.now());
      return { seconds: (input as { seconds: number }).seconds * 2 };
    };
    await using local = machine(states, poll, 100);
    const execution = local.start('polls', { seconds: 5 });
    expect((await execution.result).status).toBe('SUCCEEDED');
    const waits = started.slice(1).map((at, n) => (at - (started[n] ?? 0)) / 10);
    expect(waits).toHaveLength(3);
    for (const [n, wait] of waits.entries()) expect(wait).toBeGreaterThanOrEqual(10 * 2 ** n);
    const times = (await Array.fromAsync(execution.events)).map(({ time }) => Date.parse(time));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(70_000);
  });

  test('a task has its whole time-out in real time at any speed', async () => {
    const slow = () => new Promise((resolve) => setTimeout(resolve, 50, 'done'));
    // At speed 1000, 50 ms are 50 s of the run's clock.
    await using local = machine({ Slow: { ...TASK, TimeoutSeconds: 1, End: true } }, slow);
    expect(await local.start('slow', {}).result).toEqual({ status: 'SUCCEEDED', output: 'done' });
  });

  test('a task that takes longer fails with States.Timeout', async () => {
    const stuck = () => new Promise(() => {});
    await using local = machine({ Stuck: { ...TASK, TimeoutSeconds: 1, End: true } }, stuck);
    const result = await local.start('stuck', {}).result;
    expect(result).toMatchObject({ status: 'FAILED', error: 'States.Timeout' });
  });

  test('the time-out of the execution is scaled', async () => {
    const wait = { Wait: { Type: 'Wait', Seconds: 1000, End: true } };
    await using local = machine(wait, async () => null, 1000, { TimeoutSeconds: 100 });
    expect((await local.start('late', {}).result).status).toBe('TIMED_OUT');
  });
});
