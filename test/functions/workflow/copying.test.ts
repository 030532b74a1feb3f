import { describe, expect, it } from 'vitest';
import { asEnded, type CopyRange } from '../../../functions/workflow/copying.ts';

/** A range that begins with this part. */
function rangeOf(first: number, changes: Partial<CopyRange> = {}): CopyRange {
  return {
    ...{ first, from: 0, to: 100, part: first, at: 0, status: 'open' },
    ...{ turn: '2026-11-21T06:00:00.000Z', wake: '2026-11-21T06:00:00.000Z', turn_every_seconds: 30 },
    ...{ turns: 0, failures: 0 },
    ...changes,
  };
}

describe('the ranges of a copy, once they have ended', () => {
  const begun = [rangeOf(1), rangeOf(5), rangeOf(9)];

  it('are each as it came back, in the order of the file, however they came', () => {
    const stored = rangeOf(1, { status: 'stored', at: 100, turns: 1 });
    const broken = rangeOf(5, { status: 'broken', failures: 3, error: 'CopyFailed' });
    const moved = rangeOf(9, { status: 'void' });
    expect(asEnded(begun, [moved, stored, broken])).toEqual([stored, broken, moved]);
  });

  it('10: are broken at their beginning where their execution died', () => {
    const stored = rangeOf(5, { status: 'stored', at: 100 });
    const died = [{ Error: 'States.Timeout', Cause: '' }, null, 'died', { ...rangeOf(9), turns: 'many' }];
    expect(asEnded(begun, [stored, ...died])).toEqual([
      ...[rangeOf(1, { status: 'broken' }), stored, rangeOf(9, { status: 'broken' })],
    ]);
    expect(begun.map(({ status }) => status)).toEqual(['open', 'open', 'open']);
  });

  it('28: are broken where they had come when their function was lost', () => {
    const lost = rangeOf(5, { at: 40, part: 7, turns: 2 });
    expect(asEnded([rangeOf(5)], [lost])).toEqual([{ ...lost, status: 'broken' }]);
  });

  it.each<CopyRange['status']>([
    'stored',
    'broken',
    'void',
  ])('are what they were where nothing was left to do for them: %s', (status) => {
    const done = rangeOf(1, { status, at: 50 });
    expect(asEnded([done], undefined)).toEqual([done]);
    expect(asEnded([done], [rangeOf(5)])).toEqual([done]);
  });
});
