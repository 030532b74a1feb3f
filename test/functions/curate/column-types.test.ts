import { expect, it } from 'vitest';
import { openDatabase } from '../../../functions/curate/database.ts';
import { readRows } from '../../../functions/curate/source.ts';
import type { Column, ColumnType } from '../../../functions/workflow/table.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { facts } from './reports.ts';

/** DuckDB stores decimals of up to 4, 9, 18 and 38 digits in different ways. */
const DIGITS = [1, 4, 5, 9, 10, 18, 19, 38];

/** Types that the config accepts for numbers, with every scale. */
const TYPES: readonly ColumnType[] = [
  ...(['bigint', 'double'] as const),
  ...DIGITS.flatMap((digits) =>
    Array.from({ length: digits + 1 }, (_, scale): ColumnType => `decimal(${digits},${scale})`),
  ),
];

it.each([
  ['7', '0.7'],
  ['7.0', '0.70'],
  ['7e0', '7e-1'],
  ['-7', '-0.7'],
  ['0', '0.0'],
])('a column of any type takes %s, or %s if it has no digits before the point', async (whole, fraction) => {
  const columns = TYPES.map((type, at): Column => ({ name: `m${at}`, type }));
  const isFraction = (type: ColumnType) => /\((\d+),\1\)/.test(type);
  const values = columns.map(({ name, type }) => `"${name}":${isFraction(type) ? fraction : whole}`);
  const body = `[{"date":"2026-10-01",${values.join()}}]`;
  const { table_problem, sums } = await facts(body, { schema: { date_column: 'date', columns }, columns });
  expect(table_problem).toBeUndefined();
  const expected = columns.map(({ name, type }) => [name, `${Number(isFraction(type) ? fraction : whole)}`]);
  expect(sums).toEqual(Object.fromEntries(expected));
});

it('an error of our own query does not refuse the file', async () => {
  using database = await openDatabase(temporaryDirectory(), new AbortController().signal);
  const query = readRows(database, "SELECT regexp_full_match('7', '7{1,0}')");
  await expect(query).rejects.toThrow(/^Invalid Input Error: invalid repetition size/);
});
