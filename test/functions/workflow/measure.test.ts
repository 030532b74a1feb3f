import { describe, expect, it } from 'vitest';
import { CopyFailed, errors, InvalidInput, TokenRefused } from '../../../functions/workflow/errors.ts';
import { measureError, measureStep } from '../../../functions/workflow/measure.ts';
import { windowOf } from '../../support/steps.ts';

const NOW = new Date('2026-11-02T06:00:00Z');
const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const report = { id: 'r1', created_at: '2026-11-02T05:50:00.000Z', useless_answers: 0, given_up: false };
const watched = { ...window, status: 'pending' as const, reports: [report] };
const OF_EXPORT = { account: 'acme', export: 'daily' };

describe('a delivery', () => {
  const delivered = { outcome: 'delivered', window: window.window, key: 'k', manifest_key: 'm', bytes: 12 };

  it('is measured by account and export: bytes, rows, and the age of its last day’s end', () => {
    expect(measureStep(window, { ...delivered, rows: 3 }, NOW)).toEqual([
      { values: { Deliveries: 1, Bytes: 12, Rows: 3, Freshness: 6 * 3600 }, dimensions: OF_EXPORT },
    ]);
  });

  it('23: of no rows is counted as empty, one whose rows cannot be counted is not', () => {
    expect(measureStep(window, { ...delivered, rows: 0 }, NOW)[0]?.values).toMatchObject({
      Rows: 0,
      EmptyDeliveries: 1,
    });
    expect(Object.keys(measureStep(window, delivered, NOW)[0]?.values ?? {})).toEqual([
      ...['Deliveries', 'Bytes', 'Freshness'],
    ]);
  });

  it('of a day that is not over is not fresher than fresh', () => {
    const [today] = measureStep(window, delivered, new Date('2026-11-01T12:00:00Z'));
    expect(today?.values.Freshness).toBe(0);
  });
});

describe('the time to READY', () => {
  it('is measured from the creation of the report that is READY, once', () => {
    const ready = { ...watched, status: 'ready', ready_id: 'r1' };
    expect(measureStep(watched, ready, NOW)).toEqual([
      { values: { TimeToReady: 600 }, dimensions: OF_EXPORT },
    ]);
    expect(measureStep(ready, ready, NOW)).toEqual([]);
  });

  it('is that of the report that is READY, where it is not the first', () => {
    const second = { ...report, id: 'r2', created_at: '2026-11-02T05:58:00.000Z' };
    const both = { ...watched, reports: [report, second] };
    expect(measureStep(both, { ...both, status: 'ready', ready_id: 'r2' }, NOW)).toEqual([
      { values: { TimeToReady: 120 }, dimensions: OF_EXPORT },
    ]);
  });

  it('is not measured before that, nor of a report that is not the window’s', () => {
    expect(measureStep(watched, { ...watched, ready_id: 'r1' }, NOW)).toEqual([]);
    expect(measureStep(watched, { ...watched, status: 'ready', ready_id: 'other' }, NOW)).toEqual([]);
  });
});

describe('failures', () => {
  const failure = { error: 'RequestRefused' };

  it('are counted by error: a window, or an export that had none', () => {
    const counted = [{ values: { Failures: 1 }, dimensions: { error: 'RequestRefused' } }];
    expect(measureStep(watched, { outcome: 'failed', window: window.window, failure }, NOW)).toEqual(counted);
    expect(measureStep({}, { failure, cause: '' }, NOW)).toEqual(counted);
  });

  it('of windows are not counted again with their export', () => {
    expect(measureStep({}, { failure: { ...failure, windows_failed: 2 }, cause: '' }, NOW)).toEqual([]);
  });
});

describe('retries', () => {
  const kindsOf = (before: unknown, after: unknown) =>
    measureStep(before, after, NOW).map(({ values, dimensions }) => [dimensions.kind, values.Retries]);

  it.each([
    ['Throttled', watched, { ...watched, throttled: 1 }],
    ['UselessAnswer', watched, { ...watched, reports: [{ ...report, useless_answers: 1 }] }],
    ['ReportResubmitted', watched, { ...watched, reports: [report, { ...report, id: 'r2' }] }],
  ])('%s is seen in what the step returned', (kind, before, after) => {
    expect(kindsOf(before, after)).toEqual([[kind, 1]]);
  });

  it('are as many as were added, each kind by itself, where several things happened at once', () => {
    const before = {
      ...{ ...watched, throttled: 3, lost_answers: 1 },
      reports: [{ ...report, useless_answers: 2 }],
    };
    const after = {
      ...{ ...watched, throttled: 5, lost_answers: 4 },
      reports: [
        { ...report, useless_answers: 3 },
        { ...report, id: 'r2', useless_answers: 4 },
      ],
    };
    expect(kindsOf(before, after)).toEqual([
      ['Throttled', 2],
      ['AnswerLost', 3],
      ['UselessAnswer', 5],
      ['ReportResubmitted', 1],
    ]);
    expect(kindsOf(before, before)).toEqual([]);
    expect(kindsOf(before, window)).toEqual([]);
  });

  it('are counted from none where the state before had nothing of the kind', () => {
    const { throttled: _, reports: __, ...bare } = watched;
    const after = {
      ...{ ...bare, throttled: 2, lost_answers: 1 },
      reports: [{ ...report, useless_answers: 1 }],
    };
    expect(kindsOf(bare, after)).toEqual([
      ['Throttled', 2],
      ['AnswerLost', 1],
      ['UselessAnswer', 1],
    ]);
    expect(kindsOf({ ...bare, lost_answers: 1 }, { ...bare, lost_answers: 2 })).toEqual([['AnswerLost', 1]]);
    expect(kindsOf(after, bare)).toEqual([]);
  });

  it('are none where nothing went wrong', () => {
    expect(kindsOf(window, watched)).toEqual([]);
    expect(kindsOf({ ...watched, throttled: 3 }, watched)).toEqual([]);
    expect(kindsOf({}, { windows: [] })).toEqual([]);
  });

  it('are counted of what a step threw, where the state machine answers with another try', () => {
    expect(measureError(window, new CopyFailed('It broke off.'), NOW)).toEqual([
      { values: { Retries: 1 }, dimensions: { kind: 'CopyFailed' } },
    ]);
    for (const error of [new InvalidInput('No.'), new TypeError('a fault of ours'), undefined]) {
      expect(measureError(window, error, NOW)).toEqual([]);
    }
  });

  it('are none of the errors that are final at once', () => {
    const repeated = Object.values(errors).filter(
      (Class) => measureError(watched, new Class(''), NOW).length > 0,
    );
    expect(repeated.map(({ name }) => name).sort()).toEqual([
      'AnswerLost',
      'AnswerUnreadable',
      'CopyFailed',
      'PlatformUnavailable',
      'ServiceUnavailable',
      'TokenRefused',
      'UrlExpired',
    ]);
  });

  it.each([
    ['a second before its end', 1000, [['TokenRefused', 1]]],
    ['at its end', 0, []],
  ])('count a token that is refused %s as often as it should have been valid', (_, left, kinds) => {
    const token = { expires_at: new Date(NOW.getTime() + left).toISOString() };
    const [refused] = measureError({ ...watched, token }, new TokenRefused(''), NOW);
    expect(refused ? [[refused.dimensions.kind, refused.values.Retries]] : []).toEqual(kinds);
  });

  it('count what else is thrown beside a token that has come to its end, and a refused one of which nothing is known', () => {
    const token = { expires_at: NOW.toISOString() };
    const once = (kind: string) => [{ values: { Retries: 1 }, dimensions: { kind } }];
    expect(measureError({ ...watched, token }, new CopyFailed(''), NOW)).toEqual(once('CopyFailed'));
    for (const input of [{}, undefined]) {
      expect(measureError(input, new TokenRefused(''), NOW)).toEqual(once('TokenRefused'));
    }
  });
});
