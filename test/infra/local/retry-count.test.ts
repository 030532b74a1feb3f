import { expect, test } from 'vitest';
import { functionFailure, TaskError } from '../../../infra/local/task-error.ts';
import { machine, TASK } from './machine.ts';

const COUNTED = {
  ...TASK,
  Parameters: { state: { 'item.$': '$.item' }, 'count.$': '$$.State.RetryCount' },
  Retry: [{ ErrorEquals: ['Refused'], IntervalSeconds: 1, MaxAttempts: 2 }],
};

type Seen = { readonly state: { readonly item: number }; readonly count: number };

test('a state is told how often it was tried before; each time it is entered, from 0', async () => {
  const seen: Seen[] = [];
  const states = { Do: { ...COUNTED, Next: 'Again' }, Again: { ...COUNTED, End: true } };
  await using local = await machine(states, async (_, input) => {
    seen.push(input as Seen);
    if (seen.length % 3 !== 0) throw new TaskError(functionFailure('Refused', 'not yet'));
    return { item: 2 };
  });
  expect((await local.start('daily', { item: 1 }).result).status).toBe('SUCCEEDED');
  expect(seen.map(({ state, count }) => [state.item, count])).toEqual([
    ...[0, 1, 2].map((count) => [1, count]),
    ...[0, 1, 2].map((count) => [2, count]),
  ]);
});

test('the count may stand anywhere in what the task is handed', async () => {
  const Parameters = {
    FunctionName: 'Step',
    Payload: { list: [{ a: 1 }], 'count.$': '$$.State.RetryCount' },
  };
  const counts: unknown[] = [];
  await using local = await machine({ Do: { ...COUNTED, Parameters, End: true } }, async (_, input) => {
    counts.push(input);
    if (counts.length < 3) throw new TaskError(functionFailure('Refused', 'not yet'));
    return null;
  });
  expect((await local.start('daily', { item: 1 }).result).status).toBe('SUCCEEDED');
  expect(counts).toEqual(
    [0, 1, 2].map((count) => ({ FunctionName: 'Step', Payload: { list: [{ a: 1 }], count } })),
  );
});

test('each window of a Map has its own count', async () => {
  const counts: Record<number, number[]> = {};
  const map = {
    Type: 'Map',
    ItemsPath: '$.items',
    ItemSelector: { 'item.$': '$$.Map.Item.Value' },
    ItemProcessor: { StartAt: 'Do', States: { Do: { ...COUNTED, End: true } } },
    End: true,
  };
  await using local = await machine({ Each: map }, async (_, input) => {
    const { state, count } = input as Seen;
    counts[state.item] = [...(counts[state.item] ?? []), count];
    if (count < state.item) throw new TaskError(functionFailure('Refused', 'not yet'));
    return null;
  });
  expect((await local.start('daily', { items: [0, 1, 2] }).result).status).toBe('SUCCEEDED');
  expect(counts).toEqual({ 0: [0], 1: [0, 1], 2: [0, 1, 2] });
});
