import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDatabase } from '../../../functions/tables/database.ts';
import { readEntries, requireMonths, shownOn } from '../../../functions/tables/month-entries.ts';
import { literal } from '../../../functions/tables/sql.ts';
import { LEDGER_FACTS, shownDay } from '../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DAY = shownDay();

/** Objects of a table that show these days. @param rows of each */
async function createStore(objects: Readonly<Record<string, object>>, rows = 3) {
  const folder = temporaryDirectory();
  using database = await openDatabase(folder, new AbortController().signal);
  const files = new Map<string, Buffer>();
  for (const [key, days] of Object.entries(objects)) {
    const path = join(folder, 'object.parquet');
    const metadata = `KV_METADATA {days: ${literal(JSON.stringify(days))}}`;
    const query = `SELECT range AS spend, range::VARCHAR AS id FROM range(${rows})`;
    await database.query(
      `COPY (${query}) TO ${literal(path)} (FORMAT parquet, ROW_GROUP_SIZE 2048, ${metadata})`,
    );
    files.set(key, await readFile(path));
  }
  const lengths: number[] = [];
  const store = {
    list: async (prefix: string) => [...files.keys()].filter((key) => key.startsWith(prefix)),
    readEnd: async (key: string, length: number) => {
      const bytes = files.get(key);
      lengths.push(length);
      return bytes && { bytes: bytes.subarray(-length), size: bytes.length };
    },
  };
  return { store, lengths, files };
}

const HELD_REPORT = {
  report_id: 's',
  created_at: '2026-11-02T00:00:00Z',
  request_hash: 'h',
  ledger: LEDGER_FACTS,
};
const HELD = { ...DAY, held: HELD_REPORT };
const TABLE = { table: 'daily', account: 'acme' };

it('reads the days and the columns of the months that are wanted, of this account only', async () => {
  const { store } = await createStore({
    'tables/daily/acme.2026-09.parquet': { '2026-09-30': DAY },
    'tables/daily/acme.2026-10.parquet': { '2026-10-01': HELD },
    'tables/daily/acme.2026-11.parquet': { '2026-11-01': DAY },
    'tables/daily/acme2.2026-10.parquet': { '2026-10-02': DAY },
  });
  const { months, damaged } = await readEntries(store, TABLE, (month) => month < '2026-11');
  const columns = new Map([
    ['spend', 'bigint'],
    ['id', 'string'],
  ]);
  expect({ months, damaged }).toEqual({
    months: [
      { month: '2026-09', days: { '2026-09-30': DAY }, columns },
      { month: '2026-10', days: { '2026-10-01': HELD }, columns },
    ],
    damaged: [],
  });
  const all = await readEntries(store, TABLE);
  expect(all.months.map(({ month }) => month)).toEqual(['2026-09', '2026-10', '2026-11']);
  expect(await readEntries(store, { ...TABLE, account: 'globex' })).toEqual({ months: [], damaged: [] });
});

it('reads a footer of many row groups with a second call, and never the rows', async () => {
  const { store, lengths, files } = await createStore(
    { 'tables/daily/acme.2026-10.parquet': { '2026-10-01': DAY } },
    2_000_000,
  );
  const { months } = await readEntries(store, TABLE);
  expect(months[0]?.days).toEqual({ '2026-10-01': DAY });
  const [size = 0] = [...files.values()].map(({ length }) => length);
  expect(lengths).toHaveLength(2);
  expect(lengths[1]).toBeLessThan(size / 10);
});

it('shows the snapshot of a list on each day, and a day of a report where it is', async () => {
  const { store } = await createStore({
    'tables/campaigns/acme.parquet': { '2026-10-01': DAY },
    'tables/daily/acme.2026-10.parquet': { '2026-10-01': DAY },
  });
  const shown = async (table: string) => {
    const { months } = await readEntries(store, { table, account: 'acme' });
    return shownOn(['2026-10-05', '2026-10-06'], months);
  };
  expect(await shown('campaigns')).toEqual({ '2026-10-05': DAY, '2026-10-06': DAY });
  expect(await shown('daily')).toEqual({ '2026-10-01': DAY });
});

it.each<[string, (object: Buffer) => Buffer]>([
  ['no bytes', () => Buffer.alloc(0)],
  ['a text', () => Buffer.from('a text of somebody else')],
  ['a footer that was cut', (object) => object.subarray(0, -163)],
  ['a footer that is no footer', (object) => object.fill('x', object.length - 400, object.length - 8)],
  ['other metadata', (object) => object.fill('x', object.indexOf('report_id'), object.indexOf('created_at'))],
])('names a damaged object, and reads the other months: one with %s', async (_, damage) => {
  const key = 'tables/daily/acme.2026-10.parquet';
  const { store, lengths, files } = await createStore({
    [key]: { '2026-10-01': DAY },
    'tables/daily/acme.2026-11.parquet': { '2026-11-01': DAY },
  });
  files.set(key, damage(files.get(key) ?? Buffer.alloc(0)));
  const entries = await readEntries(store, TABLE);
  expect(entries).toMatchObject({ months: [{ month: '2026-11' }], damaged: [{ key, month: '2026-10' }] });
  expect(() => requireMonths(entries)).toThrow(`${key} is damaged or was not written by this stack; restore`);
  expect(lengths).toHaveLength(2);
});
