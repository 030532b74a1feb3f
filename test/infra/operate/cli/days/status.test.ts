import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { platformName } from '../../../../../functions/decisions/request-hash.ts';
import { manifestKey, runKey } from '../../../../../functions/workflow/keys.ts';
import { addDays } from '../../../../../functions/workflow/request/dates.ts';
import { type ExportRequest, parseRequest } from '../../../../../functions/workflow/request/request.ts';
import { describeStatus } from '../../../../../infra/operate/cli/days/status.ts';
import { describeDamage } from '../../../../../infra/operate/days/damage.ts';
import type { MissingDays } from '../../../../../infra/operate/days/missing-days.ts';
import { requestOf as configuredRequest } from '../../../../../infra/stack/config/exports.ts';
import { readConfig } from '../../../../../infra/stack/config/read-config.ts';
import { runCommand } from '../../../../support/cli.ts';
import { shownDay, writeParquet } from '../../../../support/ledger-rows.ts';
import { manifestOf } from '../../../../support/manifests.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { leaveRun } from '../../days/deliveries.ts';
import { FAILED, FAILURE, NAME, RUNNING, startBucket } from '../../executions/operated-executions.ts';
import { startExecutions } from '../../executions/step-functions.ts';

const DAILY = 'exports/account=acme/export=daily-campaigns';

function requestOf(name: string, start_date: string, end_date: string, account = 'acme') {
  const advertiser_ids = ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'];
  const input = { name, account, start_date, end_date, advertiser_ids, metrics: ['spend'] };
  return parseRequest(input, new Date()).request;
}

/** What `missing` finds of 61 days, which are all there by default. */
function daysOf(fields: Partial<MissingDays> = {}): MissingDays {
  return {
    outcome: 'ok',
    account: 'acme',
    name: 'daily',
    start_date: '2026-10-01',
    end_date: '2026-12-01',
    days: 61,
    counts: { missing: 0, behind: 0, held: 0, older: 0, there: 61 },
    ranges: [],
    runs: [],
    damaged: [],
    ...fields,
  };
}

/** Reads the exports from `status --json`. */
async function readStatus(...args: string[]) {
  const { status, stdout, stderr } = await runCommand(['status', '--json', ...args]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout).exports;
}

describe('status', () => {
  // After the run of the day, by the config's schedule.
  beforeEach(() => void vi.useFakeTimers({ now: new Date('2026-11-28T12:00:00Z'), toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  describe('of an export of which a run failed while another one runs, and one that never ran', () => {
    const faults = ['dimensions[0]: is unknown.'];
    const happened = 'No report became READY. dimensions[0]: is unknown.';

    async function startTwoExports() {
      const { called } = await startExecutions([RUNNING, FAILED]);
      const later = { ...FAILURE, faults, failed_at: '2026-11-20T07:30:00Z' };
      await startBucket({
        [`${DAILY}/start_date=2026-10-05/end_date=2026-10-10/_manifest.json`]: manifestOf(
          requestOf('daily-campaigns', '2026-10-05', '2026-10-10'),
        ),
        [`${DAILY}/start_date=2026-10-01/end_date=2026-11-15/_failure.json`]: later,
        [`${DAILY}/start_date=2026-11-15/end_date=2026-12-01/_failure.json`]: FAILURE,
      });
      const [daily, monthly, ...others] = await readStatus();
      expect(others).toEqual([]);
      return { called, daily, monthly };
    }

    it('reads no execution that has ended', async () => {
      const { called } = await startTwoExports();
      expect(called).toEqual(['ListExecutions', 'DescribeExecution']);
    });

    it('shows what runs, the last run, the newest day, the missing days and the last failure', async () => {
      const { daily } = await startTwoExports();
      expect(daily).toEqual({
        account: 'acme',
        export: 'daily-campaigns',
        running: [NAME],
        last: { execution: 'daily-1', outcome: 'failed', error: 'ReportStuck', at: '2026-11-20T07:30:00Z' },
        newest_day: '2026-10-09',
        months: [],
        closed: [],
        damaged: [],
        // From the first day that was delivered to the last one that a run was due to bring.
        days: expect.objectContaining({
          start_date: '2026-10-05',
          end_date: '2026-11-28',
          counts: { missing: 49, behind: 5, held: 0, older: 0, there: 0 },
          ranges: [
            expect.objectContaining({ state: 'behind', file_gone: true }),
            expect.objectContaining({
              reason: 'failed',
              end_date: '2026-11-15',
              problem: `ReportStuck: ${happened}`,
            }),
            expect.objectContaining({ reason: 'failed', end_date: '2026-11-28' }),
          ],
          runs: [],
        }),
        failure: {
          start_date: '2026-10-01',
          end_date: '2026-11-15',
          error: 'ReportStuck',
          happened,
          todo: 'Ask the platform.',
          at: '2026-11-20T07:30:00Z',
          execution: 'daily-1',
          key: `${DAILY}/start_date=2026-10-01/end_date=2026-11-15/_failure.json`,
        },
      });
    });

    it('shows the days that were due of the export that never ran', async () => {
      const { monthly } = await startTwoExports();
      expect(monthly).toEqual({
        account: 'globex',
        export: 'monthly-totals',
        running: [],
        months: [],
        closed: [],
        damaged: [],
        days: expect.objectContaining({
          start_date: '2026-10-01',
          end_date: '2026-11-01',
          ranges: [expect.objectContaining({ reason: 'never', days: 31 })],
        }),
      });
    });
  });

  describe('of runs of which one is to be started by a running execution of several accounts', () => {
    const parent = 'daily-campaigns-all';
    const left = { execution: 'left', missing: 7, not_renewed: 0 };
    beforeEach(async () => {
      const request = requestOf('daily-campaigns', '2026-11-01', '2026-11-08');
      const { start_date, end_date } = request;
      const windows = [{ start_date, end_date }];
      const common = { version: '1', began_at: '2026-11-20T06:00:00Z', request, windows };
      await startExecutions([{ name: parent, status: 'RUNNING', begun: 0, input: { accounts: [] } }]);
      await startBucket({
        [runKey(request, 'waiting')]: { ...common, execution: 'waiting', parent },
        [runKey(request, 'left')]: { ...common, execution: 'left', parent: 'failed before' },
      });
    });

    it('shows the execution as running, and the other run as one that did not finish', async () => {
      const [status] = await readStatus('daily-campaigns');
      expect(status.running).toEqual([parent]);
      const command = "npm run export -- resume 'failed before'";
      expect(status.days.runs).toMatchObject([{ ...left, command }]);
    });

    it('missing lists both in JSON', async () => {
      const { stdout } = await runCommand(['missing', 'daily-campaigns', '--json']);
      expect(JSON.parse(stdout)).toMatchObject({
        running: [{ execution: parent, start_date: '2026-11-01', end_date: '2026-11-08' }],
        runs: [left],
      });
    });

    it('missing prints a line about the running one', async () => {
      const { stdout } = await runCommand(['missing', 'daily-campaigns']);
      expect(stdout).toContain(`The run of 2026-11-01 to 2026-11-07 is running: ${parent}\n`);
    });
  });

  it.each(['monthly-totals', 'acme/daily-campaigns'])('shows one export: %s', async (name) => {
    await startExecutions([]);
    await startBucket({});
    expect(await readStatus(name)).toHaveLength(1);
  });

  it('names the exports that there are, if there is none of this name', async () => {
    await startExecutions([]);
    await startBucket({});
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
    const [intact, damaged] = [5, 6].map((day) =>
      requestOf('daily-campaigns', `2026-10-0${day}`, `2026-10-0${day + 1}`),
    ) as [ExportRequest, ExportRequest];
    const key = manifestKey(damaged, damaged);
    await startBucket({
      [manifestKey(intact, intact)]: manifestOf(intact, 'daily-0'),
      [key]: Buffer.from(content),
    });
    const [daily, monthly] = await readStatus();
    expect(daily).toMatchObject({ newest_day: '2026-10-05', damaged: [key] });
    expect(monthly.damaged).toEqual([]);
    const { stdout } = await runCommand(['status', 'daily-campaigns']);
    expect(stdout).toContain(`  damaged     ${describeDamage(key)}\n`);
  });

  it.each([
    ['runs', [RUNNING], []],
    [
      'was killed',
      [],
      [{ execution: NAME, missing: 0, not_renewed: 1, command: `npm run export -- resume ${NAME}` }],
    ],
  ])('lists the run of a day, which is there, as one that did not finish if it %s: %#', async (_, executions, runs) => {
    const { exports, base_url, revision } = readConfig();
    const asked = parseRequest(configuredRequest(exports[0] ?? {}), new Date()).request;
    const { end_date } = asked;
    const request = { ...asked, start_date: addDays(end_date, -1) };
    const target = { platform: platformName(base_url), revision };
    const manifest = { ...manifestOf(request, 'daily-0', target), version_id: undefined };
    const { start_date: day, report_created_at: created_at, request_hash } = manifest;
    const shown = shownDay({ created_at, request_hash });
    const file = join(temporaryDirectory(), 'month.parquet');
    await writeParquet(file, 'SELECT 1 AS spend', { days: JSON.stringify({ [day]: shown }) });
    await startExecutions(executions);
    const windows = [{ start_date: day, end_date }];
    const run = { version: '1', execution: NAME, began_at: new Date().toISOString(), request, windows };
    await startBucket({
      [`tables/daily-campaigns/acme.${day.slice(0, 'YYYY-MM'.length)}.parquet`]: readFileSync(file),
      [manifestKey(request, request)]: manifest,
      [runKey(request, NAME)]: run,
    });
    const [daily] = await readStatus('daily-campaigns');
    expect(daily.days).toMatchObject({ days: 1, counts: { there: 1 }, runs });
    expect(daily.days.runs).toHaveLength(runs.length);
  });
});

it('advises what fits this machine', async () => {
  const out = temporaryDirectory();
  const write = async (path: string, content: unknown) => {
    await mkdir(dirname(join(out, path)), { recursive: true });
    await writeFile(join(out, path), JSON.stringify(content));
  };
  const { name: _, ...request } = requestOf('daily', '2026-10-01', '2026-10-02');
  await leaveRun(out, { ...request, name: 'daily', max_parallel: undefined });
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

describe('the text of an export', () => {
  const status = {
    account: 'acme',
    name: 'daily',
    running: ['e-2'],
    newest_day: '2026-11-20',
    last: { execution: 'e-1', outcome: 'failed', error: 'ReportStuck', at: '2026-11-20T07:30:00Z' },
    missing: daysOf({
      counts: { missing: 2, behind: 0, held: 1, older: 3, there: 55 },
      runs: [
        {
          execution: 'e-0',
          began_at: '2026-11-20T06:00:00Z',
          start_date: '2025-01-01',
          end_date: '2026-01-01',
          missing: 135,
          not_renewed: 12,
          command: 'npm run export -- resume e-0',
        },
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
      start_date: '2026-11-01',
      end_date: '2026-11-02',
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
    '  days        2 of 61 days are missing, 1 held, 3 of an older request',
    '  unfinished  the run of 2025-01-01 to 2025-12-31 did not finish: 135 days are missing, 12 were not renewed',
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
    '  finish      npm run export -- resume e-0',
    '  export      npm run export -- run daily',
    '  export      npm run export -- run refused',
    '  see         npm run export -- explain e-1',
  ];
  /** The same export, before its first run. */
  const unused = {
    ...status,
    running: [],
    last: undefined,
    newest_day: undefined,
    missing: daysOf({ days: 0 }),
    months: [],
    ledger: { ...status.ledger, closed: [] },
    newcomers: undefined,
    refused: undefined,
    damaged: [],
    failure: undefined,
  };

  it('has a line for each fact, and ends with the commands that tell more', () => {
    expect(describeStatus(status)).toEqual([...lines, missing, ...others]);
  });

  it('names the folder in the commands of a local run, and no execution to explain', () => {
    const commands = [`${missing} --local --out o`, ...others.slice(0, 3)];
    expect(describeStatus(status, { local: true, out: 'o' })).toEqual([...lines, ...commands]);
  });

  it('says that nothing is there before the first run', () => {
    expect(describeStatus(unused)).toEqual([
      'acme/daily',
      '  last run    none has ended',
      '  newest day  nothing is delivered yet',
      '  days        No day was due yet',
    ]);
  });

  it('says that all days are there', () => {
    const complete = { ...unused, newest_day: '2026-11-20', missing: daysOf() };
    expect(describeStatus(complete)).toContain('  days        All 61 days are there');
  });
});
