import { LIST_COLUMNS, listKey } from '../workflow/table.ts';
import { identifier, literal } from './database.ts';
import { judge, type MergedDay, type Offer } from './days.ts';
import { type Merging, mergeObject, parquet, shownIn, timestamp } from './merge.ts';
import type { ReportFile } from './report.ts';
import { readJson, readRows } from './rows.ts';

/**
 * Makes a list's object show a snapshot, unless it shows a newer one, or has items and the snapshot has none.
 *
 * @param file JSON items, one per line @param day of the snapshot
 * @throws DownloadRefused if the file does not parse; see also mergeObject
 */
export async function mergeList(
  merging: Merging,
  file: ReportFile,
  day: string,
  { version, schema, account, acceptEmpty }: Omit<Offer, 'rows'>,
): Promise<MergedDay> {
  if (file.error) throw file.error;
  const items = readJson(file, [], 'read_json_objects');
  const [counted] = await readRows(merging.database, `SELECT count(*) AS rows FROM ${items}`);
  const snapshot = { day, rows: Number(counted?.rows), sums: {} };
  const key = listKey(schema.table, account);
  return mergeObject<MergedDay>(merging, key, async (old) => {
    const [[shownDay, shown] = []] = Object.entries(shownIn(old, key));
    const { result, entry, isWritten } = judge(snapshot, shown, { version, acceptEmpty });
    const common = { result: { ...result, restated: false, tookOver: false } };
    if (!entry) return common;
    if (isWritten || !old || !shownDay)
      return {
        ...common,
        next: { runs: [selectItems(items, account, version.created_at)], days: { [day]: entry } },
      };
    return { ...common, next: { runs: [`FROM ${parquet(old.path)}`], days: { [shownDay]: entry } } };
  });
}

/** Sorted, because the platform may give its pages in any order. */
function selectItems(items: string, account: string, created_at: string): string {
  // The text of the item, as it was written; the other columns are fields of its top level.
  const columns = LIST_COLUMNS.map(({ name }) =>
    name === 'item' ? 'json::VARCHAR AS item' : `json->>'$.${name}' AS ${identifier(name)}`,
  );
  return `SELECT ${literal(account)} AS account, ${columns.join(', ')}, ${timestamp(created_at)} AS snapshot_at
    FROM ${items} ORDER BY ALL`;
}
