import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../../functions/days/runs.ts';
import { failureKey, manifestKey } from '../../../../functions/workflow/keys.ts';
import { addDays, type DateRange } from '../../../../functions/workflow/request/dates.ts';
import { type ExportRequest, parseRequest } from '../../../../functions/workflow/request/request.ts';
import { type AskedDays, daysToLookAt, readDue } from '../../../../infra/operate/days/days-to-look-at.ts';
import { readExportStatus } from '../../../../infra/operate/days/export-status.ts';
import { openToRead } from '../../../../infra/operate/place/bucket.ts';
import type { ConfiguredExport } from '../../../../infra/stack/config/exports.ts';
import { createBucket } from '../../../support/manifests.ts';
import { REPORT } from '../../../support/requests.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const TODAY = '2026-11-01';
const NOW = new Date(`${TODAY}T12:00:00Z`);

function requestOf(range: DateRange, fields: object = {}): ExportRequest {
  return parseRequest({ ...REPORT, ...fields, ...range }, NOW).request;
}

/** @param days before `end_date` */
function lookBack(end_date: string, days = 28): DateRange {
  return { start_date: addDays(end_date, -days), end_date };
}

const LAST_28 = requestOf(lookBack(TODAY));

/** The first and the last day of a month that the first run was due to bring. */
const OCTOBER = { start_date: '2026-10-01', end_date: TODAY };

interface Case {
  readonly request?: ExportRequest;
  readonly due?: DateRange;
  readonly delivered?: readonly DateRange[];
  readonly failed?: readonly DateRange[];
  /** The ranges of runs that did not finish. */
  readonly runs?: readonly DateRange[];
  readonly asked?: AskedDays;
  readonly now?: Date;
}

function look({
  request = LAST_28,
  due,
  delivered = [],
  failed = [],
  runs = [],
  asked = {},
  now = NOW,
}: Case) {
  const keys = [
    ...delivered.map((window) => manifestKey(request, window)),
    ...failed.map((window) => failureKey(request, window)),
  ].sort();
  const left = runs.map((range) => ({ request: { ...request, ...range } }) as Run);
  return daysToLookAt({ request, due: due && { ...due, at: now }, keys, runs: left, asked, now });
}

const long = [lookBack('2026-03-01'), lookBack(TODAY)];

describe('the days that are looked at', () => {
  it.each<[string, Case, DateRange]>([
    ['are the last 62 of a long history', { delivered: long, due: lookBack(TODAY) }, lookBack(TODAY, 62)],
    [
      'are as many as the longest run has',
      { delivered: long, request: requestOf(lookBack(TODAY, 200)), due: lookBack(TODAY) },
      lookBack(TODAY, 200),
    ],
    [
      'begin with the first day that was delivered',
      { delivered: [lookBack('2026-10-20', 4)], due: lookBack(TODAY) },
      { start_date: '2026-10-16', end_date: TODAY },
    ],
    [
      'begin with the newest run that was due, while nothing was delivered',
      { due: lookBack(TODAY, 7), failed: [lookBack('2026-10-10')], runs: [lookBack('2026-10-10')] },
      lookBack(TODAY, 7),
    ],
    [
      'begin with the newest run that did not finish, while nothing was delivered',
      { runs: [lookBack('2026-09-10'), lookBack('2026-10-10', 5)], failed: [lookBack('2026-09-10')] },
      lookBack('2026-10-10', 5),
    ],
    [
      'begin with the newest run that failed, while nothing was delivered',
      { failed: [lookBack('2026-09-10'), lookBack('2026-10-10', 5)] },
      lookBack('2026-10-10', 5),
    ],
    ['are those of the request, if nothing ran yet', {}, lookBack(TODAY)],
    [
      'end with the last day that a run was due to bring, which need not be yesterday',
      { delivered: [lookBack('2026-10-31')], due: lookBack('2026-10-31') },
      lookBack('2026-10-31'),
    ],
    [
      'are those that were asked for, without a schedule',
      { delivered: [lookBack('2026-09-20')], failed: [lookBack('2026-09-30', 5)] },
      { start_date: '2026-08-23', end_date: '2026-09-30' },
    ],
    [
      'are also those that a run asked for which did not finish, without a schedule',
      { delivered: [lookBack('2026-09-20')], runs: [lookBack('2026-10-05', 5)] },
      { start_date: '2026-08-23', end_date: '2026-10-05' },
    ],
    ['never have today', { request: requestOf(lookBack('2026-11-09')) }, lookBack(TODAY, 20)],
    [
      'never have today in the time zone of the account',
      {
        request: requestOf(lookBack(TODAY), { time_zone: 'America/Los_Angeles' }),
        now: new Date(`${TODAY}T03:00:00Z`),
      },
      { start_date: addDays(TODAY, -28), end_date: addDays(TODAY, -1) },
    ],
    [
      'are none of an export that is still to begin',
      { request: requestOf(lookBack('2026-12-01', 5)) },
      { start_date: TODAY, end_date: TODAY },
    ],
  ])('%s', (_, looking, range) => {
    expect(look(looking)).toEqual(range);
  });

  it.each<[string, AskedDays, DateRange]>([
    ['from a day on', { from: '2026-01-05' }, { start_date: '2026-01-05', end_date: TODAY }],
    ['until a day', { to: '2026-10-05' }, lookBack('2026-10-05', 62)],
    ['from a day until a day', { from: '2026-02-01', to: '2026-02-03' }, lookBack('2026-02-03', 2)],
    ['all since the first delivery', { all: true }, { start_date: '2026-02-01', end_date: TODAY }],
  ])('are the ones that a person asks for: %s', (_, asked, range) => {
    expect(look({ delivered: long, due: OCTOBER, asked })).toEqual(range);
  });

  it('end today if a person asks for days after the last one that was due', () => {
    const asked = { from: '2026-10-20' };
    expect(look({ delivered: [lookBack('2026-10-10')], asked })).toEqual({
      start_date: '2026-10-20',
      end_date: TODAY,
    });
  });

  it.each<[AskedDays, string]>([
    [
      { from: '2026-10-20', to: '2026-10-20' },
      '--to 2026-10-20 is not after 2026-10-20: give an earlier --from',
    ],
    [{ from: '2027-01-01' }, '--from 2027-01-01 is in the future'],
  ])('cannot be none that a person asks for: %j', (asked, fault) => {
    expect(() => look({ delivered: long, due: OCTOBER, asked })).toThrow(fault);
  });
});

/** An export with runs: each has a period and a cron. */
function configured(...runs: readonly (readonly [period: string, expression: string, enabled?: boolean])[]) {
  const { start_date, end_date, ...fields } = REPORT;
  return {
    ...fields,
    runs: runs.map(([period, expression, enabled = true]) => {
      return { request: { ...fields, period }, schedule: { expression, enabled, time_zone: 'UTC' } };
    }),
  } as unknown as ConfiguredExport;
}

describe('what the runs of the config were due to bring', () => {
  const daily = ['last_28_days', 'cron(0 6 * * ? *)'] as const;
  const monthly = ['previous_month', 'cron(0 8 3 * ? *)'] as const;

  it.each([
    ['after the run of today', '12:00', { at: `${TODAY}T06:00`, ...lookBack(TODAY) }],
    ['before the run of today', '05:59', { at: '2026-10-31T06:00', ...lookBack('2026-10-31') }],
  ])('is known by their schedules: %s', (_, time, { at, ...range }) => {
    const now = new Date(`${TODAY}T${time}:00Z`);
    expect(readDue(configured(daily), now)).toEqual({ at: new Date(`${at}:00Z`), ...range });
  });

  it('is not a month whose run is still to come', () => {
    expect(readDue(configured(monthly), NOW)).toMatchObject({
      start_date: '2026-09-01',
      end_date: '2026-10-01',
    });
  });

  it('ends with the last day of any run, and begins with the days of the newest one', () => {
    const now = new Date('2026-11-03T09:00:00Z');
    expect(readDue(configured(daily, monthly), now)).toEqual({
      at: new Date('2026-11-03T08:00:00Z'),
      start_date: '2026-10-01',
      end_date: '2026-11-03',
    });
  });

  it('counts a rate as due now, and no schedule that is off', () => {
    expect(readDue(configured(['yesterday', 'rate(1 day)']), NOW)).toMatchObject({ at: NOW });
    expect(readDue(configured([...daily, false]), NOW)).toBeUndefined();
    expect(readDue(configured(), NOW)).toBeUndefined();
  });
});

it('reads no more records of a longer history', async () => {
  const readDaily = async (history: number) => {
    const { reads, deliver, store } = createBucket();
    const name = 'daily-campaigns';
    for (let ago = 0; ago < history; ago += 1) {
      const window = lookBack(addDays(TODAY, -ago));
      deliver(requestOf(window, { name }), window);
    }
    const place = { local: true, out: temporaryDirectory() } as const;
    mkdirSync(join(place.out, `bucket/exports/account=acme/export=${name}`), { recursive: true });
    await using folder = await openToRead(place);
    const { exports } = await readExportStatus(name, place, { ...folder, ...store }, NOW);
    return { records: reads.length, start_date: exports[0]?.recordedExport.range.start_date };
  };
  const year = await readDaily(365);
  // Each window that shares a day with the last 62 days.
  expect(year).toEqual({ records: expect.any(Number), start_date: lookBack(TODAY, 62).start_date });
  expect(year.records).toBeLessThan(100);
  expect(await readDaily(730)).toEqual(year);
});
