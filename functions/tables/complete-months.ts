import type { ObjectStore } from '../aws/objects.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import { type TableSchema, tableColumns } from '../workflow/table.ts';
import { mergeLedger, shownFacts } from './ledger.ts';
import { openMerging } from './merge.ts';
import { addColumns, beginsWith } from './month.ts';
import { type MonthEntries, readEntries, requireMonths } from './month-entries.ts';

/**
 * Brings all months of an account to the table's columns, and adds to the ledger what the writers of these
 * months could not.
 *
 * @returns how many months did not have the columns
 * @throws TableProblem if a month is damaged, or has a column of another type
 */
export async function completeMonths(
  store: Pick<ObjectStore, 'list' | 'readEnd' | 'getFile' | 'putFile'>,
  request: ExportRequest,
  schema: TableSchema,
): Promise<number> {
  const { account } = request;
  const all = requireMonths(await readEntries(store, { ...schema, account }));
  await using merging = await openMerging(store, schema.columns.length);
  const incomplete = all.flatMap(({ month, columns }) =>
    month === undefined || hasAllColumns(columns, schema) ? [] : [month],
  );
  for (const month of incomplete) await addColumns(merging, month, { schema, account });
  const facts = all.flatMap(({ days }) => shownFacts(days));
  for (const [month, factsOfMonth] of Map.groupBy(facts, ({ day }) => day.slice(0, 'YYYY-MM'.length)))
    await mergeLedger(merging, request, month, factsOfMonth);
  return incomplete.length;
}

function hasAllColumns(types: MonthEntries['columns'], schema: TableSchema): boolean {
  const columns = tableColumns(schema);
  return beginsWith(types.keys(), columns) && columns.every(({ name, type }) => types.get(name) === type);
}
