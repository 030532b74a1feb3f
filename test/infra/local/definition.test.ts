import { describe, expect, test } from 'vitest';
import { type Definition, scaleTaskTimeouts, taskResources } from '../../../infra/local/definition.ts';
import { validateDefinition } from '../../../infra/local/interpreter.ts';
import { functionFailure, TaskError } from '../../../infra/local/task-error.ts';
import { machine, TASK } from './machine.ts';

const WAIT = { Type: 'Wait', Seconds: 10, End: true };
const NESTED: Definition = {
  StartAt: 'Each',
  TimeoutSeconds: 900,
  States: {
    Each: {
      Type: 'Map',
      ItemProcessor: { StartAt: 'Do', States: { Do: { ...TASK, Next: 'Wait' }, Wait: WAIT } },
      End: true,
    },
  },
};

describe('scaleTaskTimeouts', () => {
  test('changes the time-outs of tasks and nothing else', () => {
    const states = { Do: { ...TASK, TimeoutSeconds: 6000, Next: 'Wait' }, Wait: WAIT };
    const scaled = scaleTaskTimeouts(NESTED, 100);
    expect(scaled.TimeoutSeconds).toBe(900);
    expect(scaled.States.Each?.ItemProcessor?.States).toEqual(states);
  });

  test('changes nothing at speed 1', () => {
    expect(scaleTaskTimeouts(NESTED, 1)).toEqual(NESTED);
  });
});

test('taskResources finds the tasks inside a Map', () => {
  expect([...taskResources(NESTED)]).toEqual([['Do', TASK.Resource]]);
});

describe('validateDefinition', () => {
  const validate = (Do: Definition['States'][string]) => () =>
    validateDefinition({ StartAt: 'Do', States: { Do } });

  test('accepts a valid definition', () => {
    expect(validate({ ...TASK, End: true })).not.toThrow();
  });

  test('names a state that does not exist', () => {
    expect(validate({ ...TASK, Next: 'Nowhere' })).toThrow('Nowhere');
  });

  test('refuses a task without TimeoutSeconds', () => {
    const { TimeoutSeconds: _, ...task } = TASK;
    expect(validate({ ...task, End: true })).toThrow('The task Do has no TimeoutSeconds');
  });
});

describe('$$.State.RetryCount', () => {
  const COUNTED = {
    ...TASK,
    Parameters: { state: { 'item.$': '$.item' }, 'count.$': '$$.State.RetryCount' },
    Retry: [{ ErrorEquals: ['Refused'], IntervalSeconds: 1, MaxAttempts: 2 }],
  };
  const notYet = new TaskError(functionFailure('Refused', 'not yet'));

  type Seen = { readonly state: { readonly item: number }; readonly count: number };

  test('is the number of earlier tries and starts from 0 in each state', async () => {
    const seen: Seen[] = [];
    const states = { Do: { ...COUNTED, Next: 'Again' }, Again: { ...COUNTED, End: true } };
    await using local = machine(states, async (_, input) => {
      seen.push(input as Seen);
      if (seen.length % 3 !== 0) throw notYet;
      return { item: 2 };
    });
    expect((await local.start('daily', { item: 1 }).result).status).toBe('SUCCEEDED');
    expect(seen.map(({ state, count }) => [state.item, count])).toEqual([
      ...[0, 1, 2].map((count) => [1, count]),
      ...[0, 1, 2].map((count) => [2, count]),
    ]);
  });

  test('can be a nested member of the parameters', async () => {
    const payload = (count: unknown) => ({
      FunctionName: 'Step',
      Payload: { list: [{ a: 1 }], ...Object(count) },
    });
    const inputs: unknown[] = [];
    const Parameters = payload({ 'count.$': '$$.State.RetryCount' });
    await using local = machine({ Do: { ...COUNTED, Parameters, End: true } }, async (_, input) => {
      inputs.push(input);
      if (inputs.length < 3) throw notYet;
      return null;
    });
    expect((await local.start('daily', { item: 1 }).result).status).toBe('SUCCEEDED');
    expect(inputs).toEqual([0, 1, 2].map((count) => payload({ count })));
  });

  test('is counted for each item of a Map', async () => {
    const counts: Record<number, number[]> = {};
    const map = {
      Type: 'Map',
      ItemsPath: '$.items',
      ItemSelector: { 'item.$': '$$.Map.Item.Value' },
      ItemProcessor: { StartAt: 'Do', States: { Do: { ...COUNTED, End: true } } },
      End: true,
    };
    await using local = machine({ Each: map }, async (_, input) => {
      const { state, count } = input as Seen;
      counts[state.item] = [...(counts[state.item] ?? []), count];
      if (count < state.item) throw notYet;
      return null;
    });
    expect((await local.start('daily', { items: [0, 1, 2] }).result).status).toBe('SUCCEEDED');
    expect(counts).toEqual({ 0: [0], 1: [0, 1], 2: [0, 1, 2] });
  });
});
