import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { footerLength } from '../../../functions/curate/parquet.ts';
import { facts, open, query, SCHEMA } from './reports.ts';

const ROWS = ['b', 'a', 'c', 'a'].map((campaign_id, index) => ({
  date: index === 3 ? '2026-10-02' : '2026-10-01',
  campaign_id,
  spend: index + 0.5,
  impressions: index,
}));

const METADATA = { report_id: "o'report", created_at: '2026-10-05T00:00:00Z', sums: '{"spend":"1"}' };

it('holds the columns of the schema in their order, without the date', async () => {
  await using report = await open(JSON.stringify(ROWS));
  const path = await report.writeDay('2026-10-01', {});
  expect(await query(`SELECT column_name, column_type FROM (DESCRIBE FROM '${path}')`)).toEqual([
    { column_name: 'campaign_id', column_type: 'VARCHAR' },
    { column_name: 'spend', column_type: 'DECIMAL(18,6)' },
    { column_name: 'impressions', column_type: 'BIGINT' },
  ]);
  expect(await query(`FROM '${path}' ORDER BY ALL`)).toEqual([
    { campaign_id: 'a', spend: '1.500000', impressions: '1' },
    { campaign_id: 'b', spend: '0.500000', impressions: '0' },
    { campaign_id: 'c', spend: '2.500000', impressions: '2' },
  ]);
});

it('carries the metadata', async () => {
  await using report = await open(JSON.stringify(ROWS));
  const path = await report.writeDay('2026-10-02', METADATA);
  const found = await query(
    `SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata('${path}')`,
  );
  expect(Object.fromEntries(found.map(({ key, value }) => [key, value]))).toEqual(METADATA);
});

it('reads its metadata from the end of the file', async () => {
  const metadata = { ...METADATA, values: 'ä'.repeat(5_000) };
  await using report = await open(JSON.stringify(ROWS));
  const bytes = readFileSync(await report.writeDay('2026-10-01', metadata));
  const length = footerLength({ bytes, size: bytes.length });
  expect(length).toBeLessThan(bytes.length);
  const end = { bytes: bytes.subarray(-length), size: bytes.length };
  expect(await report.readMetadata(end)).toEqual(metadata);
  expect(await report.readMetadata({ bytes, size: bytes.length })).toEqual(metadata);
});

it('has the same bytes for the same report, and others for other metadata', async () => {
  await using report = await open(JSON.stringify(ROWS));
  await using again = await open(JSON.stringify(ROWS));
  const bytes = async (of: typeof report, metadata: Record<string, string>, day = '2026-10-01') =>
    readFileSync(await of.writeDay(day, metadata));
  const first = await bytes(report, METADATA);
  expect(await bytes(again, METADATA)).toEqual(first);
  expect(await bytes(report, { ...METADATA, report_id: 'another' })).not.toEqual(first);
  const empty = await bytes(report, METADATA, '2026-10-03');
  expect(await bytes(report, { ...METADATA, report_id: 'another' }, '2026-10-03')).not.toEqual(empty);
});

it.each([
  ['a day without rows', JSON.stringify(ROWS)],
  ['a report without rows', '[]'],
])('writes zero rows of the same columns for %s', async (_, body) => {
  await using report = await open(body);
  const path = await report.writeDay('2026-10-03', {});
  expect(await query(`SELECT count(*)::INT AS rows FROM '${path}'`)).toEqual([{ rows: 0 }]);
  expect(await query(`SELECT column_type FROM (DESCRIBE FROM '${path}')`)).toEqual([
    { column_type: 'VARCHAR' },
    { column_type: 'DECIMAL(18,6)' },
    { column_type: 'BIGINT' },
  ]);
});

it.each([
  ['[]', {}],
  ['{"total":0,"rows":[]}', {}],
  ['date,campaign_id,spend,impressions\n', { format: 'CSV' }],
])('counts 0 rows in %s', async (body, given) => {
  expect(await facts(body, given)).toEqual({
    rows: 0,
    sums: { spend: '0', impressions: '0' },
    days: [],
    warnings: [],
  });
});

it('adds up decimals and counts exactly', async () => {
  const rows = Array.from({ length: 1000 }, () => ({
    ...ROWS[0],
    spend: 123456789.1,
    impressions: 9007199254740991,
  }));
  const { sums } = await facts(JSON.stringify(rows));
  expect(sums).toEqual({ spend: '123456789100', impressions: '9007199254740991000' });
});

it('adds up doubles the same in any order', async () => {
  const schema = { ...SCHEMA, columns: [{ name: 'rate', type: 'double' } as const] };
  const rows = Array.from({ length: 100 }, (_, index) => ({ date: '2026-10-01', rate: index / 7 }));
  const one = await facts(JSON.stringify(rows), { schema });
  const other = await facts(JSON.stringify(rows.toReversed()), { schema });
  expect(other.sums).toEqual(one.sums);
  expect(Number(one.sums.rate)).toBeCloseTo(4950 / 7, 9);
});

const WITHOUT_TABLE = { schema: undefined };

it('without a table, counts rows, days and sums of the metrics', async () => {
  expect(await facts(JSON.stringify(ROWS), WITHOUT_TABLE)).toMatchObject({
    rows: 4,
    first_date: '2026-10-01',
    last_date: '2026-10-02',
    warnings: [],
    sums: { spend: '8', impressions: '6' },
    days: [{ rows: 3 }, { rows: 1 }],
  });
});

it.each([
  ['no date', undefined],
  ['hours', '2026-10-01T05:00:00Z'],
])('without a table, does not count the days of rows with %s', async (_, date) => {
  const found = await facts(JSON.stringify(ROWS.map((row) => ({ ...row, date }))), WITHOUT_TABLE);
  expect(found).toMatchObject({ rows: 4, days: [], sums: { spend: '8' }, warnings: [] });
  expect(found).not.toHaveProperty('first_date');
});

it('without a table, warns of a value that is not a number, and adds up nothing', async () => {
  const found = await facts(JSON.stringify([...ROWS, { ...ROWS[0], spend: 'n/a' }]), WITHOUT_TABLE);
  expect(found).toEqual({
    rows: 5,
    first_date: '2026-10-01',
    last_date: '2026-10-02',
    sums: {},
    days: [],
    warnings: ['the report has no sums: row 5 has "n/a" in the column spend, where decimal(18,6) belongs'],
  });
});
