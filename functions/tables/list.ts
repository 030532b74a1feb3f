import { judgeDay } from '../workflow/shown-days.ts';
import { LIST_COLUMNS, listKey } from '../workflow/table.ts';
import { identifier, literal } from './database.ts';
import type { MergedDay, Offer } from './days.ts';
import { type Merging, mergeObject, ObjectMismatch, parquet, timestamp } from './merge.ts';
import type { ReportFile } from './report.ts';
import { EMPTY } from './report-file.ts';
import { readJson, readRows, refused } from './source.ts';

/**
 * Makes a list's object show a snapshot, unless it shows a newer one, or has items and the snapshot has none.
 *
 * @param file JSON items, one per line @param date of the snapshot
 * @throws DownloadRefused if the file does not parse; see also mergeObject
 */
export async function mergeList(
  merging: Merging,
  file: ReportFile,
  date: string,
  { version, schema, account, acceptEmpty }: Omit<Offer, 'rows'>,
): Promise<MergedDay> {
  const { database } = merging;
  if (file.fault !== undefined && file.fault !== EMPTY) throw refused(file.fault);
  const items = readJson(file, [], 'read_json_objects');
  const [counted] = await readRows(database, `SELECT count(*) AS rows FROM ${items}`);
  const rows = Number(counted?.rows);
  const key = listKey(schema.table, account);
  const snapshot = { day: date, rows, sums: {}, restated: false, tookOver: false };
  return mergeObject<MergedDay>(merging, key, async (old) => {
    if (old && !old.days) throw new ObjectMismatch(`${key} was not written by this stack`);
    const [[shownDate, shown] = []] = Object.entries(old?.days ?? {});
    const verdict = judgeDay(shown, { ...version, rows }, { acceptEmpty: acceptEmpty(date) });
    if (verdict === 'keep') return { result: { ...snapshot, outcome: 'kept' } };
    if (old && shown && shownDate && (verdict === 'hold' || verdict === 'same hold')) {
      const result: MergedDay = { ...snapshot, outcome: 'held', keeps: { rows: shown.rows, day: shownDate } };
      if (verdict === 'same hold') return { result };
      const days = { [shownDate]: { ...shown, held: version } };
      return { next: { runs: [`FROM ${parquet(old.path)}`], days }, result };
    }
    const result: MergedDay = { ...snapshot, outcome: 'shown' };
    if (verdict === 'same') return { result };
    const days = { [date]: { ...version, rows, restated: false } };
    return { next: { runs: [selectItems(items, account, version.created_at)], days }, result };
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
