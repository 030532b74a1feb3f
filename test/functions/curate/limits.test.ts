import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { openDatabase } from '../../../functions/curate/database.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { open } from './reports.ts';

const BODY = JSON.stringify([{ date: '2026-10-01', campaign_id: 'a', spend: 1, impressions: 1 }]);

it('46: says that the time is over, also in the middle of a query', async () => {
  const controller = new AbortController();
  using database = await openDatabase(temporaryDirectory(), controller.signal);
  const long = database.query('SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b');
  controller.abort();
  await expect(long).rejects.toMatchObject({ name: 'CurateLimit', which: 'time' });
  await expect(database.query('SELECT 1')).rejects.toMatchObject({ name: 'CurateLimit', which: 'time' });
});

it('46: says that the memory is not enough', async () => {
  using database = await openDatabase(temporaryDirectory(), new AbortController().signal);
  const huge = database.query(`SELECT length(string_agg(repeat('x', 1000000), '')) FROM range(1000)`);
  await expect(huge).rejects.toMatchObject({ name: 'CurateLimit', which: 'memory' });
});

it('46: a larger function gives DuckDB the memory that it has beyond the default, and a smaller one less', async () => {
  const limitOf = async (size: string) => {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_MEMORY_SIZE', size);
    using database = await openDatabase(temporaryDirectory(), new AbortController().signal);
    const [row] = await database.query(`SELECT current_setting('memory_limit') AS bytes`);
    return row?.bytes;
  };
  expect([await limitOf('400'), await limitOf('1769'), await limitOf('2769')]).toEqual([
    '36.2 MiB',
    '143.0 MiB',
    '1.0 GiB',
  ]);
});

it.runIf(existsSync('/dev/full'))(
  '46: says that the storage is full when rows or a day are written',
  async () => {
    const full = temporaryDirectory();
    symlinkSync('/dev/full', join(full, 'rows.parquet'));
    await expect(open(BODY, { folder: full })).rejects.toMatchObject({ which: 'storage' });
    const folder = temporaryDirectory();
    await using report = await open(BODY, { folder });
    symlinkSync('/dev/full', join(folder, 'day.parquet'));
    await expect(report.writeDay('2026-10-01', {})).rejects.toMatchObject({ which: 'storage' });
  },
);

it('runs in several worker threads, and again after one has ended', async () => {
  const program = `
    import { workerData } from 'node:worker_threads';
    const { openDatabase } = await import(workerData.url);
    const database = await openDatabase(workerData.folder, new AbortController().signal);
    const [{ answer }] = await database.query("SELECT 6 * 7 AS answer");
    database[Symbol.dispose]();
    if (answer !== 42) throw new Error('wrong');`;
  const url = new URL('../../../functions/curate/database.ts', import.meta.url).href;
  const folder = temporaryDirectory();
  const run = () =>
    new Promise((resolve, reject) => {
      const code = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
      new Worker(code, { workerData: { url, folder } }).on('exit', resolve).on('error', reject);
    });
  expect(await Promise.all([run(), run()])).toEqual([0, 0]);
  expect(await run()).toBe(0);
});
