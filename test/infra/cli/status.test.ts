import { describe, expect, it } from 'vitest';
import { subtractDays } from '../../../infra/cli/days.ts';
import type { ExecutionSummary } from '../../../infra/cli/executions.ts';
import { describeStatus, type ExportStatus, findMissingDays, nextStart } from '../../../infra/cli/status.ts';
import type { ConfiguredExport } from '../../../infra/config.ts';
import { runCommand } from '../../support/cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { FAILED, FAILURE, NAME, RUNNING, startBucket, startExecutions } from './operated-executions.ts';

const DAILY = 'exports/account=acme/export=daily-campaigns';

function range(start_date: string, end_date: string) {
  return { start_date, end_date };
}

/** What `status --json` prints about the exports. */
async function readStatus(cwd: string, ...args: string[]): Promise<ExportStatus[]> {
  const { status, stdout, stderr } = await runCommand(['status', '--json', ...args], undefined, cwd);
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout).exports;
}

describe('status', () => {
  it('shows of each export what runs, the last run, the newest day, the missing days and the last failure', async () => {
    await startExecutions([RUNNING, FAILED]);
    const later = {
      ...FAILURE,
      timeline: [{ outcome: 'ready', from: 'x', to: '2026-11-20T07:30:00Z', times: 1 }],
    };
    const cwd = await startBucket({
      [`${DAILY}/start_date=2026-10-01/end_date=2026-11-10/_manifest.json`]: {},
      [`${DAILY}/start_date=2026-10-01/end_date=2026-11-15/_failure.json`]: later,
      [`${DAILY}/start_date=2026-11-15/end_date=2026-12-01/_failure.json`]: { ...FAILURE, timeline: [] },
    });
    const exports = await readStatus(cwd);
    expect(exports).toEqual([
      {
        ...{ account: 'acme', export: 'daily-campaigns', running: [NAME] },
        last: expect.objectContaining({ execution: 'daily-1', outcome: 'failed', seconds: 5_400 }),
        newest_day: '2026-11-09',
        // The failed execution asked for them.
        missing: [range('2026-11-10', '2026-12-01')],
        schedule: {
          ...{ expression: 'cron(0 6 * * ? *)', time_zone: 'Europe/Berlin', enabled: true },
          next_start: expect.stringMatching(/T0[45]:00:00.000Z$/),
        },
        failure: {
          ...{ error: 'ReportStuck', happened: 'No report became READY.', todo: 'Ask the platform.' },
          ...{ at: '2026-11-20T07:30:00Z', execution: 'daily-1' },
          key: `${DAILY}/start_date=2026-10-01/end_date=2026-11-15/_failure.json`,
        },
      },
      {
        ...{ account: 'globex', export: 'monthly-totals', running: [], missing: [] },
        schedule: {
          ...{ expression: 'cron(0 7 2 * ? *)', time_zone: 'UTC', enabled: true },
          next_start: expect.stringMatching(/-02T07:00:00.000Z$/),
        },
      },
    ]);
  });

  it('shows one export', async () => {
    await startExecutions([{ ...FAILED, input: { name: 'by-hand', account: 'acme' } }]);
    const cwd = await startBucket({});
    expect(await readStatus(cwd, 'monthly-totals')).toHaveLength(1);
    expect(await readStatus(cwd, 'acme/by-hand')).toMatchObject([{ export: 'by-hand', running: [] }]);
    const { status, stderr } = await runCommand(['status', 'daily'], undefined, cwd);
    expect([status, stderr]).toEqual([
      2,
      'error: there is no export daily (there are acme/daily-campaigns, globex/monthly-totals, acme/by-hand)\n',
    ]);
  });

  it('misses no days between the snapshots of a list', async () => {
    await startExecutions([]);
    const prefix = 'exports/account=globex/export=monthly-totals';
    const snapshot = (start: string, end: string) => `${prefix}/start_date=${start}/end_date=${end}`;
    const cwd = await startBucket({
      [`${snapshot('2026-10-01', '2026-10-02')}/campaigns.ndjson`]: {},
      [`${snapshot('2026-10-01', '2026-10-02')}/_manifest.json`]: {},
      [`${snapshot('2026-11-01', '2026-11-02')}/_manifest.json`]: {},
    });
    const [status] = await readStatus(cwd, 'monthly-totals');
    expect(status).toHaveProperty('newest_day', '2026-11-01');
    expect(status).not.toHaveProperty('missing');
  });

  it('exits 2 if nothing was deployed from here', async () => {
    const { status, stderr } = await runCommand(['status'], undefined, temporaryDirectory());
    expect([status, stderr]).toEqual([2, expect.stringContaining("run 'npm run deploy'")]);
  });
});

describe('the missing days', () => {
  const entry = {
    ...{
      name: 'daily',
      account: 'acme',
      period: 'yesterday',
      time_zone: 'Europe/Berlin',
      metrics: ['spend'],
    },
    advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
    schedule: { expression: 'cron(0 6 * * ? *)', expect_every_hours: 24, enabled: true },
  } satisfies ConfiguredExport;
  const asked = (start_date: string, end_date: string): ExecutionSummary => ({
    ...{ execution: 'e', outcome: 'failed', start_date, end_date },
  });
  const delivered = [range('2026-11-01', '2026-11-10'), range('2026-11-09', '2026-11-11')];
  const at = (time: string) => new Date(`2026-11-${time}Z`);

  it.each([
    ['before the schedule is due', '12T05:00:00', []],
    ['a day after the schedule was due', '13T05:00:00', [range('2026-11-11', '2026-11-12')]],
    ['after midnight in the time zone of the export', '13T23:00:00', [range('2026-11-11', '2026-11-13')]],
  ])('are those that are due %s', (_, now, missing) => {
    expect(findMissingDays(delivered, [], entry, at(now))).toEqual(missing);
  });

  it('are those that an execution asked for, without the days between', () => {
    const executions = [asked('2026-10-01', '2026-10-03'), asked('2026-11-10', '2026-11-13')];
    expect(findMissingDays(delivered, executions, undefined, at('20T00:00:00'))).toEqual([
      ...[range('2026-10-01', '2026-10-03'), range('2026-11-11', '2026-11-13')],
    ]);
  });

  it('are gaps between delivered windows', () => {
    const windows = [range('2026-09-01', '2026-10-01'), range('2026-10-03', '2026-11-01')];
    expect(findMissingDays(windows, [], undefined, at('20T00:00:00'))).toEqual([
      range('2026-10-01', '2026-10-03'),
    ]);
  });

  it('are none after the last delivery if the schedule is switched off', () => {
    const off = { ...entry, schedule: { ...entry.schedule, enabled: false } };
    expect(findMissingDays(delivered, [], off, at('20T00:00:00'))).toEqual([]);
  });

  it('are none before the first run', () => {
    expect(findMissingDays([], [], entry, at('20T00:00:00'))).toEqual([]);
  });

  it('end on the day before the end of a range', () => {
    expect(subtractDays([range('2026-02-27', '2026-03-02')], [range('2026-02-28', '2026-03-01')])).toEqual([
      ...[range('2026-02-27', '2026-02-28'), range('2026-03-01', '2026-03-02')],
    ]);
  });
});

describe('the text', () => {
  const status: ExportStatus = {
    ...{ account: 'acme', export: 'daily', running: ['e-2'], newest_day: '2026-11-20' },
    last: {
      ...{ execution: 'e-1', outcome: 'failed', error: 'ReportStuck', seconds: 5_400 },
      started_at: '2026-11-20T06:00:00.000Z',
    },
    missing: [range('2026-11-01', '2026-11-03'), range('2026-11-18', '2026-11-20')],
    schedule: {
      ...{ expression: 'cron(0 6 * * ? *)', time_zone: 'Europe/Berlin', enabled: true },
      next_start: '2026-11-23T05:00:00.000Z',
    },
  };

  it('has a line for each fact', () => {
    expect(describeStatus(status, undefined, 200)).toEqual([
      'acme/daily',
      '  running     e-2',
      '  last run    failed: ReportStuck, 2026-11-20 06:00 UTC, took 1 h 30 min, e-1',
      '  newest day  2026-11-20',
      '  missing     4 days: 2026-11-01 to 2026-11-02, 2026-11-18 to 2026-11-19',
      '  schedule    cron(0 6 * * ? *) in Europe/Berlin, next at 2026-11-23 05:00 UTC',
    ]);
  });

  it('ends with the command that explains the failure, in the folder of a local run', () => {
    const failure = {
      ...{ at: '2026-11-20T07:30:00Z', error: 'ReportStuck', happened: 'It hung.', todo: 'Ask.' },
      ...{ execution: 'e-1', key: 'k' },
    };
    const shown = (folder?: { local: true; out: string }) =>
      describeStatus({ ...status, failure }, folder, 200).slice(-2);
    const first = '  failure     2026-11-20 07:30 UTC, ReportStuck: It hung. What to do: Ask.';
    expect(shown()).toEqual([first, '  more        npm run export -- explain e-1']);
    expect(shown({ local: true, out: 'o' })[1]).toBe(
      '  more        npm run export -- explain e-1 --local --out o',
    );
  });

  it('fits 40 columns', () => {
    for (const line of describeStatus(status, undefined, 40))
      expect(line.length, line).toBeLessThanOrEqual(40);
  });

  it('counts the oldest of many ranges', () => {
    const days = Array.from({ length: 14 }, (_, index) => `2026-10-${10 + index}`);
    const missing = subtractDays(
      [range('2026-10-10', '2026-10-24')],
      days
        .filter((_, index) => index % 2 === 1)
        .map((day) =>
          range(
            day,
            day.replace(/\d+$/, (n) => `${+n + 1}`),
          ),
        ),
    );
    const many = [...missing, ...missing];
    expect(describeStatus({ ...status, missing: many }, undefined, 1_000).join()).toContain(
      '14 days: 4 earlier ranges and 2026',
    );
  });
});

describe('the next start of a schedule', () => {
  // A Sunday.
  const now = new Date('2026-11-22T05:00:00Z');

  it.each([
    ['every day, by the clock of the time zone', 'cron(0 6 * * ? *)', '2026-11-23T05:00'],
    ['on a day of the month', 'cron(0 7 2 * ? *)', '2026-12-02T06:00'],
    ['from Monday to Friday', 'cron(30 0 ? * 2-6 *)', '2026-11-22T23:30'],
    ['on the first Monday of a month', 'cron(0 8 ? * 2#1 *)', '2026-12-07T07:00'],
    ['on the last day of a month', 'cron(0 8 L * ? *)', '2026-11-30T07:00'],
    ['in a year', 'cron(0/15 8-10 * * ? 2027)', '2027-01-01T07:00'],
  ])('is known %s', (_, expression, start) => {
    expect(nextStart(expression, 'Europe/Berlin', now)).toEqual({ next_start: `${start}:00.000Z` });
  });

  it('is not known of a rate, and there is none after the last year', () => {
    expect(nextStart('rate(1 day)', 'UTC', now)).toEqual({});
    expect(nextStart('cron(0 6 * * ? 2025)', 'UTC', now)).toEqual({});
  });
});
