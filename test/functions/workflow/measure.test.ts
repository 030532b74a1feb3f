import { describe, expect, it } from 'vitest';
import { errors, TokenRefused } from '../../../functions/workflow/errors.ts';
import { measureError, measureStep } from '../../../functions/workflow/measure.ts';
import { windowOf } from '../../support/steps.ts';

const NOW = new Date('2026-11-02T06:00:00Z');
const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const report = { id: 'r1', created_at: '2026-11-02T05:50:00.000Z', useless_answers: 0, given_up: false };
const polled = { ...window, status: 'pending' as const, reports: [report] };
const replaced = { ...polled, reports: [report, { ...report, id: 'r2' }] };

it.each<[string, unknown, object, object]>([
  ['a delivery', window, { outcome: 'delivered', rows: 3, restated: 2 }, {}],
  ['one without its table', window, { outcome: 'delivered', table_problem: 'x' }, { TableProblems: 1 }],
  ['one with held days', window, { outcome: 'delivered', held: 2 }, { DaysHeld: 2 }],
  ['an export with both, whose windows are counted', window, { table_problem: 'x', held: 2 }, {}],
  ['the first report', window, polled, {}],
  ['a replacement', polled, replaced, { ReportsResubmitted: 1 }],
  ['a state that goes back', replaced, polled, {}],
  ['a late run', {}, { status: 'waiting', late: 3 }, { LateAccounts: 3 }],
  ['a run that is there', {}, { status: 'done', late: 0 }, {}],
])('a call is measured: %s', (_, before, after, expected) => {
  expect(measureStep(before, after)).toEqual(expected);
});

describe('a failed call', () => {
  it('counts a refused token, and no other error', () => {
    const counted = Object.values(errors).map((Class) => measureError(polled, new Class(''), NOW));
    expect(counted.filter((values) => Object.keys(values).length > 0)).toEqual([{ TokensRefused: 1 }]);
    for (const error of [new TypeError('a fault of ours'), undefined])
      expect(measureError(window, error, NOW)).toEqual({});
  });

  it.each([
    ['a second before it expires', 1000, { TokensRefused: 1 }],
    ['when it expires', 0, {}],
  ])('counts a token that is refused %s', (_, left, expected) => {
    const token = { expires_at: new Date(NOW.getTime() + left).toISOString() };
    expect(measureError({ ...polled, token }, new TokenRefused(''), NOW)).toEqual(expected);
  });
});
