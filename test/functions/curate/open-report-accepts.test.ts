import { describe, expect, it } from 'vitest';
import { facts, open, query, SCHEMA, withColumn } from './reports.ts';

const ROW = { date: '2026-10-01', campaign_id: 'a', spend: 1, impressions: 1 };

function rowsWith(last: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([ROW, { ...ROW, ...last }]);
}

describe('the table takes', () => {
  const stored = async (body: string | Buffer, given = {}) => {
    await using report = await open(body, given);
    expect(report.facts.table_problem).toBeUndefined();
    return query(`FROM '${await report.writeDay('2026-10-01', {})}'`);
  };

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'null',
      { campaign_id: null, spend: null, impressions: null },
      { campaign_id: null, spend: null, impressions: null },
    ],
    ['absent fields', { campaign_id: undefined, spend: undefined }, { campaign_id: null, spend: null }],
    ['emoji', { campaign_id: 'a 😀' }, { campaign_id: 'a 😀' }],
    [
      'lone surrogates, as U+FFFD',
      { campaign_id: 'a\ud83d\\ud83d\\\udE00 \ud83d\ude00' },
      { campaign_id: 'a\ufffd\\ud83d\\\ufffd 😀' },
    ],
    ['a name that begins like a list', { campaign_id: '[EU] a' }, { campaign_id: '[EU] a' }],
    ['a name that reads like a list', { campaign_id: '["a"]' }, { campaign_id: '["a"]' }],
    ['line breaks and NUL', { campaign_id: 'a\n\u0000"b"' }, { campaign_id: 'a\n\u0000"b"' }],
    [
      'numbers as texts',
      { spend: '1234567890.123456', impressions: '7' },
      { spend: '1234567890.123456', impressions: '7' },
    ],
    ['a whole number with a point', { impressions: '5.0' }, { impressions: '5' }],
    ['a small number', { spend: 0.000015 }, { spend: '0.000015' }],
    ['a large number', { spend: 9876543210.5 }, { spend: '9876543210.500000' }],
    ['negative numbers', { spend: -1.5, impressions: -1 }, { spend: '-1.500000', impressions: '-1' }],
  ])('%s', async (_, fields, expected) => {
    const [, second] = await stored(
      JSON.stringify(
        [
          { ...ROW, campaign_id: '0' },
          { ...ROW, ...fields },
        ].reverse(),
      ).replace('"5.0"', '5.0'),
    ).then((rows) =>
      rows.sort((one, other) => Number(other.campaign_id === '0') - Number(one.campaign_id === '0')),
    );
    expect(second).toMatchObject(expected);
  });

  it('ids above 2^53, digit by digit', async () => {
    const body = JSON.stringify([ROW]).replace('"a"', '12345678901234567890123');
    expect(await stored(body)).toMatchObject([{ campaign_id: '12345678901234567890123' }]);
  });

  it('a large number with an exponent', async () => {
    const body = JSON.stringify([ROW]).replace('"spend":1', '"spend":1.23456789015e10');
    expect(await stored(body)).toMatchObject([{ spend: '12345678901.500000' }]);
  });

  it('quoted line breaks, commas and quotes in CSV', async () => {
    const body = 'date,campaign_id,spend,impressions\n2026-10-01,"a\nb, ""c""\r\nd",1,2\n';
    expect(await stored(body, { format: 'CSV' })).toMatchObject([{ campaign_id: 'a\nb, "c"\r\nd' }]);
  });

  it('empty fields of CSV as NULL', async () => {
    const body = 'date,campaign_id,spend,impressions\n2026-10-01,,,\n';
    expect(await stored(body, { format: 'CSV' })).toEqual([
      { campaign_id: null, spend: null, impressions: null },
    ]);
  });

  it('more digits than the type holds, if the column rounds', async () => {
    const schema = withColumn({ name: 'spend', type: 'decimal(18,6)', round: true });
    expect(await stored(rowsWith({ spend: 0.30000000000000004 }), { schema })).toContainEqual({
      campaign_id: 'a',
      spend: '0.300000',
      impressions: '1',
    });
  });

  it('a count with decimals, if the column rounds', async () => {
    const schema = withColumn({ name: 'impressions', type: 'bigint', round: true });
    expect(await stored(rowsWith({ impressions: 3.9999999 }), { schema })).toContainEqual({
      campaign_id: 'a',
      spend: '1.000000',
      impressions: '4',
    });
  });

  it('a report without a column that only another account requests, or without advertiser_id', async () => {
    const columns = [
      ...SCHEMA.columns,
      { name: 'clicks', type: 'bigint' },
      { name: 'advertiser_id', type: 'string' },
    ] as const;
    const asked = columns.filter(({ name }) => name !== 'clicks');
    const rows = await stored(JSON.stringify([ROW]), { schema: { ...SCHEMA, columns }, columns: asked });
    expect(rows).toEqual([
      { campaign_id: 'a', spend: '1.000000', impressions: '1', clicks: null, advertiser_id: null },
    ]);
  });
});

it('finds values by their names, also of names and orders that only a late row has', async () => {
  const { campaign_id, ...others } = ROW;
  const late = { impressions: 2, note: 'x', campaign_id: 'late', date: '2026-10-02', spend: 0.5 };
  await using report = await open(JSON.stringify([...Array.from({ length: 3000 }, () => others), late]));
  const { facts } = report;
  expect(facts).toMatchObject({ rows: 3001, sums: { spend: '3000.5', impressions: '3002' } });
  expect(facts.warnings[0]).toBe('the table leaves out fields that it has no column for: "note"');
  expect(await query(`FROM '${await report.writeDay('2026-10-02', {})}'`)).toEqual([
    { campaign_id: 'late', spend: '0.500000', impressions: '2' },
  ]);
});

describe('a warning names', () => {
  it('fields that the table has no column for', async () => {
    const { warnings, table_problem } = await facts(
      JSON.stringify([{ ...ROW, country: 'US', Country: 'DE' }]),
    );
    expect(warnings).toEqual(['the table leaves out fields that it has no column for: "Country", "country"']);
    expect(table_problem).toBeUndefined();
  });

  it('a date before the window, if a row is not a day', async () => {
    const body = JSON.stringify([ROW, { ...ROW, date: '2026-09-28' }]);
    const { warnings, rows, first_date } = await facts(body, { schema: undefined, granularity: 'WEEK' });
    expect(warnings).toEqual([expect.stringMatching(/^Row 2 .* 2026-09-28, which is outside the window/)]);
    expect([rows, first_date]).toEqual([2, '2026-09-28']);
  });

  it('the number of rows with the same date and dimensions', async () => {
    const { warnings, rows } = await facts(
      JSON.stringify([ROW, { ...ROW, spend: 2 }, { ...ROW, date: '2026-10-02' }]),
    );
    expect(warnings).toEqual([
      expect.stringMatching(/^rows with the same date and dimensions as another row: 1;/),
    ]);
    expect(rows).toBe(3);
  });
});

describe('a report is empty if it is', () => {
  it.each([
    ['an object around an empty array', { rows: [] }],
    ['a total beside no rows', { spend: 0, rows: [] }],
    ['no rows beside notices', { rows: [], warnings: [{ code: 'NO_DATA' }] }],
    ['no rows and no errors', { status: 'READY', message: 'OK', errors: [], data: { rows: [] } }],
    ['null instead of rows', { rows: null }],
    ['null', null],
  ])('%s', async (_, body) => {
    expect(await facts(JSON.stringify(body))).toMatchObject({ rows: 0, days: [], warnings: [] });
  });
});

describe('one row is', () => {
  it.each<[string, object]>([
    ['an object', ROW],
    ['an object with an empty list', { ...ROW, tags: [] }],
    ['an object with a list of objects', { ...ROW, tags: [{ x: 1 }] }],
    ['an object with a message', { ...ROW, message: 'new', status: 'pending' }],
  ])('%s', async (_, body) => {
    for (const text of [JSON.stringify(body), `[${JSON.stringify(body)}]`])
      expect(await facts(text)).toMatchObject({ rows: 1, sums: { spend: '1' } });
  });
});

it('finds a long number although an object before it has the same name', async () => {
  const body = JSON.stringify([{ previous: { spend: 5.5, of: [{ x: '}' }] }, ...ROW, spend: 1234567890.5 }]);
  expect(await facts(body)).toMatchObject({ sums: { spend: '1234567890.5' } });
});
