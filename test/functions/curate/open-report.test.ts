import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CSV, facts } from './reports.ts';

const ROWS = [
  { date: '2026-10-01', campaign_id: 'b', spend: 0.1, impressions: 3 },
  { date: '2026-10-01', campaign_id: 'a', spend: 0.2, impressions: 4 },
  { date: '2026-10-03', campaign_id: 'a', spend: 12.345678, impressions: 5 },
];

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

const LINES = ROWS.map((row) => JSON.stringify(row)).join('\n');

describe('a file with the same rows has the same facts', () => {
  it.each<[string, string | Buffer, object]>([
    ['a JSON array', JSON.stringify(ROWS), {}],
    ['a JSON array on several lines', JSON.stringify(ROWS, null, 2), {}],
    ['with a byte order mark', `\ufeff${JSON.stringify(ROWS)}`, {}],
    ['NDJSON', LINES, { content_type: 'application/x-ndjson' }],
    ['NDJSON labeled as JSON', `${LINES}\n`, {}],
    ['NDJSON with a byte order mark', `\ufeff${LINES}\n`, {}],
    ['JSON objects on several lines', ROWS.map((row) => JSON.stringify(row, null, 1)).join('\n'), {}],
    ['one object that holds the array', JSON.stringify({ total: 3, rows: ROWS, meta: { note: ']' } }), {}],
    ['such an object on several lines', JSON.stringify({ rows: ROWS, 'a[': '}' }, null, 2), {}],
    ['an array one object deeper', JSON.stringify({ message: 'OK', data: { total: 3, rows: ROWS } }), {}],
    [
      'other arrays of texts or of nothing in the object',
      JSON.stringify({ errors: [], error: null, metrics: ['spend'], rows: ROWS, warnings: [] }),
      {},
    ],
    ['rows beside notices', JSON.stringify({ rows: ROWS, warnings: [{ code: 'LATE' }] }), {}],
    [
      'rows beside their columns and a total',
      JSON.stringify({ columns: [{ name: 'spend' }], spend: 7, rows: ROWS, status: 'created' }),
      {},
    ],
    ['rows beside other objects', JSON.stringify({ days: [{ x: 1 }], rows: ROWS }), {}],
    ['gzip without a label', gzipSync(JSON.stringify(ROWS)), {}],
    ['CSV in gzip without a label', gzipSync(CSV), { format: 'CSV' }],
    ['JSON in gzip', gzipSync(JSON.stringify(ROWS)), { content_encoding: 'gzip' }],
    [
      'names in another case',
      JSON.stringify(ROWS).replaceAll('spend', 'Spend').replaceAll('date', 'Date'),
      {},
    ],
    ['CSV', CSV, { format: 'CSV' }],
    ['CSV in gzip', gzipSync(CSV), { format: 'CSV', content_encoding: 'gzip' }],
    ['CSV with a byte order mark and CRLF', `\ufeff${CSV.replaceAll('\n', '\r\n')}`, { format: 'CSV' }],
    ['CSV without a last line break', CSV.trim(), { format: 'csv' }],
    ['CSV after empty lines', `\r\n\n${CSV}\n`, { format: 'CSV' }],
    ['CSV with CRLF and LF', CSV.replace('3\n', '3\r\n').replace('4\n', '4\r\n'), { format: 'CSV' }],
    ['CSV with CRLF first and LF later', CSV.replace('\n', '\r\n'), { format: 'CSV' }],
    [
      'CSV with quoted names',
      CSV.replace(/^.*/, '"date","campaign_id","spend","impressions"'),
      { format: 'CSV' },
    ],
    [
      'CSV with columns in another order',
      'impressions,spend,Date,campaign_id\n3,0.1,2026-10-01,b\n4,0.2,2026-10-01,a\n5,12.345678,2026-10-03,a\n',
      { format: 'CSV' },
    ],
  ])('%s', async (_, body, given) => {
    expect(await facts(body, given)).toEqual(FACTS);
  });
});
