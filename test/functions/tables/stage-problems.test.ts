import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  AS_CSV,
  CSV,
  csvWith,
  factsOf,
  LINES,
  ROW,
  rowsWith,
  rowsWithJson,
  type StageOptions,
  TEXT,
  withColumn,
} from './reports.ts';

const REPEATED = 'several fields have the same name, whatever its case: "a.spend", "a.spend"';
const REPEATED_DEEP = 'several fields have the same name, whatever its case: "a.b.spend", "a.b.spend"';

/** The spend is a field inside of an object. */
function spendFrom(from: string): StageOptions {
  return { schema: withColumn({ name: 'spend', from }) };
}

describe('a file is delivered without its table if it has', () => {
  const [FIRST] = CSV.split('\n');

  it.each<[string, string | Buffer, string | RegExp, StageOptions?]>([
    ['3.7 as a count', rowsWith({ impressions: 3.7 }), '"3.7" in the column impressions, where bigint'],
    ['a long count', rowsWithJson('impressions', '12345678901234567890'), 'has "12345678901234567890"'],
    ['a long id as a count', rowsWithJson('impressions', '12345678901234567.0'), '"1.2345678901234568e+16"'],
    ['money of 13 digits', rowsWith({ spend: 1234567890123 }), 'row 2 has "1234567890123"'],
    ['a text as a number', rowsWith({ spend: 'n/a' }), 'row 2 has "n/a" in the column spend'],
    ['an empty text as a number', rowsWith({ spend: '' }), 'row 2 has "" in the column spend'],
    ['a number in hexadecimal', rowsWith({ impressions: '0x10' }), 'row 2 has "0x10"'],
    ['a number with underscores', rowsWith({ spend: '1_000' }), 'row 2 has "1_000"'],
    ['a long text as a number', rowsWith({ spend: 'x'.repeat(50) }), `row 2 has "${'x'.repeat(40)}…"`],
    ['NaN', rowsWithJson('spend', 'NaN'), 'row 2 has "NaN"'],
    [
      'infinity',
      rowsWithJson('spend', '1e400'),
      'row 2 has "1e400"',
      { schema: withColumn({ name: 'spend', type: 'double' }) },
    ],
    ['a nested value as a number', rowsWith({ spend: [1] }), 'row 2 has "[1]" in the column spend'],
    ['a timestamp', rowsWith({ date: '2026-10-01T00:00:00Z' }), 'in the column date, where a date belongs'],
    ['February 30', rowsWith({ date: '2026-02-30' }), 'row 2 has "2026-02-30" in the column date'],
    ['no date', rowsWith({ date: null }), 'row 2 has no value in the column date'],
    ['rows that are no objects', '[1, [2]]', 'no row has "date", "campaign_id", "spend", "impressions"'],
    ['a row that is no object', JSON.stringify([ROW, 'x']), 'row 2 has no value in the column date'],
    ['a missing date', JSON.stringify([{ ...ROW, date: undefined }]), 'no row has "date"'],
    ['Spend and spend', rowsWith({ Spend: 2 }), 'have the same name, whatever its case: "spend", "Spend"'],
    ['SPEND in a row', JSON.stringify([ROW, { ...ROW, spend: undefined, SPEND: 2 }]), '"spend", "SPEND"'],
    ['a field twice', rowsWithJson('x', '1,"spend":2'), '"spend", "spend"'],
    [
      'a field twice in an object',
      rowsWithJson('a', '{"spend":3,"spend":4}'),
      REPEATED,
      spendFrom('a.spend'),
    ],
    [
      'an object twice in an object',
      rowsWithJson('a', '{"b":{"spend":3},"b":{}}'),
      REPEATED_DEEP,
      spendFrom('a.b.spend'),
    ],
    ['an object of columns twice', rowsWithJson('a', '{"spend":3},"a":{}'), '"a", "a"', spendFrom('a.spend')],
    ['a field twice in all rows', '[{"date":"2026-10-01","spend":1,"spend":2}]', '"spend", "spend"'],
    [
      'several arrays of objects',
      JSON.stringify({ a: [ROW], data: { b: [ROW] } }),
      /^the file is an object with several arrays of objects; set "rows" to .* It begins with "{\\"a\\":\[{/,
    ],
    ['several of one name', '{"a":[{"spend":1}],"a":[{"spend":1}]}', 'several arrays of objects'],
    ['no array there', JSON.stringify({ a: [ROW] }), 'no array at "data.items"', { rows: 'data.items' }],
    ['another format', 'PK', 'files of format XLSX cannot be read', { format: 'XLSX' }],
    [
      'CSV with other delimiters',
      CSV.replaceAll(',', ';'),
      'names no column: "date;campaign_id;spend;impressions"',
      AS_CSV,
    ],
    ['CSV without a header', CSV.replace(`${FIRST}\n`, ''), 'names no column: "2026-10-01", "b"', AS_CSV],
    ['a text instead of CSV', 'Service unavailable\n', 'names no column: "Service unavailable"', AS_CSV],
    [
      'a CSV row with more fields',
      csvWith('2026-10-03,a,1,2,3'),
      'line 3 of the CSV file has 5 fields, and its header 4 fields: "2026-10-03,a,1,2,3"',
      AS_CSV,
    ],
    ['a CSV row with fewer fields', `${CSV}2026-10-0`, 'line 5 of the CSV file has 1 field, and', AS_CSV],
    [
      'a footer after quoted line breaks',
      csvWith('2026-10-03,"a\r\nb\n",1,2\n\nTotal: 2 rows'),
      'line 7 of the CSV file has 1 field, and its header 4 fields: "Total: 2 rows"',
      AS_CSV,
    ],
    ['a row of totals', csvWith('Total,,3,20'), 'row 2 has "Total" in the column date', AS_CSV],
    [
      'an open quote in CSV',
      csvWith('2026-10-03,"a,1,2'),
      'line 3 of the CSV file cannot be read: Quoted',
      AS_CSV,
    ],
    [
      'an open quote in its header',
      CSV.replace('date,', 'date,"'),
      'line 1 of the CSV file cannot be',
      AS_CSV,
    ],
    ['text after a quote', csvWith('2026-10-03,"a"b,1,2'), /line 3 of .*: Trailing quote on quoted/, AS_CSV],
    [
      'an open quote before 3 million characters',
      csvWith(`2026-10-03,"${'a,1,2\n'.repeat(500_000)}`),
      'line 3 of the CSV file is longer than 2000000 characters, or a quote in it is not closed',
      AS_CSV,
    ],
    ['CSV without a column', 'date,campaign_id,spend\n2026-10-01,a,1\n', 'no row has "impressions"', AS_CSV],
    ['CSV with carriage returns', CSV.replaceAll('\n', '\r'), 'end with a carriage return alone', AS_CSV],
    ['half of an emoji', rowsWith({ campaign_id: 'a\ud83d' }), 'a text of the file has half of a character'],
    ['items of the named array that are no objects', '{"rows":[1]}', 'no row has "date"', { rows: 'rows' }],
    ['an empty CSV with a column missing', 'date,campaign_id,spend\n', 'no row has "impressions"', AS_CSV],
    [
      'no metric',
      JSON.stringify([{ date: '2026-10-01', campaign_id: 'a' }]),
      'no row has "spend", "impressions"',
    ],
    ['a missing dimension', JSON.stringify([{ ...ROW, campaign_id: undefined }]), 'no row has "campaign_id"'],
    [
      'a date further away',
      rowsWith({ date: '2026-10-05' }),
      'row 2 has the date 2026-10-05, which is outside the window 2026-10-01 to 2026-10-03; this may be another',
    ],
    [
      'a mark inside',
      csvWith('2026-10-03,a,\ufeff1\u00a0000,2'),
      String.raw`row 2 has "\ufeff1\u00a0000" in the`,
      AS_CSV,
    ],
    ['text instead of JSON', 'date,spend', 'the file is not JSON: it begins with "date,spend"'],
    [
      'broken JSON',
      '[{"date":"2026-10-01"},\n{"date":"2026-10-01",,}]',
      'the file cannot be read as JSON: unexpected character; line 2 begins with "{\\"date\\":\\"2026-10-01\\",,}]"',
    ],
    ['broken JSON beside its rows', '{"rows":[{"date":"2026-10-01"}],,"a":{}}', 'cannot be read as JSON'],
    ['text after its array', `[${JSON.stringify(ROW)}] []`, 'the file cannot be read as JSON'],
    ['a footer after its array', `[${JSON.stringify(ROW)}]\n# 1 row`, 'line 2 begins with "# 1 row"'],
    ['a comma after its array', `[${JSON.stringify(ROW)}],`, 'the file cannot be read as JSON'],
    ['a footer after lines', `${LINES}\nTotal: 3`, 'line 4 begins with "Total: 3"'],
    ['a mark between lines', LINES.replace('\n', '\n\u200b'), String.raw`line 2 begins with "\u200b{`],
    [
      'another charset in JSON',
      Buffer.from('[\n{"campaign_id":"\xff"}]', 'latin1'),
      /invalid UTF-8 encoding.*; line 2/,
    ],
    [
      'another charset in CSV',
      Buffer.from(csvWith('2026-10-01,\xff,1,2'), 'latin1'),
      'the file is not UTF-8 (line 3 begins with "2026-10-01,\ufffd,1,2"), and its Content-Type names no other',
      AS_CSV,
    ],
    [
      'a charset without a decoder',
      Buffer.from(csvWith('2026-10-01,\xff,1,2'), 'latin1'),
      'and its Content-Type names the charset "ibm037"',
      { ...AS_CSV, content_type: 'text/csv; charset=ibm037' },
    ],
    [
      'an object with a date and a metric around objects with both',
      JSON.stringify({ ...ROW, parts: [{ ...ROW, spend: 7 }] }),
      'the file is an object with a date and a metric that has an array of such objects; set "rows" to',
    ],
    [
      'several of these',
      csvWith('2026-10-01,a,x,1').replace('impressions', 'Spend'),
      /"spend", "Spend"; no row has "impressions"; row 2/,
      AS_CSV,
    ],
  ])('%s', async (_, body, problem, options) => {
    const { table_problem, ...facts } = await factsOf(body, options);
    if (typeof problem === 'string') expect(table_problem).toContain(problem);
    else expect(table_problem).toMatch(problem);
    expect(facts).toMatchObject({ sums: {}, days: [] });
  });

  it('a value that does not fit, and its rows and dates are counted all the same', async () => {
    const facts = await factsOf(rowsWith({ date: '2026-10-03', spend: 'n/a' }));
    expect(facts).toMatchObject({ rows: 2, first_date: '2026-10-01', last_date: '2026-10-03' });
  });
});

it.each<[string, string | Buffer, RegExp, StageOptions?]>([
  ['is empty', '', /is empty/],
  ['is blank', ' \n', /is empty/],
  ['has nothing but marks', '\u001a\0\n', /is empty/, AS_CSV],
  ['is empty CSV', '', /is empty/, AS_CSV],
  ['is HTML', '<!DOCTYPE html><html></html>', /HTML or XML/],
  ['is XML instead of CSV', '\n<Error><Code>SlowDown</Code></Error>', /HTML or XML/, AS_CSV],
  ['is cut after a comma', '[{"date":"2026-10-01"},', /cut off/],
  ['is cut in a row', '[{"date":"2026-10-01"},{"date":"2026-1', /cut off/],
  ['is cut in a name', '[{"date":"2026-10-01"},\n{"date":"2026-10-01","sp]', /JSON that is cut off\. It/],
  ['is cut in a line', `${LINES}\n{"date":`, /cut off/],
  ['is cut in a value of a line', `${LINES}\n{"a":"}`, /cut off/],
  ['is a cut object', '{"rows":[{"date":"2026-10-01"},', /cut off/],
  ['is an object cut after a row', '{"rows":[{"date":"2026-10-01"}', /cut off/],
  ['is cut gzip', gzipSync(TEXT).subarray(0, 40), /is gzip, and cannot be decoded/],
  ['has another date, without a table', '[{"date":"2026-10-04"}]', /No row of/, { schema: undefined }],
  [
    'has the days before and after the window only',
    TEXT.replaceAll('10-01', '09-30').replaceAll('10-03', '10-04'),
    /No row of the file has a date in the window .*: row 1 has 2026-09-30/,
  ],
  [
    'has another date and a wrong value',
    JSON.stringify([{ ...ROW, date: '2026-10-05', spend: 'x', Spend: 1 }]),
    /No row of/,
  ],
  ['is an array of arrays that is cut', '[{"a":["x"]', /cut off/],
  ['is an error instead of CSV', '{"error":"x"}', /holds no row/, AS_CSV],
  ['has another date and lacks a metric', '[{"date":"2026-10-04"}]', /No row of/],
  [
    'is an object without rows',
    '{"error":"x","campaign_id":1,"details":["y"]}',
    /it has "error", "campaign_id", "details"\. If .* set "rows"/,
  ],
  ['is an object with an empty array', '{"error":"x","status":"FAILED","rows":[]}', /set "rows" of/],
  ['has sums beside an empty array', '{"spend":0,"impressions":0,"rows":[]}', /set "rows" of/],
  ['is such a line', '{"error":"x"}\n', /holds no row/, { content_type: 'application/x-ndjson' }],
  ['is an empty object', '{}', /it has no fields/],
  ['lacks the named array', '{"error":"x","data":{}}', /object with no array at "data"/, { rows: 'data' }],
  ['is an object without metrics, without a table', '{"error":"x"}', /holds no row/, { schema: undefined }],
])('a file is no report if it %s', async (_, body, message, options) => {
  await expect(factsOf(body, options)).rejects.toMatchObject({
    name: 'DownloadRefused',
    message: expect.stringMatching(message),
  });
});
