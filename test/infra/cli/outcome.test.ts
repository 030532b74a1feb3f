import { describe, expect, it } from 'vitest';
import { describeOutcome, outcomeOf } from '../../../infra/cli/outcome.ts';
import { UsageError } from '../../../infra/cli/usage.ts';

const card = {
  version: '1',
  error: 'RequestRefused',
  happened: 'No.',
  todo: 'Correct it.',
  execution: 'daily-1',
};

describe('the outcome of an execution that failed', () => {
  it('is the card that is its Cause', () => {
    const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', cause: JSON.stringify(card) });
    expect(outcome).toEqual({ outcome: 'failed', ...card });
  });

  it.each([
    ['of a function that broke', '{"errorType":"Error","errorMessage":"no such key"}', 'no such key'],
    ['in plain text', 'The state TakeRequest was too large.', 'The state TakeRequest was too large.'],
    ['of JSON that is no object', '17', '17'],
    ['that is not there', undefined, 'The execution ended as FAILED.'],
  ])('says what is known, where there is a Cause %s', (_, cause, happened) => {
    const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', error: 'States.Runtime', cause });
    expect(outcome).toMatchObject({ outcome: 'failed', error: 'States.Runtime', execution: 'daily-1' });
    expect(outcome).toHaveProperty('happened', happened);
  });
});

describe('what a person reads', () => {
  const at = { from: '2026-11-21T06:00:00Z', to: '2026-11-21T06:00:00Z' };

  it('of a failure: what happened, which answers, what went before, what to do, and where to read on', () => {
    const full = {
      ...card,
      runbook: 'infra/RUNBOOK.md#requestrefused',
      report_ids: ['r1'],
      request_ids: ['req_1', 'req_2'],
      faults: ['metrics: unknown'],
      timeline: [
        { step: 'CheckReport', outcome: 'pending', ...at, to: '2026-11-21T06:10:00Z', times: 12, tries: 14 },
        { outcome: 'Runtime.ExitError', ...at, times: 1 },
        { step: 'CheckReport', outcome: 'RequestRefused', ...at, times: 1, request_id: 'req_1' },
      ],
    };
    const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', cause: JSON.stringify(full) });
    expect(describeOutcome(outcome, 's3://').split('\n')).toEqual([
      'The export failed: RequestRefused',
      'No.',
      '  metrics: unknown',
      'request_id: req_1, req_2',
      'What went before:',
      '  2026-11-21T06:00:00Z to 2026-11-21T06:10:00Z  CheckReport pending 12 times in 14 tries',
      '  2026-11-21T06:00:00Z  Runtime.ExitError',
      '  2026-11-21T06:00:00Z  CheckReport RequestRefused req_1',
      'What to do: Correct it.',
      'More: infra/RUNBOOK.md#requestrefused',
    ]);
  });

  it('has nothing in it that a terminal obeys, whoever wrote it', () => {
    const odd = {
      ...card,
      report_ids: [],
      happened: 'Not \u001b[2J(r\u009b1, \u202er2).',
      faults: ['a\nb\tc: no'],
    };
    const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', cause: JSON.stringify(odd) });
    expect(describeOutcome(outcome, 's3://')).toContain('\nNot  [2J(r 1,  r2).\n  a b c: no\n');
    expect(new UsageError(['\u001b[2Ja: is not a field', 'b']).message).toBe(
      'error:  [2Ja: is not a field\nerror: b',
    );
  });

  it('of an export of several windows: which of them were not delivered, and why each', () => {
    const window = (start_date: string, end_date: string) => ({ start_date, end_date });
    const failed_windows = [
      { ...card, window: window('2026-10-01', '2026-11-15') },
      { ...card, error: 'ReportStuck', window: window('2026-11-15', '2026-12-30') },
    ];
    const many = { ...card, report_ids: [], windows_delivered: 1, windows_failed: 12, failed_windows };
    const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', cause: JSON.stringify(many) });
    expect(describeOutcome(outcome, 's3://')).toContain(
      [
        'No.',
        'Not delivered, 12 of 13 windows:',
        '  2026-10-01 to 2026-11-15  RequestRefused',
        '  2026-11-15 to 2026-12-30  ReportStuck',
        '  and 10 more',
        'What to do: Correct it.',
      ].join('\n'),
    );
  });

  it.each([
    [
      'where nothing was missing',
      { windows: [], already_delivered: 3, warnings: [] },
      'Nothing was missing.\nDelivered before, and left as they are: 3 windows.',
    ],
  ])('of what was delivered: %s', (_, output, expected) => {
    const outcome = outcomeOf({ name: 'daily-1', status: 'SUCCEEDED', output });
    expect(describeOutcome(outcome, 's3://')).toBe(expected);
  });

  it('of a delivery without rows: that it is empty', () => {
    const window = {
      window: { start_date: '2026-10-01', end_date: '2026-10-02' },
      rows: 0,
      bytes: 2,
      key: 'exports/k',
    };
    const output = { windows: [window], bucket: 'b', warnings: [], rows: 0, empty: true };
    const text = describeOutcome(outcomeOf({ name: 'daily-1', status: 'SUCCEEDED', output }), 's3://');
    expect(text).toContain('2026-10-01 to 2026-10-02     0      2  s3://b/exports/k');
    expect(text).toMatch(/The platform had no rows for this request\.$/);
  });
});
