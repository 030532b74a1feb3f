import { describe, expect, it } from 'vitest';
import { collectOutcomes, sumChanges } from '../../../functions/decisions/outcomes.ts';
import type { DeliveredWindow } from '../../../functions/workflow/states.ts';

const windows = ['2026-10-01', '2026-10-02', '2026-10-03'].map((start_date) => ({
  start_date,
  end_date: '2026-11-01',
}));
const [first, second, third] = windows.map((window) => ({
  outcome: 'delivered',
  window,
  key: `${window.start_date}/report.json`,
  manifest_key: 'm',
  bytes: 1,
}));
const NO_RESULT = {
  Error: 'StepFunctions.TaskFailed',
  Cause: expect.stringMatching(/ended without a result.*Map Run of ExportWindows/),
};

function lost(index: number, caught: object = NO_RESULT) {
  return { outcome: 'lost', window: windows[index], caught };
}

describe('collectOutcomes', () => {
  it('returns the results in the order of the planned windows', () => {
    expect(collectOutcomes(windows, [third, first, second])).toEqual([first, second, third]);
    expect(collectOutcomes([], [first])).toEqual([]);
  });

  it('counts windows without a result as lost', () => {
    expect(collectOutcomes(windows, [])).toEqual([lost(0), lost(1), lost(2)]);
  });

  it.each([
    { Error: 'States.DataLimitExceeded', Cause: 'too large' },
    { Error: 'States.Runtime' },
  ])('keeps the error of a lost window: %j', (error) => {
    expect(collectOutcomes(windows, [first, error, third])).toEqual([first, lost(1, error), third]);
  });

  it.each([
    ['null', null],
    ['a number', 7],
    ['another shape', { Status: 'FAILED' }],
    ['of a window that was not planned', { ...first, window: { ...windows[0], start_date: 'x' } }],
    ['without a key', { ...second, key: undefined }],
    ['of an unknown outcome', { ...second, outcome: 'done' }],
  ])('ignores a result that is %s', (_, result) => {
    expect(collectOutcomes(windows, [first, result, third])).toEqual([first, lost(1), third]);
  });

  it('takes the first of two results of a window', () => {
    expect(collectOutcomes(windows.slice(0, 1), [first, { ...first, bytes: 2 }])).toEqual([first]);
  });
});

describe('sumChanges', () => {
  const delivered = (changes: object) => ({ ...second, ...changes }) as DeliveredWindow;

  it('adds up the days that windows restated and held, and finds the first and the last of each', () => {
    const windows = [
      delivered({ restated: 2, first_restated: '2026-10-05', last_restated: '2026-10-07', held: 0 }),
      delivered({ restated: 1, first_restated: '2026-10-01', last_restated: '2026-10-01', held: 0 }),
      delivered({ restated: 0, held: 3, first_held: '2026-10-02', last_held: '2026-10-09' }),
      delivered({}),
    ];
    expect(sumChanges(windows)).toEqual({
      restated: 3,
      first_restated: '2026-10-01',
      last_restated: '2026-10-07',
      held: 3,
      first_held: '2026-10-02',
      last_held: '2026-10-09',
    });
  });

  it('has no days if nothing changed, and nothing if no table was written', () => {
    expect(sumChanges([delivered({ restated: 0, held: 0 })])).toEqual({ restated: 0, held: 0 });
    expect(sumChanges([delivered({})])).toEqual({});
  });
});
