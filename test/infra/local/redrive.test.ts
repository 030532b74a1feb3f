import { describe, expect, test } from 'vitest';
import type { Definition } from '../../../infra/local/definition.ts';
import type { HistoryEvent } from '../../../infra/local/history.ts';
import { functionFailure, TaskError } from '../../../infra/local/task-error.ts';
import { eventsOf, machine, TASK } from './machine.ts';

const refused = () => Promise.reject(new TaskError(functionFailure('Refused', 'no such report')));

const CONTEXT = {
  'value.$': '$.value',
  'redrives.$': '$$.Execution.RedriveCount',
  'asked.$': '$$.Execution.Input',
  'started_at.$': '$$.Execution.StartTime',
};

function entered(events: readonly HistoryEvent[]): string[] {
  return events
    .filter(({ type }) => type === 'StateEntered')
    .map(({ state, window }) => (window === undefined ? `${state}` : `${state} of ${window}`));
}

describe('a redrive', () => {
  test('enters the state that failed again, with its input, and counts; nothing before it runs', async () => {
    const calls: Record<string, unknown>[] = [];
    const states = {
      Begin: { Type: 'Pass', Result: { value: 7 }, Next: 'Do' },
      Do: { ...TASK, Parameters: CONTEXT, Next: 'Done' },
      Done: { Type: 'Succeed' },
    };
    await using local = await machine(states, async (_, input) => {
      calls.push(input as Record<string, unknown>);
      return calls.length < 3 ? refused() : 'done';
    });
    const history: HistoryEvent[] = [];
    const first = local.start('daily', { name: 'daily' });
    expect((await first.result).status).toBe('FAILED');
    history.push(...(await eventsOf(first.events)));
    for (const status of ['FAILED', 'SUCCEEDED']) {
      const again = local.redrive('daily', history);
      expect(await again.result).toMatchObject({ status });
      const events = await eventsOf(again.events);
      expect(events[0]?.type).toBe('ExecutionRedriven');
      expect(entered(events)[0]).toBe('Do');
      history.push(...events);
    }
    expect(calls.map(({ redrives }) => redrives)).toEqual([0, 1, 2]);
    expect(calls).toMatchObject(calls.map(() => ({ value: 7, asked: { name: 'daily' } })));
    for (const { started_at } of calls.slice(1)) expect(started_at).toBe(history[0]?.time);
  });

  test('of a Map keeps the windows that had ended, and goes on in the others where each was', async () => {
    const each: Definition = {
      StartAt: 'First',
      States: { First: { ...TASK, Next: 'Second' }, Second: { ...TASK, End: true } },
    };
    const map = {
      Type: 'Map',
      ItemsPath: '$.items',
      MaxConcurrency: 2,
      ItemSelector: { 'item.$': '$$.Map.Item.Value' },
      ItemProcessor: each,
      ResultPath: '$.results',
      End: true,
    };
    const calls: string[] = [];
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    let stuck = true;
    await using local = await machine({ Each: map }, async (_, input) => {
      const { item, done = [] } = input as { item: string; done?: string[] };
      calls.push(`${item}${done.length}`);
      if (item === 'b' && done.length === 1 && stuck) {
        resolve();
        return new Promise(() => {});
      }
      if (item === 'c' && stuck) return new Promise(() => {});
      return { item, done: [...done, item] };
    });
    const first = local.start('daily', { items: ['a', 'b', 'c', 'd'] });
    await reached;
    await expect.poll(() => calls.length).toBe(5);
    first.abort();
    await first.result;
    stuck = false;
    const before = calls.splice(0);
    expect(before.sort()).toEqual(['a0', 'a1', 'b0', 'b1', 'c0']);
    const again = local.redrive('daily', await eventsOf(first.events));
    const { output } = await again.result;
    expect(calls.sort()).toEqual(['b1', 'c0', 'c1', 'd0', 'd1']);
    expect((output as { results: unknown[] }).results).toEqual(
      ['a', 'b', 'c', 'd'].map((item) => ({ item, done: [item, item] })),
    );
  });

  test('of an execution that ran out of time begins its time anew', async () => {
    let calls = 0;
    const run = async () => (++calls === 1 ? new Promise(() => {}) : 'done');
    await using local = await machine({ Do: { ...TASK, End: true } }, run, 1000, { TimeoutSeconds: 2000 });
    const first = local.start('daily', { name: 'daily' });
    expect((await first.result).status).toBe('TIMED_OUT');
    const again = local.redrive('daily', await eventsOf(first.events));
    expect(await again.result).toEqual({ status: 'SUCCEEDED', output: 'done' });
  });

  test('is refused while the execution runs, and after it succeeded', async () => {
    await using local = await machine({ Do: { ...TASK, End: true } }, async () => 'done');
    const execution = local.start('daily', {});
    expect(() => local.redrive('daily', [])).toThrow('still runs');
    await execution.result;
    const events = await eventsOf(execution.events);
    expect(() => local.redrive('daily', events)).toThrow('stopped nowhere');
  });
});
