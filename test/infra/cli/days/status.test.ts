import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { platformName } from '../../../../functions/decisions/request-hash.ts';
import { manifestKey, planKey } from '../../../../functions/workflow/keys.ts';
import { addDays } from '../../../../functions/workflow/request/dates.ts';
import { type ExportRequest, parseRequest } from '../../../../functions/workflow/request/request.ts';
import { describeStatus } from '../../../../infra/cli/days/status.ts';
import { requestOf as configuredRequest } from '../../../../infra/config/exports.ts';
import { readConfig } from '../../../../infra/config/read-config.ts';
import { describeDamage } from '../../../../infra/knowledge/damage.ts';
import type { LackingDays, MissingDays } from '../../../../infra/knowledge/missing-days.ts';
import { runCommand } from '../../../support/cli.ts';
import { shownDay, writeParquet } from '../../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { plan } from '../../knowledge/deliveries.ts';
import {
  FAILED,
  FAILURE,
  NAME,
  RUNNING,
  startBucket,
} from '../../knowledge/executions/operated-executions.ts';
import { startExecutions } from '../../knowledge/executions/step-functions.ts';
import { manifestOf } from '../../knowledge/manifests.ts';

const DAILY = 'exports/account=acme/export=daily-campaigns';

function range(start_date: string, end_date: string, days: number) {
  return { start_date, end_date, days, reason: 'absent' as const };
}

function requestOf(name: string, start_date: string, end_date: string, account = 'acme') {
  const advertiser_ids = ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'];
  const input = { name, account, start_date, end_date, advertiser_ids, metrics: ['spend'] };
  return parseRequest(input, new Date()).request;
}

/** The days of an export that lack something. */
function lacking(ranges: Partial<LackingDays>): MissingDays {
  const days = {
    ...range('2026-10-01', '2026-12-01', 61),
    outcome: 'ok' as const,
    account: 'acme',
    name: 'daily',
    damaged: [],
  };
  const none = { not_delivered: [], not_in_table: [], not_renewed: [], held: [], older_request: [] };
  const lacks = { ...none, ...ranges };
  const counts = Object.fromEntries(
    Object.entries(lacks).map(([lack, all]) => [lack, all.reduce((sum, { days }) => sum + days, 0)]),
  ) as MissingDays['counts'];
  return { ...days, counts, ...lacks };
}

/** Reads the exports from `status --json`. */
async function readStatus(...args: string[]) {
  const { status, stdout, stderr } = await runCommand(['status', '--json', ...args]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout).exports;
}

describe('status', () => {
  it('shows of each export what runs, the last run, the newest day, the missing days and the last failure', async () => {
    const { called } = await startExecutions([RUNNING, FAILED]);
    const faults = ['dimensions[0]: is unknown.'];
    const later = { ...FAILURE, faults, failed_at: '2026-11-20T07:30:00Z' };
    await startBucket({
      [`${DAILY}/start_date=2026-10-05/end_date=2026-10-10/_manifest.json`]: manifestOf(
        requestOf('daily-campaigns', '2026-10-05', '2026-10-10'),
      ),
      [`${DAILY}/start_date=2026-10-01/end_date=2026-11-15/_failure.json`]: later,
      [`${DAILY}/start_date=2026-11-15/end_date=2026-12-01/_failure.json`]: FAILURE,
    });
    const exports = await readStatus();
    // It reads no execution that has ended.
    expect(called).toEqual(['ListExecutions', 'DescribeExecution']);
    expect(exports).toEqual([
      {
        account: 'acme',
        export: 'daily-campaigns',
        running: [NAME],
        last: { execution: 'daily-1', outcome: 'failed', error: 'ReportStuck', at: '2026-11-20T07:30:00Z' },
        newest_day: '2026-10-09',
        months: [],
        closed: [],
        damaged: [],
        days: expect.objectContaining({
          not_delivered: [
            expect.objectContaining({ reason: 'other_request' }),
            expect.objectContaining({ reason: 'failed' }),
          ],
        }),
        failure: {
          start_date: '2026-10-01',
          end_date: '2026-11-15',
          failed: true,
          error: 'ReportStuck',
          happened: 'No report became READY. dimensions[0]: is unknown.',
          todo: 'Ask the platform.',
          at: '2026-11-20T07:30:00Z',
          execution: 'daily-1',
          key: `${DAILY}/start_date=2026-10-01/end_date=2026-11-15/_failure.json`,
        },
      },
      {
        account: 'globex',
        export: 'monthly-totals',
        running: [],
        months: [],
        closed: [],
        damaged: [],
        days: expect.objectContaining({ not_delivered: [expect.objectContaining({ reason: 'absent' })] }),
      },
    ]);
  });

  it('shows one export', async () => {
    await startExecutions([]);
    await startBucket({});
    expect(await readStatus('monthly-totals')).toHaveLength(1);
    expect(await readStatus('acme/daily-campaigns')).toHaveLength(1);
    expect(await runCommand(['status', 'daily'])).toMatchObject({
      status: 2,
      stderr: 'error: there is no export daily in cdk.json (there are daily-campaigns, monthly-totals)\n',
    });
  });

  it.each([
    '{"version":"1"}',
    'half of',
  ])('names a damaged manifest, and shows the rest: %s', async (content) => {
    await startExecutions([]);
    const [request, other] = [5, 6].map((day) =>
      requestOf('daily-campaigns', `2026-10-0${day}`, `2026-10-0${day + 1}`),
    ) as [ExportRequest, ExportRequest];
    const key = manifestKey(other, other);
    await startBucket({
      [manifestKey(request, request)]: manifestOf(request, 'daily-0'),
      [key]: Buffer.from(content),
    });
    const [daily, monthly] = await readStatus();
    expect(daily).toMatchObject({ newest_day: '2026-10-05', damaged: [key] });
    expect(monthly.damaged).toEqual([]);
    const { stdout } = await runCommand(['status', 'daily-campaigns']);
    expect(stdout).toContain(`  damaged     ${describeDamage(key)}\n`);
  });

  it.each([
    ['runs', [RUNNING], 0],
    ['was killed', [], 1],
  ])('counts days as not renewed if their newer execution %s: %#', async (_, executions, count) => {
    const { exports, base_url, revision } = readConfig();
    const asked = parseRequest(configuredRequest(exports[0] ?? {}), new Date()).request;
    const request = { ...asked, start_date: addDays(asked.end_date, -1) };
    const target = { platform: platformName(base_url), revision };
    const { request_hash, ...manifest } = manifestOf(request, 'daily-0', target);
    // After the manifest, which is of 06:00 UTC: in Berlin, that may be still to come.
    const since = `${request.end_date}T07:00:00Z`;
    const plan = { version: '1', execution: NAME, since, request_hash, request };
    const { start_date: day, report_created_at: created_at } = manifest;
    const shown = shownDay({ created_at, request_hash });
    const file = join(temporaryDirectory(), 'month.parquet');
    await writeParquet(file, 'SELECT 1 AS spend', { days: JSON.stringify({ [day]: shown }) });
    await startExecutions(executions);
    await startBucket({
      [`tables/daily-campaigns/acme.${day.slice(0, 'YYYY-MM'.length)}.parquet`]: readFileSync(file),
      [manifestKey(request, request)]: { ...manifest, request_hash },
      [planKey(request, request)]: plan,
    });
    const [daily] = await readStatus('daily-campaigns');
    expect(daily?.days?.counts.not_renewed).toBe(count);
  });
});

it('advises what fits this machine', async () => {
  const out = temporaryDirectory();
  const write = async (path: string, content: unknown) => {
    await mkdir(dirname(join(out, path)), { recursive: true });
    await writeFile(join(out, path), JSON.stringify(content));
  };
  const { name: _, ...request } = requestOf('daily', '2026-10-01', '2026-10-02');
  await plan(out, { ...request, name: 'daily', max_parallel: undefined });
  const failure = { ...FAILURE, error: 'LoginRequired' };
  const window = 'bucket/exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-10-02';
  await write(`${window}/_failure.json`, failure);
  await write('platform.json', { baseUrl: 'https://ads.example', credential: 'c.json' });
  const { stdout } = await runCommand(['status', '--local', '--out', out]);
  expect(stdout).toContain(
    'What to do: Log in again (npm run export -- login --account acme --local ' +
      '--base-url https://ads.example --credential c.json), then run the export again.\n',
  );
});

it('refuses --out without --local', async () => {
  expect(await runCommand(['status', '--out', 'x'])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--out can only be used with --local'),
  });
});

const CLOSED = {
  month: '2026-09',
  closed_on: '2026-10-09',
  days: 4,
  changes: { clicks: -3, ctr: 0.4, rows: 2, spend: 312.2 },
};

it('the text has a line for each fact, and ends with the commands that tell more', () => {
  const status = {
    account: 'acme',
    name: 'daily',
    running: ['e-2'],
    newest_day: '2026-11-20',
    last: { execution: 'e-1', outcome: 'failed', error: 'ReportStuck', at: '2026-11-20T07:30:00Z' },
    missing: lacking({
      not_delivered: [range('2026-11-01', '2026-11-03', 2)],
      held: [{ ...range('2026-10-05', '2026-10-06', 1), reason: 'held' }],
      older_request: [
        { ...range('2026-10-07', '2026-10-10', 3), reason: 'older_request', problem: 'without clicks' },
      ],
    }),
    months: [
      { month: '2026-10', final: 31, changing: 0, unverified: 0, lacking: 0 },
      { month: '2026-11', final: 3, changing: 14, unverified: 1, lacking: 2 },
    ],
    ledger: {
      days: new Map(),
      curve: [],
      compared: [],
      damaged: [],
      closed: [CLOSED, { ...CLOSED, month: '2026-10', days: 0 }],
    },
    newcomers: {
      advertiser_ids: ['a'],
      words: '2 days are without 1 new advertiser: a',
      aim: 'To export them:',
      ranges: [],
      command: 'npm run export -- run daily',
    },
    refused: {
      advertiser_ids: ['b'],
      words: '1 day is without 1 advertiser that the platform refused: b',
      aim: 'To export them:',
      ranges: [],
      command: 'npm run export -- run refused',
    },
    damaged: ['k/_manifest.json'],
    failure: {
      ...range('2026-11-01', '2026-11-02', 1),
      at: '2026-11-20T07:30:00Z',
      error: 'ReportStuck',
      happened: 'It hung.',
      todo: 'Ask.',
      execution: 'e-1',
      key: 'k',
    },
  } as const;
  const lines = [
    'acme/daily',
    '  running     e-2',
    '  last run    failed: ReportStuck, 2026-11-20 07:30 UTC, e-1',
    '  newest day  2026-11-20',
    '  days        2 of 61 days are not delivered, 1 held, 3 of an older request until 2026-10-09 without clicks',
    '  2026-10     final',
    '  2026-11     1 day unverified, 14 days changing, 2 days lacking',
    '  2026-09     closed on 2026-10-09; since the close: 4 days, spend +312.20, clicks -3',
    '  2026-10     closed on 2026-10-09, unchanged since',
    '  newcomers   2 days are without 1 new advertiser: a',
    '  refused     1 day is without 1 advertiser that the platform refused: b',
    `  damaged     ${describeDamage('k/_manifest.json')}`,
    '  failure     2026-11-20 07:30 UTC, ReportStuck: It hung. What to do: Ask.',
  ];
  const missing = '  see         npm run export -- missing daily --account acme';
  const others = [
    '  export      npm run export -- run daily',
    '  export      npm run export -- run refused',
    '  see         npm run export -- explain e-1',
  ];
  expect(describeStatus(status)).toEqual([...lines, missing, ...others]);
  expect(describeStatus(status, { local: true, out: 'o' })).toEqual([
    ...lines,
    `${missing} --local --out o`,
    ...others.slice(0, 2),
  ]);
  const none = { last: undefined, newest_day: undefined, newcomers: undefined, failure: undefined };
  const fine = { refused: undefined, damaged: [] };
  const unused = { running: [], months: [], ledger: { ...status.ledger, closed: [] }, ...none };
  expect(describeStatus({ ...status, ...unused, ...fine, missing: lacking({}) })).toEqual([
    'acme/daily',
    '  last run    none has ended',
    '  newest day  nothing is delivered yet',
    '  days        No day of the request is over',
  ]);
  const complete = { ...status, ...unused, newest_day: '2026-11-20', missing: lacking({}) };
  expect(describeStatus(complete)).toContain('  days        All 61 days are there');
});
