import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../infra/cli/errors.ts';
import { describeOutcome, outcomeOf } from '../../../infra/cli/outcome.ts';

const NEXT = 'npm run export -- resume daily-1';

const REPORT = {
  version: '1',
  error: 'RequestRefused',
  happened: 'No.',
  todo: 'Correct it.',
  execution: 'daily-1',
};

function failedWith(report: object, width?: number): string {
  const end = { name: 'daily-1', status: 'FAILED', cause: JSON.stringify(report) };
  return describeOutcome(outcomeOf(end), { root: 's3://', next: NEXT }, width);
}

function succeededWith(output: object, width?: number): string {
  const end = { name: 'daily-1', status: 'SUCCEEDED', output };
  return describeOutcome(outcomeOf(end), { root: 's3://', next: NEXT }, width);
}

describe('the outcome of a failed execution', () => {
  it('is the failure report in its Cause', () => {
    const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', cause: JSON.stringify(REPORT) });
    expect(outcome).toEqual({ outcome: 'failed', ...REPORT });
  });

  it.each([
    ['of a broken function', '{"errorType":"Error","errorMessage":"no such key"}', 'no such key'],
    ['in plain text', 'The state TakeRequest was too large.', 'The state TakeRequest was too large.'],
    ['that is JSON but no object', '17', '17'],
    ['that is missing', undefined, 'The execution ended with the status FAILED.'],
  ])('says what is known from a Cause %s', (_, cause, happened) => {
    const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', error: 'States.Runtime', cause });
    expect(outcome).toMatchObject({ outcome: 'failed', error: 'States.Runtime', execution: 'daily-1' });
    expect(outcome).toHaveProperty('happened', happened);
  });
});

describe('the printed outcome', () => {
  it('of a failure says which values the table shows already', () => {
    const failed = { ...REPORT, window: { start_date: '2026-10-01', end_date: '2026-10-08' } };
    const range = { first_restated: '2026-10-02', last_restated: '2026-10-06' };
    const failed_windows = [{ ...failed, restated: 3, ...range }, { ...failed, restated: 0 }, failed];
    const text = failedWith({ ...REPORT, failed_windows, restated: 3, ...range });
    expect(text.split('\n').filter((line) => line.includes('table'))).toEqual([
      "The table already shows this report's values, 2026-10-01 to 2026-10-08",
      "The table already shows this report's values, 2026-10-01 to 2026-10-08",
      'Days of the table that show other values now: 3, from 2026-10-02 to 2026-10-06',
    ]);
  });

  const at = { from: '2026-11-21T06:00:00Z', to: '2026-11-21T06:00:00Z' };

  it('of a failure has the faults, ids, timeline, failure report, link, advice and next command', () => {
    const text = failedWith({
      ...REPORT,
      runbook: 'infra/RUNBOOK.md#requestrefused',
      ...{ bucket: 'b', key: 'exports/k/_failure.json' },
      report_ids: ['r1', 'r2'],
      request_ids: ['req_1', 'req_2'],
      faults: ['metrics: unknown'],
      timeline: [
        { step: 'CheckReport', outcome: 'pending', ...at, to: '2026-11-21T06:10:00Z', times: 12, tries: 14 },
        { outcome: 'Runtime.ExitError', ...at, times: 1 },
        { step: 'CheckReport', outcome: 'RequestRefused', ...at, times: 1, request_id: 'req_1' },
      ],
    });
    expect(text.split('\n')).toEqual([
      'The export failed: RequestRefused',
      'No.',
      '  metrics: unknown',
      'Timeline:',
      '  2026-11-21T06:00:00Z to 2026-11-21T06:10:00Z  CheckReport pending 12 times in 14 tries',
      '  2026-11-21T06:00:00Z  Runtime.ExitError',
      '  2026-11-21T06:00:00Z  CheckReport RequestRefused req_1',
      'execution: daily-1',
      'report_id: r1, r2',
      'request_id: req_1, req_2',
      'Failure report: s3://b/exports/k/_failure.json',
      'More: infra/RUNBOOK.md#requestrefused',
      'What to do: Correct it.',
      'Then: npm run export -- resume daily-1',
    ]);
  });

  it('of a failure names the windows that failed and those that were delivered', () => {
    const window = (start_date: string, end_date: string) => ({ start_date, end_date });
    const failed_windows = [
      { ...REPORT, window: window('2026-10-01', '2026-11-15') },
      { ...REPORT, error: 'ReportStuck', window: window('2026-11-15', '2026-12-30') },
    ];
    const delivered_windows = [{ window: window('2026-12-30', '2027-01-01'), key: 'exports/k/report.json' }];
    const counts = { windows_delivered: 3, windows_failed: 12 };
    expect(failedWith({ ...REPORT, ...counts, bucket: 'b', failed_windows, delivered_windows })).toContain(
      [
        'No.',
        '12 of 15 windows failed:',
        '  2026-10-01 to 2026-11-15  RequestRefused',
        '  2026-11-15 to 2026-12-30  ReportStuck',
        '  and 10 more',
        'These windows were delivered, and stay:',
        '  2026-12-30 to 2027-01-01  s3://b/exports/k/report.json',
        '  and 2 more',
        'execution: daily-1',
      ].join('\n'),
    );
  });

  it('contains no control characters from elsewhere', () => {
    const happened = 'Not \u001b[2J(r\u009b1, \u202er2).';
    const text = failedWith({ ...REPORT, happened, faults: ['a\nb\tc: no'] });
    expect(text).toContain('\nNot  [2J(r 1,  r2).\n  a b c: no\n');
    expect(new UsageError(['\u001b[2Ja: is not a field', 'b']).message).toBe(
      'error:  [2Ja: is not a field\nerror: b',
    );
  });

  it('says that no window was missing', () => {
    const already_delivered_windows = [
      { window: { start_date: '2026-10-01', end_date: '2026-11-15' }, key: 'exports/k/report.json' },
    ];
    const result = {
      windows: [],
      bucket: 'b',
      already_delivered: 3,
      already_delivered_windows,
      warnings: [],
    };
    expect(succeededWith(result).split('\n')).toEqual([
      'No window was missing.',
      'Windows that were already delivered, and not exported again: 3',
      '  2026-10-01 to 2026-11-15  s3://b/exports/k/report.json',
    ]);
  });

  it.each([
    [0, undefined, undefined],
    [1, '2026-10-02', '1, on 2026-10-02'],
    [2, '2026-10-05', '2, from 2026-10-02 to 2026-10-05'],
  ])('says which days of the table a report changed: %i', (restated, last_restated, days) => {
    const range = { ...(last_restated && { first_restated: '2026-10-02', last_restated }) };
    const lines = succeededWith({ windows: [], bucket: 'b', warnings: [], restated, ...range }).split('\n');
    const changed = days === undefined ? [] : [`Days of the table that show other values now: ${days}`];
    expect(lines).toEqual(['No window was missing.', ...changed]);
  });

  it('breaks a sentence around a command that it quotes', () => {
    const todo = "Store it with 'npm run export -- secret set acme', then run the export again.";
    expect(failedWith({ ...REPORT, todo }, 50).split('\n')).toEqual(
      expect.arrayContaining([
        'What to do: Store it with',
        "  'npm run export -- secret set acme', then run",
        '  the export again.',
      ]),
    );
  });

  it('names the place of the objects once if the table is wider than the screen', () => {
    const [first, second] = ['2026-10-01', '2026-10-02'].map((start_date) => {
      const window = { start_date, end_date: '2026-10-03' };
      return { window, rows: 3, bytes: 2, key: `start_date=${start_date}/end_date=2026-10-03/report.json` };
    });
    const warnings = ['one two three four five'];
    const shown = (windows: unknown[]) =>
      succeededWith({ windows, bucket: 'bucket', warnings }, 30).split('\n');
    const warning = ['warning: one two three four', '  five'];
    expect(shown([first])).toEqual([
      ...['2026-10-01 to 2026-10-03,', '  3 rows, 2 bytes'],
      ...['  s3://bucket/start_date=2026-10-01/end_date=2026-10-03/report.json', ...warning],
    ]);
    expect(shown([first, second])).toEqual([
      ...['2026-10-01 to 2026-10-03,', '  3 rows, 2 bytes', '2026-10-02 to 2026-10-03,', '  3 rows, 2 bytes'],
      ...['  s3://bucket/start_date=…/end_date=…/report.json', ...warning],
    ]);
  });

  it('never breaks a command', () => {
    expect(failedWith(REPORT, 20).split('\n')).toContain(`Then: ${NEXT}`);
  });

  it('says that the platform had no rows', () => {
    const window = { start_date: '2026-10-01', end_date: '2026-10-02' };
    const windows = [{ window, rows: 0, bytes: 2, key: 'exports/k' }];
    const text = succeededWith({ windows, bucket: 'b', warnings: [], rows: 0, empty: true });
    expect(text).toContain('2026-10-01 to 2026-10-02     0      2  s3://b/exports/k');
    expect(text).toMatch(/The platform had no rows for this request\.$/);
  });
});
