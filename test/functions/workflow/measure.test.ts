import { describe, expect, it } from 'vitest';
import { CopyFailed, errors, TokenRefused } from '../../../functions/workflow/errors.ts';
import { measureError, measureStep } from '../../../functions/workflow/measure.ts';
import { windowOf } from '../../support/steps.ts';

const NOW = new Date('2026-11-02T06:00:00Z');
const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const report = { id: 'r1', created_at: '2026-11-02T05:50:00.000Z', useless_answers: 0, given_up: false };
const polled = { ...window, status: 'pending' as const, reports: [report] };
const dimensions = { account: 'acme', export: 'daily' };

describe('a delivery', () => {
  const delivered = { outcome: 'delivered', window: window.window, key: 'k', manifest_key: 'm', bytes: 12 };
  const common = { Deliveries: 1, Bytes: 12 };

  it.each([
    [3, { ...common, Rows: 3 }],
    [undefined, common],
  ])('is measured by account and export: %s rows', (rows, values) => {
    expect(measureStep(window, { ...delivered, ...(rows && { rows }) }, NOW)).toEqual([
      ...[{ values, dimensions }],
    ]);
  });

  it('23: without rows is counted as empty', () => {
    const [empty] = measureStep(window, { ...delivered, rows: 0 }, NOW);
    expect(empty?.values).toEqual({ ...common, Rows: 0, EmptyDeliveries: 1 });
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

  it('counts the days of the table that it restated', () => {
    const [restated] = measureStep(window, { ...delivered, restated: 2 }, NOW);
    expect(restated?.values).toEqual({ ...common, DaysRestated: 2 });
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

describe('TimeToReady', () => {
  const second = { ...report, id: 'r2', created_at: '2026-11-02T05:58:00.000Z' };
  const before = { ...polled, reports: [report, second] };

  it.each([
    ['r1', 600],
    ['r2', 120],
  ])('is measured from the creation of the READY report: %s', (ready_id, TimeToReady) => {
    const after = { ...before, status: 'ready', ready_id };
    expect(measureStep(before, after, NOW)).toEqual([{ values: { TimeToReady }, dimensions }]);
    expect(measureStep(after, after, NOW)).toEqual([]);
  });

  it('is not measured before that, nor for an unknown report', () => {
    expect(measureStep(before, { ...before, ready_id: 'r1' }, NOW)).toEqual([]);
    expect(measureStep(before, { ...before, status: 'ready', ready_id: 'other' }, NOW)).toEqual([]);
  });
});

describe('failures', () => {
  const failure = { error: 'RequestRefused' };

  it('are counted by error, of a window or of an export', () => {
    const counted = [{ values: { Failures: 1 }, dimensions: { error: 'RequestRefused' } }];
    expect(measureStep(polled, { outcome: 'failed', window: window.window, failure }, NOW)).toEqual(counted);
    expect(measureStep({}, { failure, cause: '' }, NOW)).toEqual(counted);
  });

  it('are not counted for an export whose windows failed', () => {
    expect(measureStep({}, { failure: { ...failure, windows_failed: 2 }, cause: '' }, NOW)).toEqual([]);
  });
});

describe('retries that a step returns', () => {
  const retries = (before: unknown, after: unknown) =>
    measureStep(before, after, NOW).map(({ values, dimensions }) => [dimensions.kind, values.Retries]);

  it.each<[string, object, [string, number][]]>([
    ['a 429', { throttled: 1 }, [['Throttled', 1]]],
    ['a lost answer', { lost_answers: 1 }, [['AnswerLost', 1]]],
    ['a useless answer', { reports: [{ ...report, useless_answers: 1 }] }, [['UselessAnswer', 1]]],
    ['a replacement', { reports: [report, { ...report, id: 'r2' }] }, [['ReportResubmitted', 1]]],
  ])('are counted: %s', (_, changes, expected) => {
    const after = { ...polled, ...changes };
    expect(retries(polled, after)).toEqual(expected);
    expect(retries(after, after)).toEqual([]);
    expect(retries(after, polled)).toEqual([]);
  });
});

describe('retries that a step throws', () => {
  const once = (kind: string) => [{ values: { Retries: 1 }, dimensions: { kind } }];

  it('are counted for the errors that the state machine retries', () => {
    const kinds = Object.values(errors).flatMap((Class) =>
      measureError(polled, new Class(''), NOW).map(({ values, dimensions }) => [
        dimensions.kind,
        values.Retries,
      ]),
    );
    expect(kinds.sort()).toEqual([
      ['AnswerLost', 1],
      ['AnswerUnreadable', 1],
      ['CopyFailed', 1],
      ['PlatformUnavailable', 1],
      ['ServiceUnavailable', 1],
      ['TokenRefused', 1],
      ['UrlExpired', 1],
    ]);
    for (const error of [new TypeError('a fault of ours'), undefined])
      expect(measureError(window, error, NOW)).toEqual([]);
  });

  it.each([
    ['a second before it expires', 1000, once('TokenRefused')],
    ['when it expires', 0, []],
  ])('count a token that is refused %s', (_, left, expected) => {
    const token = { expires_at: new Date(NOW.getTime() + left).toISOString() };
    expect(measureError({ ...polled, token }, new TokenRefused(''), NOW)).toEqual(expected);
    expect(measureError({ ...polled, token }, new CopyFailed(''), NOW)).toEqual(once('CopyFailed'));
  });
});
