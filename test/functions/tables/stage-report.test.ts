import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Column, ColumnType } from '../../../functions/workflow/table.ts';
import {
  AS_CSV,
  CSV,
  csvWith,
  factsOf,
  LINES,
  ROW,
  ROWS,
  rowsOf,
  rowsWith,
  rowsWithJson,
  SCHEMA,
  type StageOptions,
  TEXT,
  withColumn,
} from './reports.ts';

const FACTS = {
  rows: 3,
  first_date: '2026-10-01',
  last_date: '2026-10-03',
  sums: { spend: '12.645678', impressions: '12' },
  days: [
    { day: '2026-10-01', rows: 2, sums: { spend: '0.3', impressions: '7' } },
    { day: '2026-10-03', rows: 1, sums: { spend: '12.345678', impressions: '5' } },
  ],
  absent: [],
  warnings: [],
};

it.each<[string, string | Buffer, StageOptions?]>([
  ['a JSON array', TEXT],
  ['a JSON array on several lines', JSON.stringify(ROWS, null, 2)],
  ['JSON with a byte order mark', `\ufeff${TEXT}`],
  ['NDJSON', LINES, { content_type: 'application/x-ndjson' }],
  ['NDJSON labeled as JSON', `${LINES}\n`],
  ['NDJSON with a byte order mark', `\ufeff${LINES}\n`],
  ['JSON objects on several lines', ROWS.map((row) => JSON.stringify(row, null, 1)).join('\n')],
  ['an object that holds the array', JSON.stringify({ total: 3, rows: ROWS, meta: { note: ']' } })],
  ['such an object on several lines', JSON.stringify({ rows: ROWS, 'a[': '}' }, null, 2)],
  ['an array one object deeper', JSON.stringify({ message: 'OK', data: { total: 3, rows: ROWS } })],
  ['an array beside lists', JSON.stringify({ errors: [], error: null, metrics: ['spend'], rows: ROWS })],
  ['a named array', JSON.stringify({ rows: [{ x: 1 }], a: { b: { c: ROWS } } }), { rows: 'a.b.c' }],
  [
    'one beside a longer one',
    JSON.stringify({ data: { items: ROWS, more: [...ROWS, ...ROWS] } }),
    { rows: 'data.items' },
  ],
  ['an array, although the request names one', TEXT, { rows: 'data' }],
  ['gzip without a label', gzipSync(TEXT)],
  ['an object in gzip', gzipSync(JSON.stringify({ rows: ROWS }))],
  ['CSV in gzip without a label', gzipSync(CSV), AS_CSV],
  ['JSON in gzip, twice', gzipSync(gzipSync(TEXT))],
  ['names in another case', TEXT.replaceAll('spend', 'Spend').replaceAll('date', 'Date')],
  ['CSV', CSV, AS_CSV],
  ['CSV with a byte order mark and CRLF', `\ufeff${CSV.replaceAll('\n', '\r\n')}`, AS_CSV],
  ['CSV without a last line break', CSV.trim(), { format: 'csv' }],
  ['CSV with lines of blanks', `${CSV.replaceAll('\n', '\n \t\n')}   \n`, AS_CSV],
  ['CSV with lines of commas', `${CSV.replace('\n', '\n, ,,\n')},,,\n`, AS_CSV],
  ['CSV with Ctrl-Z at its end', `${CSV}\u001a`, AS_CSV],
  ['CSV with Ctrl-Z after its last value', `${CSV.trim()}\u001a\r\n`, AS_CSV],
  ['CSV with NUL at its end', `${CSV}\0\0\0`, AS_CSV],
  ['JSON with NUL and Ctrl-Z at its end', `${TEXT}\n\0 \u001a\n`],
  ['lines with Ctrl-Z at their end', `${LINES}\n\u001a`],
  ['an object with Ctrl-Z at its end', `${JSON.stringify({ rows: ROWS })}\u001a`],
  ['JSON with Ctrl-Z in gzip', gzipSync(`${TEXT}\u001a`)],
  ['two files of CSV that were joined', CSV.replace('2026-10-03', '\ufeff2026-10-03'), AS_CSV],
  ['JSON, although CSV was requested', TEXT, AS_CSV],
  ['JSON in UTF-16', Buffer.from(`\ufeff${TEXT}`, 'utf16le')],
  ['JSON in UTF-16 without a mark', Buffer.from(TEXT, 'utf16le').swap16()],
  ['lines in UTF-16', Buffer.from(`\ufeff${LINES}\n`, 'utf16le')],
  ['an object in UTF-16', Buffer.from(`\ufeff${JSON.stringify({ rows: ROWS })}`, 'utf16le').swap16()],
  [
    'CSV in UTF-16',
    Buffer.from(`\ufeff${CSV}`, 'utf16le'),
    { ...AS_CSV, content_type: 'text/csv; charset=utf-8' },
  ],
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
])('the same rows have the same facts as %s', async (_, body, options) => {
  expect(await factsOf(body, options)).toEqual(FACTS);
});

it.each<[string, Buffer, string, string]>([
  ['cp1252', Buffer.from('Pi\xf1a \x80', 'latin1'), 'Piña €', 'text/csv; charset=Cp1252'],
  ['Shift_JIS', Buffer.from([0x83, 0x79, 0x83, 0x93]), 'ペン', 'text/csv;charset="Shift_JIS"'],
  ['UTF-8, although another one is named', Buffer.from('Piña'), 'Piña', 'text/csv; charset=iso-8859-1'],
])('text in %s is decoded, in CSV and in JSON', async (_, bytes, campaign_id, content_type) => {
  const csv = Buffer.concat([
    Buffer.from('date,campaign_id,spend,impressions\n2026-10-01,'),
    bytes,
    Buffer.from(',1,1\n'),
  ]);
  const json = Buffer.concat([
    Buffer.from('[{"date":"2026-10-01","campaign_id":"'),
    bytes,
    Buffer.from('","spend":1,"impressions":1}]'),
  ]);
  const row = expect.objectContaining({ campaign_id, spend: '1.000000' });
  expect(await rowsOf(csv, { ...AS_CSV, content_type })).toEqual([row]);
  expect(await rowsOf(json, { content_type })).toEqual([row]);
});

describe('the table takes', () => {
  it.each<[string, string, object]>([
    ['null', rowsWith({ campaign_id: null, spend: null }), { campaign_id: null, spend: null }],
    ['absent fields', rowsWith({ campaign_id: undefined }), { campaign_id: null }],
    ['emoji', rowsWith({ campaign_id: 'a 😀' }), { campaign_id: 'a 😀' }],
    ['brackets in a text', rowsWith({ campaign_id: '[EU] {a}' }), { campaign_id: '[EU] {a}' }],
    ['line breaks and NUL', rowsWith({ campaign_id: 'a\n\u0000"b"' }), { campaign_id: 'a\n\u0000"b"' }],
    ['a nested value, as JSON', rowsWith({ campaign_id: { id: ['a'] } }), { campaign_id: '{"id":["a"]}' }],
    [
      'numbers as texts',
      rowsWith({ spend: '5.123456', impressions: '7' }),
      { spend: '5.123456', impressions: '7' },
    ],
    ['5.0 as a count', rowsWithJson('impressions', '5.0'), { impressions: '5' }],
    ['1e5 as a count', rowsWithJson('impressions', '1e5'), { impressions: '100000' }],
    ['an id', rowsWithJson('campaign_id', '123456789012345678901'), { campaign_id: '123456789012345678901' }],
    [
      'numbers without digits on one side',
      rowsWith({ spend: '-.25', impressions: '5.' }),
      { spend: '-0.250000', impressions: '5' },
    ],
    [
      'numbers with a sign',
      rowsWith({ spend: '+.5', impressions: '+5' }),
      { spend: '0.500000', impressions: '5' },
    ],
    [
      'numbers and dates with blanks around them',
      rowsWith({ date: ' 2026-10-02 ', spend: ' 7 ', impressions: ' 9007199254740993' }),
      { date: '2026-10-02', spend: '7.000000', impressions: '9007199254740993' },
    ],
    ['0.99e-7, rounded once', rowsWith({ spend: '0.99e-7' }), { spend: '0.000000' }],
    ['0.99e-7 as a number', rowsWithJson('spend', '0.99e-7'), { spend: '0.000000' }],
    [
      '15 digits with an exponent',
      rowsWith({ spend: '-123456789012.1234565E+0' }),
      { spend: '-123456789012.123457' },
    ],
    ['an exponent that makes it 0', rowsWith({ spend: '1e-99999999999' }), { spend: '0.000000' }],
    ['an exponent for each digit', rowsWith({ spend: '+.123456789e9' }), { spend: '123456789.000000' }],
    ['a small number', rowsWith({ spend: 0.000015 }), { spend: '0.000015' }],
    ['a double, rounded', rowsWithJson('spend', '64.34567799999999'), { spend: '64.345678' }],
    ['many decimals in a text, rounded', rowsWith({ spend: '0.1234567' }), { spend: '0.123457' }],
    ['a tiny number, rounded', rowsWithJson('spend', '1e-20'), { spend: '0.000000' }],
    ['a large number', rowsWithJson('spend', '1.23456789015e10'), { spend: '12345678901.500000' }],
    ['negatives', rowsWith({ spend: -1.5, impressions: -1 }), { spend: '-1.500000', impressions: '-1' }],
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
    ['quoted line breaks', '2026-10-01,"a\nb, ""c""\r\nd",1,2', { campaign_id: 'a\nb, "c"\r\nd' }],
    ['an inch', '2026-10-01,5" tv,1,2', { campaign_id: '5" tv' }],
    ['empty fields, as NULL', '2026-10-02,,,', { campaign_id: null, spend: null, impressions: null }],
    ['quotes around a number with blanks', '2026-10-01,a," 1.5 ",1', { spend: '1.500000' }],
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

/** Columns whose fields are inside of objects. */
const NESTED: StageOptions = {
  schema: {
    date_column: 'dimensions.stat_time_day',
    columns: SCHEMA.columns.map((column) => ({
      ...column,
      from: `${column.type === 'string' ? 'dimensions' : 'metrics'}.${column.from}`,
    })),
  },
};
const NESTED_ROWS = ROWS.map(({ date, campaign_id, ...metrics }) => ({
  dimensions: { stat_time_day: date, campaign_id },
  metrics,
}));

describe('fields inside of objects', () => {
  it.each<[string, string]>([
    ['an array', JSON.stringify(NESTED_ROWS)],
    ['an object', JSON.stringify({ data: { list: NESTED_ROWS } })],
    ['lines', NESTED_ROWS.map((row) => JSON.stringify(row)).join('\n')],
    [
      'rows with the names of others first',
      JSON.stringify(NESTED_ROWS.map((row, at) => (at === 2 ? { id: 7, ...row } : row))),
    ],
  ])('are columns, in %s', async (_, body) => {
    const { rows, sums, days } = FACTS;
    expect(await factsOf(body, NESTED)).toMatchObject({ rows, sums, days });
  });

  it('are columns beside names with a point, which come first', async () => {
    const schema = withColumn({ name: 'spend', from: 'metrics.spend' });
    const [flat] = await rowsOf(
      rowsWith({ 'metrics.spend': 5, metrics: { spend: 7 } }).replace(/.*?\},/, '['),
      { schema },
    );
    expect(flat).toMatchObject({ spend: '5.000000' });
    const csv = CSV.replace('spend', 'metrics.spend');
    expect(await factsOf(csv, { ...AS_CSV, schema })).toMatchObject({ rows: 3, sums: FACTS.sums });
  });

  it('take other values than objects, and objects deeper', async () => {
    const schema = withColumn({ name: 'campaign_id', from: 'a.b/c.d' });
    const rows = [
      { ...ROW, a: 'text' },
      { ...ROW, a: { 'b/c': { d: { e: 1 } } } },
      { ...ROW, a: null },
    ];
    const facts = await factsOf(JSON.stringify(rows), { schema });
    expect(facts.table_problem).toBeUndefined();
    const texts = (await rowsOf(JSON.stringify(rows), { schema })).map(({ campaign_id }) => campaign_id);
    expect(texts).toEqual([null, '{"e":1}', null]);
  });

  it('are a table problem if no row has them', async () => {
    const schema = withColumn({ name: 'campaign_id', from: 'dimensions.campaign' });
    const facts = await factsOf(JSON.stringify([{ ...ROW, dimensions: { x: 1 } }]), { schema });
    expect(facts.table_problem).toBe('no row has "dimensions.campaign"');
  });

  it('of one object, are a row if it also has an inner list', async () => {
    const [row] = NESTED_ROWS;
    expect(await factsOf(JSON.stringify({ ...row, actions: [{ value: 7 }] }), NESTED)).toMatchObject({
      rows: 1,
      sums: { spend: '0.1' },
    });
    const unclear = await factsOf(JSON.stringify({ ...row, parts: NESTED_ROWS }), NESTED);
    expect(unclear.table_problem).toContain(
      'an object with a date and a metric that has an array of such objects',
    );
  });
});

it('a metric that no row of JSON has is named, and its sum is unknown', async () => {
  const rows = JSON.stringify([{ ...ROW, impressions: undefined }]);
  const facts = { rows: 1, absent: ['impressions'], sums: { spend: '1', impressions: null } };
  expect(await factsOf(rows)).toMatchObject(facts);
  expect(await factsOf(rows, { schema: undefined })).toMatchObject(facts);
  expect(await factsOf(JSON.stringify([{ ...ROW, impressions: null }]))).toMatchObject({ absent: [] });
});

describe('a field of a row that is left out, because its day is beside the window', () => {
  const BEFORE = { ...ROW, date: '2026-09-30' };
  const LACKING = { ...ROW, impressions: undefined };
  const NESTED_IMPRESSIONS = { schema: withColumn({ name: 'impressions', from: 'metrics.impressions' }) };

  it.each<[string, readonly object[], StageOptions?]>([
    ['in one of the rows', [LACKING, BEFORE, LACKING]],
    ['in most rows', [BEFORE, LACKING, { ...BEFORE, date: '2026-10-04' }]],
    [
      'inside of an object',
      [
        { ...BEFORE, metrics: { impressions: 1 } },
        { ...ROW, metrics: {} },
      ],
      NESTED_IMPRESSIONS,
    ],
  ])('counts as a metric that no row has, %s', async (_, rows, options) => {
    const facts = await factsOf(JSON.stringify(rows), options);
    expect(facts).toMatchObject({ absent: ['impressions'], sums: { impressions: null } });
    expect(facts.table_problem).toBeUndefined();
  });

  it.each<[string, readonly object[], StageOptions?]>([
    ['in the row', [BEFORE, { ...ROW, impressions: null }]],
    [
      'inside of an object',
      [
        { ...BEFORE, metrics: { impressions: 1 } },
        { ...ROW, metrics: { impressions: null } },
      ],
      NESTED_IMPRESSIONS,
    ],
  ])('counts as a metric of the window if a row there has it as null, %s', async (_, rows, options) => {
    expect(await factsOf(JSON.stringify(rows), options)).toMatchObject({
      absent: [],
      sums: { impressions: null },
    });
  });

  it('is a table problem if it is a dimension that no row of the window has', async () => {
    const { table_problem } = await factsOf(JSON.stringify([BEFORE, { ...ROW, campaign_id: undefined }]));
    expect(table_problem).toBe('no row has "campaign_id"');
  });

  it('is no table problem if its row repeats it', async () => {
    const rows = JSON.stringify([ROW, { ...BEFORE, Spend: 2 }]);
    expect((await factsOf(rows)).table_problem).toBeUndefined();
  });

  it('shows that a single object is a row', async () => {
    await expect(factsOf(JSON.stringify(BEFORE))).rejects.toThrow(
      /No row of the file has a date in the window/,
    );
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
  const options = { schema: { date_column: 'date', columns }, columns };
  const { sums } = await factsOf(`[{"date":"2026-10-01",${values}}]`, options);
  expect(sums).toEqual(
    Object.fromEntries(columns.map((column) => [column.name, `${Number(textOf(column))}`])),
  );
});

it.each([
  ['0.0000000000064', '0.0000000000064'],
  ['1000000000000000000000', '1000000000000000000000'],
  // The double itself is below the half.
  ['2473884.789525', '2473884.78952'],
])('a sum of doubles of %s is %s', async (value, spend) => {
  const schema = withColumn({ name: 'spend', type: 'double' });
  const facts = await factsOf(JSON.stringify([{ ...ROW, spend: Number(value) }]), { schema });
  expect(facts).toMatchObject({ sums: { spend } });
});

const bigint = (name: string): Column => ({ name, type: 'bigint', from: name });

it.each<[string, string, RegExp, StageOptions?]>([
  [
    'other fields',
    rowsWith({ campaign_id: 'b', country: 'US', Country: 'DE', shape: 5, duplicates: 7 }),
    /^the table leaves out fields .*: "Country", "country"$/,
    { schema: { ...SCHEMA, columns: [...SCHEMA.columns, bigint('shape'), bigint('duplicates')] } },
  ],
  [
    'rows with the same date and dimensions',
    JSON.stringify([ROW, { ...ROW, spend: 2 }, { ...ROW, date: '2026-10-02' }]),
    /^rows with the same date and dimensions as another row: 1;/,
  ],
  [
    'rows of the day before the window, which are left out',
    rowsWith({ date: '2026-09-30' }),
    /^rows of the day before or after the window 2026-10-01 to 2026-10-03 are left out: 1; .* row 2 with 2026-09-30$/,
  ],
  [
    'rows of the day after the window',
    csvWith('2026-10-04,a,1,2'),
    /are left out: 1; the first is row 2 with 2026-10-04$/,
    AS_CSV,
  ],
  [
    'such rows, also with a value that does not fit',
    rowsWith({ date: '2026-10-04', spend: 'n/a' }),
    /are left out: 1;/,
  ],
  [
    'a value without which there is no sum, if there is no table',
    rowsWith({ spend: 'n/a' }),
    /^the report has no sums: row 2 has "n\/a" in the column spend/,
    { schema: undefined },
  ],
])('a warning names %s', async (_, body, warning, options) => {
  const { warnings } = await factsOf(body, options);
  expect(warnings).toEqual([expect.stringMatching(warning)]);
});

it('a row may begin before the window if it is not a day', async () => {
  const weekly = { schema: undefined, granularity: 'WEEK' };
  expect(await factsOf(rowsWith({ date: '2026-09-28' }), weekly)).toMatchObject({ rows: 2, warnings: [] });
});

it.each<[string, string, StageOptions?]>([
  ['an empty array', ' [ ] '],
  ['such an object one deeper', JSON.stringify({ data: { rows: [] } }), { rows: 'data.rows' }],
  ['an object whose named array is empty', JSON.stringify({ rows: [], notes: [{ x: 1 }] }), { rows: 'rows' }],
  ['a header of CSV', 'date,campaign_id,spend,impressions', AS_CSV],
])('a report is empty if it is %s', async (_, body, options) => {
  expect(await factsOf(body, options)).toEqual({
    rows: 0,
    sums: { spend: '0', impressions: '0' },
    days: [],
    absent: [],
    warnings: [],
  });
});

it.each<[string, object]>([
  ['an object with a metric', ROW],
  ['with an inner list of objects', { ...ROW, actions: [{ type: 'x', value: 7 }] }],
  [
    'with several inner lists of objects',
    { ...ROW, days: [{ date: '2026-10-01' }], sums: [{ spend: 7 }], more: { a: [{ b: 1 }] } },
  ],
  ['with a message and a status', { ...ROW, message: 'new', status: 'pending', error: 'x' }],
  ['with lists of texts, one of them empty', { ...ROW, tags: ['x'], labels: [] }],
])('one row is %s', async (_, row) => {
  expect(await factsOf(JSON.stringify(row))).toMatchObject({ rows: 1, sums: { spend: '1' } });
});
