import { LIST_COLUMNS, listKey, tableColumns } from '../workflow/table.ts';
import { decideDay, type TableReport } from './decide-day.ts';
import { type Merging, mergeObject, parquet, selectColumns, shownIn, timestamp } from './merge.ts';
import type { MergeOutcome } from './month.ts';
import type { ReportFile } from './report.ts';
import { readJson } from './rows.ts';
import { literal } from './sql.ts';

/**
 * Makes a list's object show a snapshot. It is judged like a day of a report, see {@link decideDay}.
 *
 * @param file JSON items, one per line
 * @throws DownloadRefused if the file does not parse; see also mergeObject
 */
export async function mergeList(
  merging: Merging,
  file: ReportFile,
  report: TableReport,
): Promise<MergeOutcome> {
  const { version, schema, account } = report;
  const day = report.window.start_date;
  const items = readJson(file, [], 'read_json_objects');
  const [counted] = await merging.database.query(`SELECT count(*) AS rows FROM ${items}`);
  const snapshot = { day, rows: Number(counted?.rows), sums: {} };
  const key = listKey(schema.table, account);
  return mergeObject(merging, key, async (old) => {
    const before = shownIn(old, key);
    const [[shownDay = day, shown] = []] = Object.entries(before);
    const { entry, ...judged } = decideDay(snapshot, shown, report);
    const result = { days: [{ ...judged, restated: false }], before };
    if (!entry) return { result };
    if (old && judged.outcome === 'held')
      return { result, next: { rows: `FROM ${parquet(old.path)}`, days: { [shownDay]: entry } } };
    // Each column is a field of the item's top level, and `item` is the item's own text.
    const fields = LIST_COLUMNS.map(({ name }) => [name, `json->>'$.${name}'`]);
    const values = {
      ...Object.fromEntries(fields),
      account: literal(account),
      item: 'json::VARCHAR',
      snapshot_at: timestamp(version.created_at),
    };
    // Sorted, because the platform may give its pages in any order.
    const rows = `SELECT ${selectColumns(tableColumns(schema), values)} FROM ${items} ORDER BY ALL`;
    return { result, next: { rows, days: { [day]: entry } } };
  });
}
