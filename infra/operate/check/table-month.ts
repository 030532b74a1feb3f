import { join } from 'node:path';
import { readTableObject, selectOld } from '../../../functions/tables/merge.ts';
import type { MonthEntries } from '../../../functions/tables/month-entries.ts';
import { metricsOf, readSums, sumExpressions } from '../../../functions/tables/sums.ts';
import { monthKey, tableColumns } from '../../../functions/workflow/table.ts';
import { type CheckedTable, toRoundedSums } from './checked-table.ts';

/** The rows and the sums of a month's object, by date. @returns undefined if its rows cannot be read */
export async function sumMonth(
  { entry, schema, bucket, database, folder }: CheckedTable,
  { month = '' }: MonthEntries,
) {
  const key = monthKey(schema.table, entry.request.account, month);
  const path = (await bucket.toFile(key, join(folder, `${month}.parquet`))) ?? '';
  const { columns } = await readTableObject(database, path);
  const metrics = metricsOf(schema.columns).filter(({ name }) => columns.has(name));
  const selected = ['date', 'count(*) AS rows', ...sumExpressions(metrics)];
  const rows = selectOld({ path, columns, days: undefined }, tableColumns(schema));
  const days = await database
    .query(`SELECT ${selected} FROM (${rows}) GROUP BY date`)
    .catch((error: Error) => {
      // DuckDB's own error.
      if (error.name === 'Error') return undefined;
      throw error;
    });
  return days?.map(
    (row) => [`${row.date}`, toRoundedSums({ ...row, sums: readSums(row, metrics) })] as const,
  );
}
