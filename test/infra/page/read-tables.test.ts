import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { NO_OBJECTS } from '../../../infra/knowledge/bucket.ts';
import type { PageExport } from '../../../infra/page/contents.ts';
import { openTables } from '../../../infra/page/read-tables.ts';
import { renderPage } from '../../../infra/page/render.ts';
import { ledgerRows, writeParquet } from '../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { BUCKET, plan } from '../knowledge/deliveries.ts';
import { announce, ask, page, SHOWN } from './folder.ts';

/** A folder with the table of one export, which has three rows for each day. */
async function writeTable(first: string, days: number, leftOut = '') {
  const out = temporaryDirectory();
  const request = {
    name: 'long',
    account: 'acme',
    start_date: first,
    end_date: addDays(first, days),
    advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
    dimensions: ['country'],
    metrics: ['ctr', 'conversions', 'spend', 'impressions'],
  };
  await plan(out, request);
  await announce(out, 'Report Exported', { execution: 'e', account: 'acme', name: 'long' });
  const dates = Array.from({ length: days }, (_, at) => addDays(first, at)).filter(
    (date) => date !== leftOut,
  );
  for (const [month, own = []] of Object.entries(Object.groupBy(dates, (date) => date.slice(0, 7))))
    await writeParquet(
      join(out, BUCKET, `tables/long/acme.${month}.parquet`),
      `SELECT 'acme' AS account, CAST(date AS DATE) AS date, 'x' AS country, 0.5::DOUBLE AS ctr, 0.1::DOUBLE AS conversions,
         (place / 3)::DECIMAL(18,6) AS spend, 9007199254740993 AS impressions
       FROM (SELECT unnest([${own.map((date) => `'${date}'`)}]) AS date), (SELECT range AS place FROM range(1, 4))`,
      { days: JSON.stringify(Object.fromEntries(own.map((date) => [date, SHOWN]))) },
    );
  return out;
}

it.each([
  ['day', 100, '2026-01-02', 100, '2026-01-01', [[1, 0, 1]]],
  [
    'week',
    101,
    '2026-01-04',
    15,
    '2025-12-29',
    [
      [0, 3, 7],
      [14, 6, 7],
    ],
  ],
  [
    'month',
    731,
    '2026-01-15',
    25,
    '2026-01-01',
    [
      [0, 30, 31],
      [24, 1, 31],
    ],
  ],
])('sums per %s of %i days are those of its SQL', async (unit, days, leftOut, points, start, partial) => {
  const out = await writeTable('2026-01-01', days, leftOut);
  const [{ sums, queries } = {} as PageExport] = (await page(out)).exports;
  expect([sums?.unit, sums?.points.length, sums?.points[0]?.start]).toEqual([unit, points, start]);
  const found = sums?.points.flatMap(({ known, all }, at) => (known < all ? [[at, known, all]] : []));
  expect(found).toEqual(partial);
  expect(sums?.metrics.map(({ name }) => name)).toEqual(['spend', 'conversions', 'impressions']);
  const rows = await ask(queries.sums, out);
  for (const [at, { name, values, total }] of (sums?.metrics ?? []).entries()) {
    const own = sums?.points.map(({ start }, place) =>
      values[place] === null ? [] : [[start, values[place]]],
    );
    expect(own?.flat()).toEqual(rows.map((row) => [row[0], row[at + 1]]));
    expect([[total]]).toEqual(await ask(`SELECT CAST(sum(${name}) AS ${TYPES[at]}) FROM long`, out));
  }
  // Nothing is known of a day that the table does not have.
  const nulls = sums?.metrics[0]?.values.filter((value) => value === null).length;
  expect(nulls).toBe(unit === 'day' ? 1 : 0);
});

const TYPES = ['decimal(38,6)', 'decimal(38,6)', 'varchar'];

it('leaves out a metric whose values are all NULL, and shows 0 for a day without rows', async () => {
  const out = await writeTable('2026-01-01', 2);
  await writeParquet(
    join(out, BUCKET, 'tables/long/acme.2026-01.parquet'),
    `SELECT 'acme' AS account, DATE '2026-01-01' AS date, 1.5::DECIMAL(18,6) AS spend, NULL::DOUBLE AS conversions`,
    { days: JSON.stringify({ '2026-01-01': SHOWN, '2026-01-02': SHOWN }) },
  );
  const [{ sums, queries } = {} as PageExport] = (await page(out)).exports;
  expect(sums?.metrics).toMatchObject([{ name: 'spend', values: ['1.500000', '0'], total: '1.500000' }]);
  expect(await ask(queries.sums, out)).toEqual([['2026-01-01', '1.500000']]);
});

it('shows the 50 days and metrics that were corrected last, and counts the others', async () => {
  const out = await writeTable('2026-01-01', 30);
  const days = Array.from({ length: 30 }, (_, at) => addDays('2026-01-01', at));
  // The third report changes the last day again. Its id is that of the second one.
  const facts = [1, 2, 3].flatMap((version) =>
    days.slice(version === 3 ? -1 : 0).map((date) => ({
      date,
      report_id: `r-${Math.min(version, 2)}`,
      at: `2026-02-0${version} 06:00:00.5`,
      values: { rows: 12, spend: version, conversions: -version },
    })),
  );
  const ledger = join(out, BUCKET, 'tables/ledger/acme.long.2026-01.parquet');
  await writeParquet(ledger, ledgerRows('acme', 'long', 'long', facts));
  const [found = {} as PageExport] = (await page(out)).exports;
  const rows = await ask(found.queries.restatements, out);
  expect([rows.length, found.restatements.length, found.older_restatements]).toEqual([62, 50, 10]);
  expect(found.days?.map(({ restated }) => restated)).toEqual([...Array(29).fill(1), 2]);
  const distinct = new Set(rows.map(([, date, metric]) => `${date} ${metric}`));
  expect(found.restatements.map(({ date, metric }) => `${date} ${metric}`)).toEqual(
    [...distinct].slice(0, 50),
  );
  const [spend, least] = [found.restatements[1], found.restatements.at(-1)];
  expect([spend?.metric, spend?.first, spend?.now, spend?.corrections]).toEqual([
    'spend',
    '1.0000000000',
    '3.0000000000',
    2,
  ]);
  expect([least?.date, least?.corrections, least?.at]).toEqual(['2026-01-06', 1, '2026-02-02T06:00:00.500Z']);
});

it.each([
  ['long/acme.2026-01', 'that was cut', (object: Buffer) => object.subarray(0, -20)],
  ['long/acme.2026-01', 'whose rows are damaged', (object: Buffer) => object.fill(0xff, 4, 300)],
  ['ledger/acme.long.2026-01', 'of a text', () => Buffer.from('a text')],
])('leaves out the table of an object %s %s, and says so', async (name, _, damage) => {
  const out = await writeTable('2026-01-01', 3);
  const path = join(out, BUCKET, `tables/${name}.parquet`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, damage(await readFile(path).catch(() => Buffer.alloc(0))));
  const contents = await page(out);
  const [found = {} as PageExport] = contents.exports;
  const isLedger = name.startsWith('ledger');
  expect([found.sums !== undefined, found.days?.length]).toEqual([isLedger, 3]);
  expect(found.problem).toMatch(
    `tables/${name}.parquet is damaged or was not written by this stack; restore`,
  );
  expect(renderPage(contents)).toMatch(/<h1>[^<]*The table is damaged.*The table is left out: /s);
});

it('reads no object whose key is not that of a table', async () => {
  const read: string[] = [];
  const toFile = async (key: string) => void read.push(key);
  const keys = [
    'tables/daily/../../x.parquet',
    'tables/../x.parquet',
    'tables/a/b/c.parquet',
    'tables/a/x.csv',
  ];
  await using tables = await openTables({ ...NO_OBJECTS, toFile }, [...keys, 'tables/a/b.2026-10.parquet']);
  const { shown } = await tables.read({ table: 'a', account: 'b', kind: 'report' }, []);
  expect([read, shown]).toEqual([['tables/a/b.2026-10.parquet'], undefined]);
});
