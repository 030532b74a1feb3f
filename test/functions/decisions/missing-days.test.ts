import { describe, expect, it } from 'vitest';
import { findMissing, type TablePartitions } from '../../../functions/decisions/missing.ts';
import { requestHash } from '../../../functions/decisions/request-hash.ts';
import { writeVersion } from '../../../functions/workflow/day-metadata.ts';
import { AccessRefused, ServiceUnavailable } from '../../../functions/workflow/errors.ts';
import { objectKey } from '../../../functions/workflow/keys.ts';
import { addDays, daysOf } from '../../../functions/workflow/request/dates.ts';
import type { ReportRequest } from '../../../functions/workflow/request/request.ts';
import { dayKey } from '../../../functions/workflow/table.ts';
import { windowOf } from '../../support/steps.ts';

const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const OBJECT = { crc32: 'AA', version_id: 'v1', metadata: {} };
/** Has a partition for each of these days. */
function registered(days: readonly string[]): TablePartitions {
  return {
    getPartitions: async (table, values) => {
      expect(table).toBe(request.name);
      return values
        .filter(([account, day = '']) => account === request.account && days.includes(day))
        .map((each) => ({ values: each }));
    },
  };
}

const SINCE = '2026-11-21T06:00:00.000Z';

describe('findMissing in a table', () => {
  const window = { start_date: '2026-10-01', end_date: '2026-10-06' };
  const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };
  const ours = {
    request_hash: requestHash(request as ReportRequest, target),
    created_at: '2026-10-20T00:00:00Z',
  };

  /** Finds what is missing if the table has these days, and the bucket these other objects. */
  async function findWith(
    days: Readonly<Record<string, object>>,
    changes: object = {},
    objects: readonly string[] = [],
  ) {
    const head = async (key: string) => {
      if (objects.includes(key)) return OBJECT;
      const day = Object.keys(days).find((each) => key === dayKey(request.name, request.account, each));
      if (day === undefined) return undefined;
      const version = { report_id: 'r', ...ours, ...days[day] };
      return { metadata: writeVersion(version) };
    };
    const store = { getText: async () => undefined, head };
    const catalog = registered(Object.keys(days));
    const conditions = {
      ...target,
      store,
      catalog,
      since: new Date(0),
      timeZone: 'Europe/Berlin',
      ...changes,
    };
    return findMissing(request, [window], conditions);
  }

  it('leaves out the days that the table has, and joins the others to ranges', async () => {
    expect(await findWith({ '2026-10-01': {}, '2026-10-04': {} })).toStrictEqual({
      windows: [
        { start_date: '2026-10-02', end_date: '2026-10-04' },
        { start_date: '2026-10-05', end_date: '2026-10-06' },
      ],
      ...{ already_delivered: 0, already_delivered_windows: [] },
      warnings: [],
    });
  });

  it('counts a window as delivered if the table has all of its days', async () => {
    const all = Object.fromEntries(daysOf(window).map((day) => [day, {}]));
    expect(await findWith(all)).toMatchObject({ windows: [], already_delivered: 1 });
  });

  it('41: counts a day without a partition as missing, because queries do not see it', async () => {
    const all = Object.fromEntries(daysOf(window).map((day) => [day, {}]));
    const catalog = registered(daysOf(window).filter((day) => day !== '2026-10-03'));
    expect(await findWith(all, { catalog })).toMatchObject({
      windows: [{ start_date: '2026-10-03', end_date: '2026-10-04' }],
      warnings: [],
    });
  });

  it('41: counts all days as missing, with a warning, if Glue refuses to say which are registered', async () => {
    const all = Object.fromEntries(daysOf(window).map((day) => [day, {}]));
    const getPartitions = async () => {
      throw new AccessRefused('AWS refused. The role needs glue:BatchGetPartition.');
    };
    expect(await findWith(all, { catalog: { getPartitions } })).toMatchObject({
      windows: [window],
      warnings: [expect.stringMatching(/all days of table .* count as missing: .*glue:BatchGetPartition/)],
    });
    const unavailable = async () => {
      throw new ServiceUnavailable('AWS is busy.');
    };
    const busy = findWith(all, { catalog: { getPartitions: unavailable } });
    await expect(busy).rejects.toThrow(ServiceUnavailable);
  });

  it('counts days of a stack without tables as missing, whatever objects are left', async () => {
    const all = Object.fromEntries(daysOf(window).map((day) => [day, {}]));
    expect((await findWith(all, { catalog: undefined })).windows).toEqual([window]);
  });

  it.each([
    ['of another request', { request_hash: 'other' }],
    [
      'whose report was created before the day was over in the time zone',
      { created_at: '2026-10-01T21:59:59Z' },
    ],
  ])('counts a day %s as missing', async (_, change) => {
    const { windows } = await findWith({ '2026-10-01': change, '2026-10-02': {} });
    expect(windows[0]).toEqual({ start_date: '2026-10-01', end_date: '2026-10-02' });
  });

  it('counts a day as present from its end in the time zone on', async () => {
    const { windows } = await findWith({ '2026-10-01': { created_at: '2026-10-01T22:00:00Z' } });
    expect(windows[0]?.start_date).toBe('2026-10-02');
  });

  it('exports the whole window if a run was killed before it wrote the manifest', async () => {
    const all = Object.fromEntries(daysOf(window).map((day) => [day, {}]));
    const object = objectKey(request, window);
    expect(await findWith(all, {}, [object])).toMatchObject({ windows: [window], already_delivered: 0 });
  });

  it('does not look at the days if everything since an instant is wanted', async () => {
    const changes = { timeZone: undefined, since: new Date(SINCE) };
    expect((await findWith({ '2026-10-01': {} }, changes)).windows).toEqual([window]);
  });

  it('exports whole windows if single days would be more than 100 windows', async () => {
    const windows = Array.from({ length: 10 }, (_, at) => ({
      start_date: addDays('2026-01-01', at * 30),
      end_date: addDays('2026-01-01', (at + 1) * 30),
    }));
    const isEven = (key: string) => Number(/date=.*(\d\d)\/data/.exec(key)?.[1]) % 2 === 0;
    const metadata = writeVersion({
      report_id: 'r',

      ...ours,
      created_at: '2027-01-01T00:00:00Z',
    });
    const head = async (key: string) => (isEven(key) ? { metadata } : undefined);
    const store = { getText: async () => undefined, head };
    const catalog = registered(windows.flatMap(daysOf));
    const conditions = { ...target, store, catalog, since: new Date(0), timeZone: 'UTC' };
    expect((await findMissing(request, windows, conditions)).windows).toEqual(windows);
  });
});
