import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, vi } from 'vitest';
import { openDatabase } from '../../../functions/tables/database.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { AS_CSV, factsOf, ROW, SCHEMA, type StageOptions, stage } from './reports.ts';

const { signal } = new AbortController();
const BODY = JSON.stringify([ROW]);
const LONG_ROW = 'a row of the file, with the blanks around it, is longer than 16 MB';
const LONG_LINE = expect.stringMatching(/^line 2 of the CSV file is longer than 2000000 characters/);
const LARGE = 'x'.repeat(60_000_000);

const names = Array.from({ length: 300_000 }, (_, index) => `name ${index}`);
const nest = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const deep = nest(3000);
const columns = Array.from({ length: 200 }, (_, index) => {
  const name = `m${index}`;
  return { name, type: 'string' as const, from: name };
});
const wide = { schema: { ...SCHEMA, columns }, columns };

it.each<[string, () => string | Buffer, object, StageOptions?]>([
  [
    '300,000 names in as many rows',
    () => JSON.stringify(names.map((name) => ({ ...ROW, campaign_id: name, [name]: 1 }))),
    { rows: 300_000, warnings: [expect.stringMatching(/^the table leaves out .* and more$/)] },
  ],
  [
    'a name with U+0000',
    () => JSON.stringify([{ ...ROW, 'a\u0000b': 1 }]),
    { rows: 1, warnings: [expect.stringContaining('"a\\u0000b"')] },
  ],
  [
    'a first row nested 3,000 deep',
    () => `[${deep},${JSON.stringify(ROW)}]`,
    { rows: 2, table_problem: 'row 1 has no value in the column date, where a date belongs' },
  ],
  ['a value nested 3,000 deep', () => BODY.replace('"a"', deep), { rows: 1, warnings: [] }],
  ['a long number', () => gzipSync(BODY.replace('"a"', '7'.repeat(120e6))), { table_problem: LONG_ROW }],
  ['a line of 60 MB', () => `${Object.keys(ROW)}\n2026-10-01,${LARGE}`, { table_problem: LONG_LINE }, AS_CSV],
  [
    '200 columns',
    () =>
      JSON.stringify(
        Array.from({ length: 5000 }, () => ({
          date: ROW.date,
          ...Object.fromEntries(columns.map(({ name }, at) => [name, `the text of the column ${at}`])),
        })),
      ),
    { rows: 5000 },
    wide,
  ],
])('the work on a file is bounded, whatever it holds: %s', async (_, body, expected, options) => {
  expect(await factsOf(body(), options)).toMatchObject(expected);
});

it('an error of our own query does not refuse the file', async () => {
  using database = await openDatabase(temporaryDirectory(), signal);
  const query = database.query("SELECT regexp_full_match('7', '7{1,0}')");
  await expect(query).rejects.toThrow(/^Invalid Input Error: invalid repetition size/);
});

it('DuckDB loads no extension, and keeps its configuration', async () => {
  using database = await openDatabase(temporaryDirectory(), signal);
  await expect(database.query('SET threads = 2')).rejects.toThrow(/locked/);
  await expect(database.query(`FROM 'https://127.0.0.1:9/rows.parquet'`)).rejects.toThrow(/httpfs|extension/);
});

it('46: says that the time is over, also in the middle of a query', async () => {
  const controller = new AbortController();
  using database = await openDatabase(temporaryDirectory(), controller.signal);
  const long = database.query('SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b');
  controller.abort();
  await expect(long).rejects.toThrow(/timeout/);
  await expect(database.query('SELECT 1')).rejects.toThrow(/timeout/);
});

it('46: says that the memory is not enough', async () => {
  using database = await openDatabase(temporaryDirectory(), new AbortController().signal, 7);
  const huge = database.query(`SELECT length(string_agg(repeat('x', 1000000), '')) FROM range(1000)`);
  await expect(huge).rejects.toThrow(/for 7 columns of its table, needs more than CurateReport's memory/);
});

it('46: a larger function gives DuckDB the memory that it has beyond the default', async () => {
  const limitOf = async (size: string, columns?: number) => {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_MEMORY_SIZE', size);
    using database = await openDatabase(temporaryDirectory(), new AbortController().signal, columns);
    const [row] = await database.query(`SELECT current_setting('memory_limit') AS bytes`);
    return row?.bytes;
  };
  expect(await limitOf('1769')).toBe('143.0 MiB');
  expect(await limitOf('2769')).toBe('1.0 GiB');
  expect(await limitOf('1769', 201)).toBe('383.3 MiB');
});

it.runIf(existsSync('/dev/full'))('46: says that the storage is full when rows are written', async () => {
  const folder = temporaryDirectory();
  symlinkSync('/dev/full', join(folder, 'rows.parquet'));
  const limit = /ephemeral storage; raise max_curate_bytes.*local run: make room/;
  await expect(stage(BODY, { folder })).rejects.toThrow(limit);
});
