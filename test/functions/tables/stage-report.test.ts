import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CSV, factsOf, type Given, withColumn } from './reports.ts';

const ROWS = [
  { date: '2026-10-01', campaign_id: 'b', spend: 0.1, impressions: 3 },
  { date: '2026-10-01', campaign_id: 'a', spend: 0.2, impressions: 4 },
  { date: '2026-10-03', campaign_id: 'a', spend: 12.345678, impressions: 5 },
];
const TEXT = JSON.stringify(ROWS);
const LINES = ROWS.map((row) => JSON.stringify(row)).join('\n');
const AS_CSV = { format: 'CSV' };

const FACTS = {
  rows: 3,
  first_date: '2026-10-01',
  last_date: '2026-10-03',
  sums: { spend: '12.645678', impressions: '12' },
  days: [
    { day: '2026-10-01', rows: 2, sums: { spend: '0.3', impressions: '7' } },
    { day: '2026-10-03', rows: 1, sums: { spend: '12.345678', impressions: '5' } },
  ],
  warnings: [],
};

describe('the same rows have the same facts as', () => {
  it.each<[string, string | Buffer, Given]>([
    ['a JSON array', TEXT, {}],
    ['a JSON array on several lines', JSON.stringify(ROWS, null, 2), {}],
    ['JSON with a byte order mark', `\ufeff${TEXT}`, {}],
    ['NDJSON', LINES, { content_type: 'application/x-ndjson' }],
    ['NDJSON labeled as JSON', `${LINES}\n`, {}],
    ['NDJSON with a byte order mark', `\ufeff${LINES}\n`, {}],
    ['JSON objects on several lines', ROWS.map((row) => JSON.stringify(row, null, 1)).join('\n'), {}],
    ['an object that holds the array', JSON.stringify({ total: 3, rows: ROWS, meta: { note: ']' } }), {}],
    ['such an object on several lines', JSON.stringify({ rows: ROWS, 'a[': '}' }, null, 2), {}],
    ['an array one object deeper', JSON.stringify({ message: 'OK', data: { total: 3, rows: ROWS } }), {}],
    [
      'an array beside lists of other things',
      JSON.stringify({ errors: [], error: null, metrics: ['spend'], rows: ROWS }),
      {},
    ],
    [
      'an array named by the request',
      JSON.stringify({ rows: [{ x: 1 }], a: { b: { c: ROWS } } }),
      { rows: 'a.b.c' },
    ],
    [
      'a named array beside a longer one',
      JSON.stringify({ data: { items: ROWS, more: [...ROWS, ...ROWS] } }),
      { rows: 'data.items' },
    ],
    ['an array, although the request names one', TEXT, { rows: 'data' }],
    ['gzip without a label', gzipSync(TEXT), {}],
    ['an object in gzip', gzipSync(JSON.stringify({ rows: ROWS })), {}],
    ['CSV in gzip without a label', gzipSync(CSV), AS_CSV],
    ['JSON in gzip', gzipSync(TEXT), { content_encoding: 'gzip' }],
    ['names in another case', TEXT.replaceAll('spend', 'Spend').replaceAll('date', 'Date'), {}],
    ['CSV', CSV, AS_CSV],
    ['CSV in gzip', gzipSync(CSV), { format: 'CSV', content_encoding: 'gzip' }],
    ['CSV with a byte order mark and CRLF', `\ufeff${CSV.replaceAll('\n', '\r\n')}`, AS_CSV],
    ['CSV without a last line break', CSV.trim(), { format: 'csv' }],
    ['CSV after empty lines', `\r\n\n${CSV}\n`, AS_CSV],
    ['CSV with CRLF and LF', CSV.replace('3\n', '3\r\n').replace('4\n', '4\r\n'), AS_CSV],
    ['CSV with CRLF first and LF after it', CSV.replace('\n', '\r\n'), AS_CSV],
    ['CSV with quoted names', CSV.replace(/^.*/, '"date","campaign_id","spend","impressions"'), AS_CSV],
    [
      'CSV with columns in another order',
      'impressions,spend,Date,campaign_id\n3,0.1,2026-10-01,b\n4,0.2,2026-10-01,a\n5,12.345678,2026-10-03,a\n',
      AS_CSV,
    ],
    [
      'names of the config',
      TEXT.replaceAll('spend', 'Spend (USD)').replaceAll('date', 'Day'),
      { schema: { ...withColumn({ name: 'spend', from: 'spend (usd)' }), date_column: 'day' } },
    ],
  ])('%s', async (_, body, given) => {
    expect(await factsOf(body, given)).toEqual(FACTS);
  });
});
