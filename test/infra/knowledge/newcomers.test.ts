import { describe, expect, it } from 'vitest';
import { daysOf } from '../../../functions/workflow/request/dates.ts';
import type { FoundExport } from '../../../infra/knowledge/exports.ts';
import { findNewcomers } from '../../../infra/knowledge/newcomers.ts';

const DAYS = daysOf({ start_date: '2026-10-01', end_date: '2026-11-01' });
const [old, middle, newest] = ['lists/2026-10-01', 'lists/2026-10-20', 'lists/2026-11-01'] as const;

/** Lists of advertisers by their keys. */
const LISTS: Record<string, object> = {
  [old]: { advertiser_ids: ['a', 'b'] },
  [middle]: { advertiser_ids: ['a'] },
  [newest]: { advertiser_ids: ['a', 'b', 'c'], newcomers: { count: 2, advertiser_ids: ['b', 'c'] } },
};

/** Asks for the newcomers of windows: first and last day of October, hour of the report, and the list. */
async function find(...windows: (readonly [first: number, last: number, hour: number, key?: string])[]) {
  const read: string[] = [];
  const deliveries = windows.map(([first, last, hour, key]) => ({
    start_date: DAYS[first - 1],
    end_date: last === 31 ? '2026-11-01' : DAYS[last],
    request_hash: 'h',
    created_at: `2026-11-02T${String(hour).padStart(2, '0')}:00:00Z`,
    manifest: { advertisers: key && { key } },
  }));
  const found = { deliveries, hash: 'h', request: { name: 'daily', account: 'acme' } };
  const store = {
    async getText(key: string) {
      read.push(key);
      return LISTS[key] && JSON.stringify({ version: '1', execution: 'e', ...LISTS[key] });
    },
  };
  const days = DAYS.map((day) => ({ day })) as unknown as Parameters<typeof findNewcomers>[1];
  const folder = { local: true, out: 'out' } as const;
  return { newcomers: await findNewcomers(found as unknown as FoundExport, days, store, folder), read };
}

describe('54: newcomers', () => {
  const range = (start_date: string, end_date: string, days: number, lacked: string) => {
    return { start_date, end_date, days, reason: `without ${lacked}` };
  };

  it('are those of the newest list that the reports of some days are without', async () => {
    const { newcomers } = await find([1, 9, 1, old], [10, 19, 2, middle], [20, 31, 3, newest]);
    expect(newcomers).toEqual({
      advertiser_ids: ['b', 'c'],
      words: '19 days are without some of 2 new advertisers: b, c',
      aim: 'To export them with the new advertisers:',
      ranges: [
        range('2026-10-01', '2026-10-10', 9, '1 new advertiser: c'),
        range('2026-10-10', '2026-10-20', 10, '2 new advertisers: b, c'),
      ],
      command: 'npm run export -- run daily --account acme --from 2026-10-01 --to 2026-10-20 --local',
    });
  });

  it('are gone once newer reports of all these days have them', async () => {
    const { newcomers } = await find([1, 19, 1, old], [20, 31, 3, newest], [1, 19, 4, newest]);
    expect(newcomers).toBeUndefined();
  });

  it('need no list to be read if all reports are of one', async () => {
    expect(await find([1, 19, 1, newest], [20, 31, 3, newest])).toEqual({ newcomers: undefined, read: [] });
  });

  it('do not count days without a list, or whose list was removed, or an advertiser that has gone', async () => {
    expect((await find([1, 19, 1], [20, 31, 3, newest])).newcomers).toBeUndefined();
    expect((await find([1, 19, 1, 'removed'], [20, 31, 3, newest])).newcomers).toBeUndefined();
    expect((await find([1, 19, 1, old], [20, 31, 3, middle])).newcomers).toBeUndefined();
  });
});
