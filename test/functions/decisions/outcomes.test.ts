import { describe, expect, it } from 'vitest';
import { collectOutcomes } from '../../../functions/decisions/outcomes.ts';

const windows = ['2026-10-01', '2026-10-02', '2026-10-03'].map((start_date) => ({
  start_date,
  end_date: '2026-11-01',
}));
const [first, second, third] = windows.map((window) => ({
  ...{ outcome: 'delivered', window, key: `${window.start_date}/report.json` },
  ...{ manifest_key: 'm', bytes: 1 },
}));
const NO_RESULT = {
  Error: 'States.TaskFailed',
  Cause: expect.stringMatching(/ended without a result.*Map Run of ExportWindows/),
};

function lost(at: number, caught: object = NO_RESULT) {
  return { outcome: 'lost', window: windows[at], caught };
}

describe('how the windows ended', () => {
  it('is what each left, in the order of the plan, whatever order it comes in', () => {
    expect(collectOutcomes(windows, [third, first, second])).toEqual([first, second, third]);
  });

  it('is that a window is lost of which there is nothing', () => {
    expect(collectOutcomes(windows, [])).toEqual([lost(0), lost(1), lost(2)]);
    expect(collectOutcomes([], [first])).toEqual([]);
  });

  it('is what Step Functions says in the place of a window that left no result', () => {
    const error = { Error: 'States.DataLimitExceeded', Cause: 'too large' };
    expect(collectOutcomes(windows, [first, error, third])).toEqual([first, lost(1, error), third]);
    const bare = { Error: 'States.Runtime' };
    expect(collectOutcomes(windows, [first, second, bare])).toEqual([first, second, lost(2, bare)]);
  });

  it.each([
    ['null', null],
    ['a number', 7],
    ['another form', { Status: 'FAILED' }],
    ['the result of a window that was not planned', { ...first, window: { ...windows[0], start_date: 'x' } }],
    ['a result without its key', { ...second, key: undefined }],
    ['a result of no known outcome', { ...second, outcome: 'done' }],
  ])('is that a window is lost in whose place is %s', (_, left) => {
    expect(collectOutcomes(windows, [first, left, third])).toEqual([first, lost(1), third]);
  });

  it('is one result where a window left it twice', () => {
    expect(collectOutcomes(windows.slice(0, 1), [first, { ...first, bytes: 2 }])).toEqual([first]);
  });
});
