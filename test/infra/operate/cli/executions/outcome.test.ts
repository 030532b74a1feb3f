import { describe, expect, it } from 'vitest';
import { describeOutcome } from '../../../../../infra/operate/cli/executions/print-outcome.ts';
import { adviseLocally, outcomeOf } from '../../../../../infra/operate/executions/outcome.ts';

const REPORT = { version: '1', error: 'RequestRefused', happened: 'No.', todo: 'Fix.', execution: 'daily-1' };

function failedWith(report: object): string {
  const end = { name: 'daily-1', status: 'FAILED', cause: JSON.stringify(report) };
  return describeOutcome(outcomeOf(end), {}).join('\n');
}

function succeededWith(output: object): string {
  const end = { name: 'daily-1', status: 'SUCCEEDED', output };
  return describeOutcome(outcomeOf(end), {}).join('\n');
}

it.each([
  ['of a broken function', '{"errorType":"Error","errorMessage":"no such key"}', 'no such key'],
  ['in plain text', 'The state TakeRequest was too large.', 'The state TakeRequest was too large.'],
  ['that is JSON but no object', '17', '17'],
  ['that is missing', undefined, 'The execution ended with the status FAILED.'],
])('the outcome of a failed execution says what is known from a Cause %s', (_, cause, happened) => {
  const outcome = outcomeOf({ name: 'daily-1', status: 'FAILED', error: 'States.Runtime', cause });
  expect(outcome).toMatchObject({ outcome: 'failed', error: 'States.Runtime', execution: 'daily-1' });
  expect(outcome).toHaveProperty('happened', happened);
});

describe('the printed outcome', () => {
  it('of a failure has the faults, ids, failure report, link, advice and next command', () => {
    const text = failedWith({
      ...REPORT,
      runbook: 'infra/RUNBOOK.md#requestrefused',
      bucket: 'b',
      key: 'exports/k/_failure.json',
      report_ids: ['r1', 'r2'],
      request_ids: ['req_1', 'req_2'],
      faults: ['metrics: unknown'],
    });
    expect(text.split('\n')).toEqual([
      'The export failed: RequestRefused',
      'No.',
      '  metrics: unknown',
      'execution: daily-1',
      'report_id: r1, r2',
      'request_id: req_1, req_2',
      'Failure report: s3://b/exports/k/_failure.json',
      'More: infra/RUNBOOK.md#requestrefused',
      'What to do: Fix.',
      'Then: npm run export -- resume daily-1',
    ]);
  });

  it('of a failure names the windows that failed and counts those that were delivered', () => {
    const window = (start_date: string, end_date: string) => ({ start_date, end_date });
    const failed_windows = [
      { ...REPORT, window: window('2026-10-01', '2026-11-15') },
      { ...REPORT, error: 'ReportStuck', window: window('2026-11-15', '2026-12-30') },
    ];
    const counts = { windows_delivered: 3, windows_failed: 12, table_problem: 'no room', account: 'acme' };
    expect(failedWith({ ...REPORT, ...counts, export: 'daily', bucket: 'b', failed_windows })).toContain(
      [
        'No.',
        '12 of 15 windows failed:',
        '  2026-10-01 to 2026-11-14  RequestRefused',
        '  2026-11-15 to 2026-12-29  ReportStuck',
        '  and 10 more',
        'Windows that were delivered, and stay: 3',
        'warning: no room',
        'To see the days that the table lacks or holds: npm run export -- missing daily --account acme',
        'execution: daily-1',
      ].join('\n'),
    );
  });

  const TO_SEE =
    'To see the days that the table lacks or holds: npm run export -- missing daily --account acme';
  it.each<[string, object, string[]]>([
    ['none', { restated: 0, held: 0 }, []],
    [
      'one that changed',
      { restated: 1, first_restated: '2026-10-02', last_restated: '2026-10-02' },
      ['Days of the table that show other values now: 1, 2026-10-02'],
    ],
    [
      'several that changed',
      { restated: 2, first_restated: '2026-10-02', last_restated: '2026-10-05' },
      ['Days of the table that show other values now: 2, 2026-10-02 to 2026-10-05'],
    ],
    ['held ones', { held: 2, first_held: '2026-10-02', last_held: '2026-10-03' }, [TO_SEE]],
    ['a report that the table could not take', { table_problem: 'p' }, [TO_SEE]],
  ])('says what became of the days of the table: %s', (_, fields, expected) => {
    const result = { account: 'acme', name: 'daily', windows: [], bucket: 'b', warnings: [], ...fields };
    expect(succeededWith(result).split('\n')).toEqual(['No window was missing.', ...expected]);
  });

  const compare = (metric: string, difference: number) => ({
    metric,
    rows_sum: 10,
    platform_total: 10 - difference,
    difference,
  });
  it.each([
    [[compare('impressions', 0)], 7, 'are equal in impressions (7 days)'],
    [[compare('impressions', 0), compare('spend', -0.007592)], 7, 'differ by 0.01 in spend (7 days)'],
    [
      [compare('clicks', 3), compare('spend', 0.0001)],
      1,
      'differ by 3 in clicks and less than 0.01 in spend (1 day)',
    ],
  ])("says how rows and the platform's total differ: %#", (metrics, days, words) => {
    const result = { windows: [], bucket: 'b', warnings: [], reconciled: { days, metrics } };
    expect(succeededWith(result)).toContain(`\nRows and the platform's total ${words}`);
  });

  it('has a line for each window, says which were there, and that the platform had no rows', () => {
    const window = { start_date: '2026-10-01', end_date: '2026-10-08' };
    const windows = [{ window, rows: 0, bytes: 2, key: 'exports/k' }];
    const rows = { rows: 0, empty: true, already_delivered: 3 };
    const text = succeededWith({ windows, bucket: 'b', warnings: ['w'], ...rows });
    expect(text.split('\n')).toEqual([
      'days                      rows  bytes  object',
      '2026-10-01 to 2026-10-07     0      2  s3://b/exports/k',
      'Windows that were already delivered, and not exported again: 3',
      'warning: w',
      'The platform had no rows for this request.',
    ]);
  });
});

it.each([
  ['RequestRefused', 'Do this.'],
  ['CredentialUnusable', 'Correct c.json, or name another file with --credential.'],
  [
    'LoginRequired',
    'Log in again (npm run export -- login --account acme --local --base-url http://127.0.0.1:80 --credential c.json), ' +
      'then run the export again.',
  ],
  ['Sandbox.Timedout', 'Run the export again. If it fails again, give out/history.json to the maintainers.'],
])('after %s, says what to do on this machine', (error, todo) => {
  const run = { account: 'acme', out: 'out', baseUrl: 'http://127.0.0.1:80', credential: 'c.json' };
  const failure = { error, happened: 'No.', todo: 'Do this.' };
  expect(adviseLocally(failure, run)).toEqual({ ...failure, todo });
});
