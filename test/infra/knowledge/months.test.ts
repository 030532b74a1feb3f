import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDatabase } from '../../../functions/tables/database.ts';
import { literal } from '../../../functions/workflow/sql.ts';
import { readMonths, shownReader } from '../../../infra/knowledge/months.ts';
import { SAID, shownDay } from '../../support/ledger-rows.ts';
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

const HELD_REPORT = { report_id: 's', created_at: '2026-11-02T00:00:00Z', request_hash: 'h', ledger: SAID };
const HELD = { ...DAY, held: HELD_REPORT };
const TABLE = { table: 'daily', account: 'acme', kind: 'report' } as const;

it('reads the days of the months that are wanted, and the columns of each', async () => {
  const { store } = await createStore({
    'tables/daily/acme.2026-09.parquet': { '2026-09-30': DAY },
    'tables/daily/acme.2026-10.parquet': { '2026-10-01': HELD },
    'tables/daily/acme.2026-11.parquet': { '2026-11-01': DAY },
    'tables/daily/acme2.2026-10.parquet': { '2026-10-02': DAY },
  });
  const shown = await shownReader(store)(TABLE, ['2026-09-30', '2026-10-01', '2026-10-02']);
  expect(shown).toEqual({ '2026-09-30': DAY, '2026-10-01': HELD });
  const [first, ...others] = await readMonths(store, TABLE, () => true);
  expect(others.map(({ month }) => month)).toEqual(['2026-10', '2026-11']);
  expect([...(first?.columns ?? [])]).toEqual([
    ['spend', 'BIGINT'],
    ['id', 'VARCHAR'],
  ]);
  expect(await shownReader(store)({ ...TABLE, account: 'globex' }, ['2026-10-01'])).toEqual({});
});

it('reads a footer of many row groups with a second call, and never the rows', async () => {
  const { store, lengths, files } = await createStore(
    { 'tables/daily/acme.2026-10.parquet': { '2026-10-01': DAY } },
    2_000_000,
  );
  expect(await shownReader(store)(TABLE, ['2026-10-01'])).toEqual({ '2026-10-01': DAY });
  const [size = 0] = [...files.values()].map(({ length }) => length);
  expect(lengths).toHaveLength(2);
  expect(lengths[1]).toBeLessThan(size / 10);
});

it('shows the snapshot of a list on each day', async () => {
  const { store } = await createStore({ 'tables/campaigns/acme.parquet': { '2026-10-01': DAY } });
  const list = { table: 'campaigns', account: 'acme', kind: 'list' } as const;
  expect(await shownReader(store)(list, ['2026-10-05'])).toEqual({ '2026-10-05': DAY });
});

it.each<[string, (object: Buffer) => Buffer]>([
  ['no bytes', () => Buffer.alloc(0)],
  ['a text', () => Buffer.from('a text of somebody else')],
  ['a footer that was cut', (object) => object.subarray(0, -163)],
  ['other metadata', (object) => object.fill('x', object.indexOf('report_id'), object.indexOf('created_at'))],
])('names a damaged object: one with %s', async (_, damage) => {
  const key = 'tables/daily/acme.2026-10.parquet';
  const { store, lengths, files } = await createStore({ [key]: { '2026-10-01': DAY } });
  files.set(key, damage(files.get(key) ?? Buffer.alloc(0)));
  await expect(shownReader(store)(TABLE, ['2026-10-01'])).rejects.toMatchObject({
    name: 'TableProblem',
    message: expect.stringContaining(`${key} is damaged or was not written by this stack; restore`),
  });
  expect(lengths).toHaveLength(1);
});
