import { expect, it } from 'vitest';
import { collectOutcomes } from '../../../functions/decisions/outcomes.ts';

const windows = ['2026-10-01', '2026-10-02', '2026-10-03'].map((start_date) => ({
  start_date,
  end_date: '2026-11-01',
}));
const fields = { outcome: 'delivered', key: 'k', manifest_key: 'm', bytes: 1 };
const delivered = windows.map((window) => ({ ...fields, window }));
const [first, second, third] = delivered;

it('the outcomes of windows are in the order of the plan, each once', () => {
  expect(collectOutcomes(windows, [third, first, second, { ...first, bytes: 2 }])).toEqual(delivered);
});

const NO_RESULT = {
  Error: 'StepFunctions.TaskFailed',
  Cause: expect.stringMatching(/ended without a result.*Map Run of ExportWindows/),
};
it.each<[string, unknown, object]>([
  ['an error', { Error: 'States.DataLimitExceeded', Cause: 'large' }, { Error: 'States.DataLimitExceeded' }],
  ['null', null, NO_RESULT],
  ['another shape', { Status: 'FAILED' }, NO_RESULT],
  ['of a window that was not planned', { ...first, window: { start_date: 'x', end_date: 'y' } }, NO_RESULT],
  ['without a key', { ...second, key: undefined }, NO_RESULT],
])('28: a window is lost if its result is %s', (_, result, caught) => {
  const lost = { outcome: 'lost', window: windows[1], caught: expect.objectContaining(caught) };
  expect(collectOutcomes(windows, [first, result, third])).toEqual([first, lost, third]);
});
