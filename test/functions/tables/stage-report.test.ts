import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Column, ColumnType } from '../../../functions/workflow/table.ts';
import { CSV, factsOf, type Given, rowsOf, SCHEMA, withColumn } from './reports.ts';

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

const ROW = { date: '2026-10-01', campaign_id: 'a', spend: 1, impressions: 1 };

function rowsWith(last: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([ROW, { ...ROW, ...last }]);
}

/** Two rows; the second has this JSON as the value of a column. */
function rowsWithJson(name: string, json: string): string {
  return rowsWith({ [name]: '$' }).replace('"$"', json);
}

/** Two rows of CSV. */
function csvWith(last: string): string {
  return `date,campaign_id,spend,impressions\n2026-10-01,b,0.1,3\n${last}\n`;
}

describe('the table takes', () => {
  it.each<[string, string, object]>([
    ['null', rowsWith({ campaign_id: null, spend: null }), { campaign_id: null, spend: null }],
    [
      'absent fields',
      rowsWith({ campaign_id: undefined, spend: undefined }),
      { campaign_id: null, spend: null },
    ],
    ['emoji', rowsWith({ campaign_id: 'a 😀' }), { campaign_id: 'a 😀' }],
    [
      'lone surrogates, as U+FFFD',
      rowsWith({ campaign_id: 'a\ud83d\\ud83d\\\udE00 \ud83d\ude00' }),
      { campaign_id: 'a\ufffd\\ud83d\\\ufffd 😀' },
    ],
    ['brackets in a text', rowsWith({ campaign_id: '[EU] {a}' }), { campaign_id: '[EU] {a}' }],
    ['line breaks and NUL', rowsWith({ campaign_id: 'a\n\u0000"b"' }), { campaign_id: 'a\n\u0000"b"' }],
    ['a nested value, as JSON', rowsWith({ campaign_id: { id: ['a'] } }), { campaign_id: '{"id":["a"]}' }],
    [
      'numbers as texts',
      rowsWith({ spend: '12345.123456', impressions: '7' }),
      { spend: '12345.123456', impressions: '7' },
    ],
    ['5.0 as a count', rowsWithJson('impressions', '5.0'), { impressions: '5' }],
    ['1e5 as a count', rowsWithJson('impressions', '1e5'), { impressions: '100000' }],
    [
      'a long id',
      rowsWithJson('campaign_id', '12345678901234567890123'),
      { campaign_id: '12345678901234567890123' },
    ],
    ['a small number', rowsWith({ spend: 0.000015 }), { spend: '0.000015' }],
    ['a double, rounded', rowsWithJson('spend', '64.34567799999999'), { spend: '64.345678' }],
    ['many decimals in a text, rounded', rowsWith({ spend: '0.1234567' }), { spend: '0.123457' }],
    ['a tiny number, rounded', rowsWithJson('spend', '1e-20'), { spend: '0.000000' }],
    ['a large number', rowsWithJson('spend', '1.23456789015e10'), { spend: '12345678901.500000' }],
    [
      'negative numbers',
      rowsWith({ spend: -1.5, impressions: -1 }),
      { spend: '-1.500000', impressions: '-1' },
    ],
    [
      'names in another order',
      JSON.stringify([ROW, { impressions: 2, spend: 3, campaign_id: 'b', date: '2026-10-02' }]),
      { date: '2026-10-02', campaign_id: 'b', spend: '3.000000', impressions: '2' },
    ],
    [
      'a name in another case in the row that has it',
      rowsWith({ campaign_id: 'x' }).replace('"campaign_id":"a",', '').replace('campaign_id', 'Campaign_ID'),
      { campaign_id: 'x' },
    ],
  ])('%s', async (_, body, expected) => {
    const [, second] = await rowsOf(body);
    expect(second).toMatchObject(expected);
  });

  it.each<[string, string, object]>([
    [
      'quoted line breaks, commas and quotes',
      '2026-10-01,"a\nb, ""c""\r\nd",1,2',
      { campaign_id: 'a\nb, "c"\r\nd' },
    ],
    ['an inch', '2026-10-01,5" tv,1,2', { campaign_id: '5" tv' }],
    ['spaces around quotes', '2026-10-01, "a, b" ,1,2', { campaign_id: 'a, b' }],
    ['empty fields, as NULL', '2026-10-02,,,', { campaign_id: null, spend: null, impressions: null }],
    ['99999999999.9999999, rounded', '2026-10-01,a,99999999999.9999999,1', { spend: '100000000000.000000' }],
  ])('of CSV, %s', async (_, line, expected) => {
    const [, second] = await rowsOf(csvWith(line), AS_CSV);
    expect(second).toMatchObject(expected);
  });

  it('a report without a column that only another account requests, or without advertiser_id', async () => {
    const columns: Column[] = [
      ...SCHEMA.columns,
      { name: 'clicks', type: 'bigint', from: 'clicks' },
      { name: 'advertiser_id', type: 'string', from: 'advertiser_id' },
    ];
    const asked = columns.filter(({ name }) => name !== 'clicks');
    const [row] = await rowsOf(JSON.stringify([ROW]), { schema: { ...SCHEMA, columns }, columns: asked });
    expect(row).toMatchObject({ clicks: null, advertiser_id: null });
  });
});

it.each([
  ['7', '0.7'],
  ['7.0', '0.70'],
  ['7e0', '7e-1'],
  ['-7', '-0.7'],
  ['0', '0.0'],
])('a column of any type takes %s, or %s if it has no digits before the point', async (whole, fraction) => {
  // DuckDB stores decimals of up to 4, 9, 18 and 38 digits in different ways.
  const decimals = [1, 4, 5, 9, 10, 18, 19, 38].flatMap((digits) =>
    Array.from({ length: digits + 1 }, (_, scale): ColumnType => `decimal(${digits},${scale})`),
  );
  const columns = ['bigint' as const, 'double' as const, ...decimals].map(
    (type, at): Column => ({ name: `m${at}`, type, from: `m${at}` }),
  );
  const textOf = ({ type }: Column) => (/\((\d+),\1\)/.test(type) ? fraction : whole);
  const values = columns.map((column) => `"${column.name}":${textOf(column)}`);
  const given = { schema: { date_column: 'date', columns }, columns };
  const { sums } = await factsOf(`[{"date":"2026-10-01",${values}}]`, given);
  expect(sums).toEqual(
    Object.fromEntries(columns.map((column) => [column.name, `${Number(textOf(column))}`])),
  );
});

describe('a warning names', () => {
  it.each<[string, string, Given, RegExp]>([
    [
      'fields without a column',
      rowsWith({ campaign_id: 'b', country: 'US', Country: 'DE' }),
      {},
      /^the table leaves out fields that it has no column for: "Country", "country"$/,
    ],
    [
      'rows with the same date and dimensions',
      JSON.stringify([ROW, { ...ROW, spend: 2 }, { ...ROW, date: '2026-10-02' }]),
      {},
      /^rows with the same date and dimensions as another row: 1;/,
    ],
    [
      'a date before the window, if a row is not a day',
      rowsWith({ date: '2026-09-28' }),
      { schema: undefined, granularity: 'WEEK' },
      /^Row 2 .* 2026-09-28, which is outside the window/,
    ],
    [
      'a value without which there is no sum, if there is no table',
      rowsWith({ spend: 'n/a' }),
      { schema: undefined },
      /^the report has no sums: row 2 has "n\/a" in the column spend/,
    ],
  ])('%s', async (_, body, given, warning) => {
    const { warnings, table_problem } = await factsOf(body, given);
    expect(warnings).toEqual([expect.stringMatching(warning)]);
    expect(table_problem).toBeUndefined();
  });
});

describe('a report is empty if it is', () => {
  it.each<[string, string, Given]>([
    ['an empty array', ' [ ] ', {}],
    ['an object whose only array is empty', JSON.stringify({ total: 0, rows: [] }), {}],
    ['such an object one deeper', JSON.stringify({ message: 'OK', data: { rows: [] } }), {}],
    [
      'an object whose named array is empty',
      JSON.stringify({ rows: [], notes: [{ x: 1 }] }),
      { rows: 'rows' },
    ],
    ['a header of CSV', 'date,campaign_id,spend,impressions', AS_CSV],
  ])('%s', async (_, body, given) => {
    expect(await factsOf(body, given)).toEqual({
      rows: 0,
      sums: { spend: '0', impressions: '0' },
      days: [],
      warnings: [],
    });
  });
});

it.each<[string, object]>([
  ['an object with a metric', ROW],
  ['with a message and a status', { ...ROW, message: 'new', status: 'pending', error: 'x' }],
  ['with a list of texts', { ...ROW, tags: ['x'] }],
])('one row is %s', async (_, row) => {
  expect(await factsOf(JSON.stringify(row))).toMatchObject({ rows: 1, sums: { spend: '1' } });
});

describe('a file is delivered without its table if it has', () => {
  const [FIRST] = CSV.split('\n');

  it.each<[string, string, Given, string | RegExp]>([
    [
      '3.7 as a count',
      rowsWith({ impressions: 3.7 }),
      {},
      'row 2 has "3.7" in the column impressions, where bigint belongs',
    ],
    [
      'a count of 20 digits',
      rowsWithJson('impressions', '12345678901234567890'),
      {},
      'row 2 has "12345678901234567890"',
    ],
    [
      'an id of 17 digits and a point as a count',
      rowsWithJson('impressions', '12345678901234567.0'),
      {},
      'row 2 has "1.2345678901234568e+16"',
    ],
    [
      'such an id in CSV',
      csvWith('2026-10-01,a,1,12345678901234567.0'),
      AS_CSV,
      'row 2 has "12345678901234567.0"',
    ],
    [
      'money of 13 digits',
      rowsWith({ spend: 1234567890123 }),
      {},
      'row 2 has "1234567890123" in the column spend',
    ],
    ['a text as a number', rowsWith({ spend: 'n/a' }), {}, 'row 2 has "n/a" in the column spend'],
    ['an empty text as a number', rowsWith({ spend: '' }), {}, 'row 2 has "" in the column spend'],
    ['a number that ends with a point', rowsWith({ spend: '1.' }), {}, 'row 2 has "1."'],
    ['blanks around a number', rowsWith({ spend: ' 1' }), {}, 'row 2 has " 1"'],
    ['a number in hexadecimal', rowsWith({ impressions: '0x10' }), {}, 'row 2 has "0x10"'],
    ['a number with underscores', rowsWith({ spend: '1_000' }), {}, 'row 2 has "1_000"'],
    ['a long text as a number', rowsWith({ spend: 'x'.repeat(50) }), {}, `row 2 has "${'x'.repeat(40)}…"`],
    ['NaN', rowsWithJson('spend', 'NaN'), {}, 'row 2 has "NaN"'],
    [
      'infinity',
      rowsWithJson('spend', '1e400'),
      { schema: withColumn({ name: 'spend', type: 'double' }) },
      'row 2 has "1e400"',
    ],
    ['a nested value as a number', rowsWith({ spend: [1] }), {}, 'row 2 has "[1]" in the column spend'],
    [
      'a timestamp as a date',
      rowsWith({ date: '2026-10-01T00:00:00Z' }),
      {},
      'row 2 has "2026-10-01T00:00:00Z" in the column date, where a date belongs',
    ],
    ['February 30', rowsWith({ date: '2026-02-30' }), {}, 'row 2 has "2026-02-30" in the column date'],
    ['no date', rowsWith({ date: null }), {}, 'row 2 has no value in the column date'],
    ['rows that are no objects', '[1, [2]]', {}, 'no row has "date", "campaign_id", "spend", "impressions"'],
    ['a row that is no object', JSON.stringify([ROW, 'x']), {}, 'row 2 has no value in the column date'],
    [
      'a missing metric',
      JSON.stringify([{ ...ROW, impressions: undefined }]),
      {},
      'no row has "impressions"',
    ],
    ['a missing date', JSON.stringify([{ ...ROW, date: undefined }]), {}, 'no row has "date"'],
    ['display names', JSON.stringify([{ Day: '2026-10-01', 'Spend (USD)': 5 }]), {}, 'no row has "date"'],
    ['a list of errors', JSON.stringify({ errors: [{ code: 1 }] }), {}, 'no row has "date"'],
    [
      'Spend next to spend',
      rowsWith({ Spend: 2 }),
      {},
      'several fields have the same name, whatever its case: "spend", "Spend"',
    ],
    [
      'Spend in another row',
      JSON.stringify([ROW, { ...ROW, spend: undefined, SPEND: 2 }]),
      {},
      '"spend", "SPEND"',
    ],
    [
      'a repeated field',
      rowsWith({}).replace(/"spend":1,(?=[^{]*$)/, '"spend":1,"spend":2,'),
      {},
      '"spend", "spend"',
    ],
    [
      'a repeated field in all rows',
      JSON.stringify([ROW]).replace('"spend":1', '"spend":1,"spend":2'),
      {},
      '"spend", "spend"',
    ],
    [
      'several arrays of objects',
      JSON.stringify({ a: [ROW], data: { b: [ROW] } }),
      {},
      /^the file is an object with several arrays of objects; set "rows" to .* It begins with "{\\"a\\":\[{/,
    ],
    [
      'no array where the request says',
      JSON.stringify({ a: [ROW] }),
      { rows: 'data.items' },
      'no array of objects at "data.items"; set "rows"',
    ],
    [
      'CSV with other delimiters',
      CSV.replaceAll(',', ';'),
      AS_CSV,
      `the first line of the CSV file names no column: "date;campaign_id;spend;impressions"`,
    ],
    ['CSV without a header', CSV.replace(`${FIRST}\n`, ''), AS_CSV, 'names no column: "2026-10-01,b,0.1,3"'],
    ['a text instead of CSV', 'Service unavailable\n', AS_CSV, 'names no column: "Service unavailable"'],
    [
      'a CSV row with more fields',
      csvWith('2026-10-03,a,1,2,3'),
      AS_CSV,
      'rows of the CSV file have more fields than its first line',
    ],
    [
      'CSV with a column missing',
      'date,campaign_id,spend\n2026-10-01,a,1\n',
      AS_CSV,
      'no row has "impressions"',
    ],
    ['an empty CSV with a column missing', 'date,campaign_id,spend\n', AS_CSV, 'no row has "impressions"'],
    [
      'CSV with a name twice',
      'date,campaign_id,spend,spend,impressions\n2026-10-01,a,1,2,3\n',
      AS_CSV,
      '"spend", "spend"',
    ],
    [
      '3.7 as a count in CSV',
      csvWith('2026-10-01,a,1,3.7'),
      AS_CSV,
      'row 2 has "3.7" in the column impressions',
    ],
    [
      'several of these',
      csvWith('2026-10-01,a,x,1,2').replace('impressions', 'Spend'),
      AS_CSV,
      /more fields.*; several fields.*"spend", "Spend"; no row has "impressions"; row 2 has "x"/,
    ],
  ])('%s', async (_, body, given, problem) => {
    const { table_problem, ...found } = await factsOf(body, given);
    if (typeof problem === 'string') expect(table_problem).toContain(problem);
    else expect(table_problem).toMatch(problem);
    expect(found).toMatchObject({ sums: {}, days: [] });
  });

  it('a value that does not fit, and its rows and dates are counted all the same', async () => {
    const facts = await factsOf(rowsWith({ date: '2026-10-03', spend: 'n/a' }));
    expect(facts).toMatchObject({ rows: 2, first_date: '2026-10-01', last_date: '2026-10-03' });
  });
});

describe('a file is no report if it', () => {
  it.each<[string, string | Buffer, Given, RegExp]>([
    ['is empty', '', {}, /is empty/],
    ['is blank', ' \n', {}, /is empty/],
    ['is empty CSV', '', AS_CSV, /is empty/],
    ['is HTML', '<!DOCTYPE html><html></html>', {}, /HTML or XML/],
    ['is XML instead of CSV', '\n<Error><Code>SlowDown</Code></Error>', AS_CSV, /HTML or XML/],
    ['is not JSON', 'date,spend', {}, /is not JSON: it begins with "date,spend"/],
    ['is JSON instead of CSV', ' [{"date":"2026-10-01"}]', AS_CSV, /is JSON, but CSV was requested/],
    ['is cut after a comma', '[{"date":"2026-10-01"},', {}, /cut off/],
    ['is cut in a row', '[{"date":"2026-10-01"},{"date":"2026-1', {}, /cut off/],
    [
      'is cut in a name',
      '[{"date":"2026-10-01"},\n{"date":"2026-10-01","sp]',
      {},
      /unexpected end of data\. It/,
    ],
    ['is cut in a line', `${LINES}\n{"date":`, {}, /cut off/],
    ['is cut in a value of a line', `${LINES}\n{"a":"}`, {}, /unexpected end of data/],
    ['is a cut object', '{"rows":[{"date":"2026-10-01"},', {}, /cut off/],
    ['is an object cut after a row', '{"rows":[{"date":"2026-10-01"}', {}, /cut off/],
    ['is broken JSON', '[{"date":"2026-10-01",,}]', {}, /cannot be read: Malformed JSON, at byte 22/],
    ['is broken beside its rows', '{"rows":[{"date":"2026-10-01"}],,"a":{}}', {}, /cannot be read/],
    ['goes on after its array', `[${JSON.stringify(ROW)}] []`, {}, /cannot be read/],
    ['has a row after its array', `[${JSON.stringify(ROW)}]${JSON.stringify(ROW)}]`, {}, /cannot be read/],
    [
      'has rows after its array',
      `[${JSON.stringify(ROW)}]\n ${JSON.stringify(ROW)},${JSON.stringify(ROW)}]`,
      {},
      /cannot be read/,
    ],
    ['is not UTF-8', Buffer.from('[{"campaign_id":"\xff"}]', 'latin1'), {}, /UTF-8/],
    ['is CSV that is not UTF-8', Buffer.from(csvWith('2026-10-01,\xff,1,2'), 'latin1'), AS_CSV, /unicode/],
    ['has a CSV row with fewer fields', `${CSV}2026-10-0`, AS_CSV, /Expected Number of Columns: 4 Found: 1/],
    [
      'has such a row after one with more fields',
      `${csvWith('2026-10-03,a,1,2,3')}2026-10-0`,
      AS_CSV,
      /Expected Number/,
    ],
    ['has an open quote in CSV', csvWith('2026-10-03,"a,1,2'), AS_CSV, /has a quote that is never closed/],
    [
      'has an open quote in its header',
      CSV.replace('date,', 'date,"'),
      AS_CSV,
      /has a quote that is never closed/,
    ],
    [
      'has an open quote and others',
      csvWith('2026-10-03,"a",1,2').replace('date,', 'date,"'),
      AS_CSV,
      /has a quote in the middle/,
    ],
    ['is labeled as gzip', '[]', { content_encoding: 'gzip' }, /labeled as gzip/],
    ['is cut gzip', gzipSync(TEXT).subarray(0, 40), {}, /labeled as gzip/],
    [
      'has a date before the window',
      rowsWith({ date: '2026-09-30' }),
      {},
      /Row 2 .* 2026-09-30, which is outside the window/,
    ],
    ['has the end of the window', csvWith('2026-10-04,a,1,2'), AS_CSV, /Row 2 .* 2026-10-04/],
    ['has another date, without a table', '[{"date":"2026-10-04"}]', { schema: undefined }, /outside/],
    [
      'has another date and a value that does not fit',
      rowsWith({ date: '2026-10-04', spend: 'x', Spend: 1 }),
      {},
      /outside/,
    ],
    ['has another date and lacks a metric', '[{"date":"2026-10-04"}]', {}, /outside/],
    ['has another date and more fields', csvWith('2026-10-04,a,1,2,3'), AS_CSV, /outside/],
    [
      'is an object without rows or metrics',
      '{"error":"x","campaign_id":1,"details":["y"]}',
      {},
      /or a requested metric: it has "error", "campaign_id", "details"/,
    ],
    ['is such a line', '{"error":"x"}\n', { content_type: 'application/x-ndjson' }, /or a requested metric/],
    ['is an empty object', '{}', {}, /it has no fields/],
    ['is an object without a named array', '{"error":"x"}', { rows: 'data' }, /or a requested metric/],
    [
      'is an object without metrics, without a table',
      '{"error":"x"}',
      { schema: undefined },
      /or a requested metric/,
    ],
  ])('%s', async (_, body, given, message) => {
    await expect(factsOf(body, given)).rejects.toMatchObject({
      name: 'DownloadRefused',
      message: expect.stringMatching(message),
    });
  });
});
