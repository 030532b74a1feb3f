import { describe, expect, it } from 'vitest';
import { judgeDays } from '../../../../functions/days/judge.ts';
import { daysOf } from '../../../../functions/workflow/request/dates.ts';
import { findAdvertiserGaps } from '../../../../infra/operate/days/advertiser-gaps.ts';
import type { JudgedRange } from '../../../../infra/operate/days/judge-export.ts';
import type { RecordedExport } from '../../../../infra/operate/days/read-export.ts';

const DAYS = daysOf({ start_date: '2026-10-01', end_date: '2026-11-01' });
const [old, middle, newest] = ['lists/2026-10-01', 'lists/2026-10-20', 'lists/2026-11-01'] as const;

const [a, b, c] = ['01', '02', '03'].map((end) => `7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d${end}`) as [
  string,
  string,
  string,
];

/** Lists of advertisers by their keys. */
const LISTS: Record<string, string> = {
  [old]: listOf(a, b),
  [middle]: listOf(a),
  [newest]: listOf(a, b, c),
  damaged: '{"version":"1","exec',
};

function listOf(...advertiser_ids: string[]): string {
  return JSON.stringify({ version: '1', execution: 'e', advertiser_ids });
}

/** The first and the last day of a window in October, the hour of its report, and what that was asked for. */
type Asked = readonly [
  first: number,
  last: number,
  hour: number,
  key?: string | undefined,
  ...refused: string[],
];

/** Asks for the advertisers that the reports of these windows are without. @param keys of windows */
async function find(windows: readonly Asked[], keys: readonly string[] = []) {
  const read: string[] = [];
  const deliveries = windows.map(([first, last, hour, key, ...refused]) => ({
    start_date: DAYS[first - 1] ?? '',
    end_date: DAYS[last] ?? '2026-11-01',
    request_hash: 'h',
    report_id: `r-${hour}`,
    created_at: `2026-11-02T${String(hour).padStart(2, '0')}:00:00Z`,
    manifest: {
      advertisers: key && {
        key,
        ...(refused.length > 0 && { refused: { count: refused.length, advertiser_ids: refused } }),
      },
    },
  }));
  const recorded = { request: { name: 'daily', account: 'acme' } };
  const store = {
    list: async () => [...keys],
    async getText(key: string) {
      read.push(key);
      return LISTS[key];
    },
  };
  const days = judgeDays(DAYS, { deliveries, hash: 'h' }) as unknown as JudgedRange['days'];
  const folder = { local: true, out: 'out' } as const;
  return { gaps: await findAdvertiserGaps(recorded as unknown as RecordedExport, days, store, folder), read };
}

const range = (start_date: string, end_date: string, days: number, lacked: string) => {
  return { start_date, end_date, days, reason: `without ${lacked}` };
};
const RUN = 'npm run export -- run daily --account acme';

describe('54: newcomers', () => {
  it('are those of the newest list that the reports of some days are without', async () => {
    const { gaps } = await find([
      [1, 9, 1, old],
      [10, 19, 2, middle],
      [20, 31, 3, newest],
    ]);
    expect(gaps.newcomers).toEqual({
      advertiser_ids: [b, c],
      words: `19 days are without some of 2 new advertisers: ${b}, ${c}`,
      aim: 'To export them with the new advertisers:',
      ranges: [
        range('2026-10-01', '2026-10-10', 9, `1 new advertiser: ${c}`),
        range('2026-10-10', '2026-10-20', 10, `2 new advertisers: ${b}, ${c}`),
      ],
      command: `${RUN} --from 2026-10-01 --to 2026-10-20 --local`,
    });
  });

  it('have a command from the first exported day on', async () => {
    const oldest =
      'exports/account=acme/export=daily/start_date=2025-02-03/end_date=2025-03-01/_manifest.json';
    const { gaps } = await find(
      [
        [1, 9, 1, old],
        [10, 31, 2, newest],
      ],
      [oldest],
    );
    expect(gaps.newcomers?.command).toBe(`${RUN} --from 2025-02-03 --to 2026-10-10 --local`);
  });

  it('are gone once newer reports of all these days have them', async () => {
    const { gaps } = await find([
      [1, 19, 1, old],
      [20, 31, 3, newest],
      [1, 19, 4, newest],
    ]);
    expect(gaps).toEqual({ damaged: [] });
  });

  it('need no list to be read if all reports are of one', async () => {
    const { gaps, read } = await find([
      [1, 19, 1, newest],
      [20, 31, 3, newest],
    ]);
    expect({ gaps, read }).toEqual({ gaps: { damaged: [] }, read: [] });
  });

  it.each([
    ['without a list', undefined],
    ['whose list was removed', 'removed'],
    ['whose list is damaged', 'damaged'],
  ])('do not count days %s', async (_, key) => {
    const { gaps } = await find([
      [1, 19, 1, key],
      [20, 31, 3, newest],
    ]);
    expect(gaps).toEqual({ damaged: key === 'damaged' ? ['damaged'] : [] });
  });

  it('do not count an advertiser that has gone', async () => {
    const { gaps } = await find([
      [1, 19, 1, old],
      [20, 31, 3, middle],
    ]);
    expect(gaps.newcomers).toBeUndefined();
  });
});

describe('54: refused advertisers', () => {
  it('are named with the days whose newest report is without them', async () => {
    const { gaps } = await find([
      [1, 9, 1, newest, b],
      [5, 7, 2, newest],
      [10, 10, 1, newest, b, c],
    ]);
    expect(gaps).toEqual({
      damaged: [],
      refused: {
        advertiser_ids: [b, c],
        words: `7 days are without some of 2 advertisers that the platform refused: ${b}, ${c}`,
        aim: 'To export them again, once the platform grants these advertisers:',
        ranges: [
          range('2026-10-01', '2026-10-05', 4, `1 advertiser that the platform refused: ${b}`),
          range('2026-10-08', '2026-10-10', 2, `1 advertiser that the platform refused: ${b}`),
          range('2026-10-10', '2026-10-11', 1, `2 advertisers that the platform refused: ${b}, ${c}`),
        ],
        command: `${RUN} --from 2026-10-01 --to 2026-10-11 --local`,
      },
    });
  });
});
