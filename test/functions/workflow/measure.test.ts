import { describe, expect, it } from 'vitest';
import { CopyFailed, TokenRefused } from '../../../functions/workflow/errors.ts';
import { measureError, measureStep } from '../../../functions/workflow/measure.ts';
import { windowOf } from '../../support/steps.ts';

const NOW = new Date('2026-11-02T06:00:00Z');
const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const report = { id: 'r1', created_at: '2026-11-02T05:50:00.000Z', useless_answers: 0, given_up: false };
const polled = { ...window, status: 'pending' as const, reports: [report] };

describe('a delivery', () => {
  const delivered = { outcome: 'delivered', window: window.window, key: 'k', manifest_key: 'm', bytes: 12 };
  it.each([
    [3, { Deliveries: 1 }],
    [undefined, { Deliveries: 1 }],
    [0, { Deliveries: 1, EmptyDeliveries: 1 }],
  ])('23: is measured by account and export: %s rows', (rows, values) => {
    const dimensions = { account: 'acme', export: 'daily' };
    expect(measureStep(window, { ...delivered, rows }, NOW)).toEqual([{ values, dimensions }]);
  });

  it('is as fresh as the end of the newest day with rows, not as its window', () => {
    const freshness = (newest_day: string | undefined) =>
      measureStep({ ...window, curated: { newest_day } }, delivered, NOW)[0]?.values.Freshness;
    expect(freshness('2026-11-01')).toBe(6 * 3600);
    expect(freshness('2026-10-30')).toBe(54 * 3600);
    expect(freshness(undefined)).toBeUndefined();
  });

  it('of a list is as fresh as its window, and 0 s old before its day is over', () => {
    const request = { ...window.request, kind: 'list' };
    const at = (now: string) => measureStep({ ...window, request }, delivered, new Date(now))[0]?.values;
    expect(at('2026-11-02T06:00:00Z')?.Freshness).toBe(6 * 3600);
    expect(at('2026-11-01T12:00:00Z')?.Freshness).toBe(0);
  });

  it('that the table lacks or holds days of is counted without dimensions, for one alarm over all exports', () => {
    const table_problem = 'column spend, row 3: "x" is no decimal(18,6)';
    const measured = (table: object) => measureStep(window, { ...delivered, ...table }, NOW).slice(1);
    expect(measured({ table_problem })).toEqual([{ values: { TableProblems: 1 }, dimensions: {} }]);
    expect(measured({ restated: 0, held: 2 })).toEqual([{ values: { DaysHeld: 2 }, dimensions: {} }]);
    expect(measured({ restated: 0, held: 0 })).toEqual([]);
    const exported = { table_problem, held: 2, windows: [] };
    expect(measureStep(window, exported, NOW)).toEqual([]);
  });
});

it('counts a report that replaces another one, and not the first one', () => {
  const retries = (before: unknown, after: unknown) => measureStep(before, after, NOW);
  const replaced = { ...polled, reports: [report, { ...report, id: 'r2' }] };
  expect(retries(polled, replaced)).toEqual([
    { values: { Retries: 1 }, dimensions: { kind: 'ReportResubmitted' } },
  ]);
  for (const before of [replaced, {}]) expect(retries(before, polled)).toEqual([]);
  expect(retries(replaced, replaced)).toEqual([]);
});

it.each([
  ['a second before it expires', 1000, [{ values: { Retries: 1 }, dimensions: { kind: 'TokenRefused' } }]],
  ['when it expires', 0, []],
])('counts a token that is refused %s', (_, left, expected) => {
  const token = { expires_at: new Date(NOW.getTime() + left).toISOString() };
  expect(measureError({ ...polled, token }, new TokenRefused(''), NOW)).toEqual(expected);
  expect(measureError({ ...polled, token }, new CopyFailed(''), NOW)).toEqual([]);
});
