import { describe, expect, it } from 'vitest';
import { CSV, facts, withColumn } from './reports.ts';

const ROW = { date: '2026-10-01', campaign_id: 'a', spend: 1, impressions: 1 };

function rowsWith(last: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([ROW, { ...ROW, ...last }]);
}

function csvRow(last: string): string {
  return `${CSV}${last}\n`;
}

describe('the table cannot take a file, which is counted all the same', () => {
  it.each<[string, string, object, string]>([
    [
      '3.7 as a count',
      rowsWith({ impressions: 3.7 }),
      {},
      'row 2 has "3.7" in the column impressions, where bigint belongs',
    ],
    [
      'a count of 20 digits',
      rowsWith({ impressions: 0 }).replace('"impressions":0', '"impressions":12345678901234567890'),
      {},
      'row 2 has "12345678901234567890" in the column impressions',
    ],
    [
      'a count with a point beyond 2^53',
      rowsWith({ impressions: 0 }).replace(':0}', ':9007199254740993.0}'),
      {},
      'row 2 has "9007199254740992.0" in',
    ],
    [
      '0.1234567 as money',
      rowsWith({ spend: 0.1234567 }),
      {},
      'row 2 has "0.1234567" in the column spend, where decimal(18,6) belongs',
    ],
    ['1e-20 as money', rowsWith({ spend: 1e-20 }), {}, 'row 2 has "1e-20" in'],
    [
      '99999999999.999999',
      rowsWith({ spend: 0 }).replace('"spend":0', '"spend" : 99999999999.999999'),
      {},
      'row 2 has "99999999999.999999" in the column spend, where a JSON number with fewer digits belongs',
    ],
    [
      'money of 13 digits',
      rowsWith({ spend: 1234567890123 }),
      {},
      'row 2 has "1234567890123" in the column spend',
    ],
    ['a text as a number', rowsWith({ spend: 'n/a' }), {}, 'row 2 has "n/a" in the column spend'],
    ['an empty text as a number', rowsWith({ spend: '' }), {}, 'row 2 has "" in the column spend'],
    ['a number that ends with a point', rowsWith({ spend: '1.' }), {}, 'row 2 has "1." in the column spend'],
    ['blanks around a number', rowsWith({ spend: ' 1' }), {}, 'row 2 has " 1" in the column spend'],
    ['a number in hexadecimal', rowsWith({ impressions: '0x10' }), {}, 'row 2 has "0x10" in'],
    ['a long value, shortened', rowsWith({ spend: 'x'.repeat(50) }), {}, `row 2 has "${'x'.repeat(40)}…" in`],
    ['NaN', rowsWith({ spend: 0 }).replace('"spend":0', '"spend":NaN'), {}, 'row 2 has "NaN" in'],
    [
      'infinity as a double',
      rowsWith({ spend: 0 }).replace('"spend":0', '"spend":1e400'),
      { schema: withColumn({ name: 'spend', type: 'double' }) },
      'row 2 has "1e400" in',
    ],
    [
      'a timestamp as a date',
      rowsWith({ date: '2026-10-01T00:00:00Z' }),
      {},
      'row 2 has "2026-10-01T00:00:00Z" in the column date, where a date belongs',
    ],
    ['February 30', rowsWith({ date: '2026-02-30' }), {}, 'row 2 has "2026-02-30" in the column date'],
    ['no date', rowsWith({ date: null }), {}, 'row 2 has no value in the column date'],
    [
      'a nested object',
      rowsWith({ campaign_id: { id: 'a' } }),
      {},
      'row 2 has "{\\"id\\":\\"a\\"}" in the column campaign_id, where a single value belongs',
    ],
    [
      'a nested list',
      rowsWith({ campaign_id: ['a'] }),
      {},
      'row 2 has "[\\"a\\"]" in the column campaign_id',
    ],
    [
      'a nested value instead of a number',
      rowsWith({ spend: [1] }),
      {},
      'row 2 has "[1]" in the column spend',
    ],
    [
      'a missing column',
      JSON.stringify([{ date: '2026-10-01', campaign_id: 'a', spend: 1 }]),
      {},
      'no row has "impressions"',
    ],
    ['a missing date column', JSON.stringify([{ ...ROW, date: undefined }]), {}, 'no row has "date"'],
    [
      'Spend next to spend',
      rowsWith({ Spend: 2 }),
      {},
      'several fields have the same name, whatever its case: "Spend", "spend"',
    ],
    [
      'Spend in one row and spend in another',
      JSON.stringify([ROW, { ...ROW, spend: undefined, SPEND: 2 }]),
      {},
      '"SPEND", "spend"',
    ],
    [
      'a repeated field',
      rowsWith({}).replace(/"spend":1,(?=[^{]*$)/, '"spend":1,"spend":2,'),
      {},
      'several fields have the same name, whatever its case: "spend", "spend"',
    ],
    [
      'a repeated field in all rows',
      JSON.stringify([ROW]).replace('"spend":1', '"spend":1,"spend":2'),
      {},
      '"spend", "spend"',
    ],
    [
      'a CSV with other delimiters',
      CSV.replaceAll(',', ';'),
      { format: 'CSV' },
      'no row has "date", "campaign_id"',
    ],
    [
      'a CSV with other delimiters and commas in numbers',
      CSV.replaceAll(',', ';').replaceAll('.', ','),
      { format: 'CSV' },
      'rows of the CSV file have more fields than its first line: "date;campaign_id;spend;impressions"',
    ],
    [
      'a CSV row with a field too many',
      csvRow('2026-10-03,a,1,2,3'),
      { format: 'CSV' },
      'rows of the CSV file have more fields than its first line',
    ],
    [
      'a CSV with display names',
      'Day,Campaign ID,Spend (USD),Number of Impressions\n2026-10-01,a,1,1\n',
      { format: 'CSV' },
      'no row has "date", "campaign_id", "spend", "impressions"',
    ],
    ['display names', JSON.stringify([{ Day: '2026-10-01', 'Spend (USD)': 5 }]), {}, 'no row has "date"'],
    [
      'other names',
      JSON.stringify([{ day: '2026-10-01', campaignId: 'a', cost: 5 }]),
      {},
      'no row has "date"',
    ],
    ['one row of other names', JSON.stringify({ day: '2026-10-01', spendUsd: 5 }), {}, 'no row has "date"'],
    ['empty rows', '[{}]', {}, 'no row has "date"'],
    [
      'metrics by name and value',
      JSON.stringify({ dimensions: { date: '2026-10-01' }, metrics: [{ name: 'spend', value: 5 }] }),
      {},
      'no row has "date"',
    ],
    [
      'deeply nested metrics',
      JSON.stringify([{ key: {}, values: { metrics: { spend: 5 } } }]),
      {},
      'no row has "date"',
    ],
    [
      'a long number whose name is escaped',
      rowsWith({ spend: 0 }).replace(/"spend":0/, '"sp\\u0065nd":99999999999.999999'),
      {},
      'row 2 has "100000000000.0" in the column spend',
    ],
    [
      'fields inside of objects',
      JSON.stringify([{ dimensions: { campaign_id: 'a' }, metrics: { spend: 1, impressions: 2 } }]),
      {},
      'no row has "date", "campaign_id"',
    ],
    [
      'a CSV without a header',
      CSV.split('\n').slice(1).join('\n'),
      { format: 'CSV' },
      'the CSV file has no header; its first line is "2026-10-01,b,0.1,3"',
    ],
    [
      'a CSV with a column missing',
      'date,campaign_id,spend\n2026-10-01,a,1\n',
      { format: 'CSV' },
      'no row has "impressions"',
    ],
    [
      'a CSV with a name twice',
      'date,campaign_id,spend,spend,impressions\n2026-10-01,a,1,2,3\n',
      { format: 'CSV' },
      '"spend", "spend"',
    ],
    [
      '3.7 as a count in CSV',
      csvRow('2026-10-01,a,1,3.7'),
      { format: 'CSV' },
      'row 4 has "3.7" in the column impressions',
    ],
    [
      '0.1234567 as money in CSV',
      csvRow('2026-10-01,a,0.1234567,1'),
      { format: 'CSV' },
      'row 4 has "0.1234567" in',
    ],
    [
      '99999999999.9999999 in CSV',
      csvRow('2026-10-01,a,99999999999.9999999,1'),
      { format: 'CSV' },
      'row 4 has "99999999999.9999999" in',
    ],
  ])('%s', async (_, body, given, problem) => {
    const found = await facts(body, given);
    expect(found.table_problem).toContain(problem);
    expect(found).toMatchObject({ rows: expect.any(Number), sums: {}, days: [] });
    expect(found.rows).toBeGreaterThan(0);
  });
});

it('a CSV without a header has no warning about names that its first line seems to have', async () => {
  const { warnings } = await facts('2026-10-01,b,0.1,3\n2026-10-02,b,0.1,3\n', { format: 'CSV' });
  expect(warnings).toEqual([]);
});
