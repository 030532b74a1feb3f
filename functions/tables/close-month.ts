import { join } from 'node:path';
import type { ObjectStore } from '../aws/objects.ts';
import type { ExportId } from '../workflow/keys.ts';
import { CLOSED, closedKey, LEDGER, ledgerKey, REPORT } from '../workflow/table.ts';
import { selectLedger } from './ledger.ts';
import { mergeObject, openMerging, readTableObject, timestamp } from './merge.ts';
import { literal } from './sql.ts';

interface Close {
  /** YYYY-MM */
  readonly month: string;
  /**
   * SQL on the ledger: the reports that the days show, as table_name, account, date, report_id,
   * report_created_at.
   */
  readonly shownReports: string;
  readonly closedAt: Date;
  /** Closes a month again that was closed before. What it showed then stays, too. */
  readonly again: boolean;
}

/**
 * Keeps what the days of a month show now, as the ledger tells it.
 *
 * @returns false if the month was closed before, and not `again`
 * @throws TableProblem if the ledger is damaged; see also mergeObject
 */
export async function closeMonth(
  store: Pick<ObjectStore, 'getFile' | 'putFile'>,
  id: ExportId,
  { month, shownReports, closedAt, again }: Close,
): Promise<boolean> {
  await using merging = await openMerging(store);
  const { database, folder, signal } = merging;
  const path = join(folder, 'ledger.parquet');
  const key = ledgerKey(id, month);
  await store.getFile(key, path, signal);
  const ledger = await readTableObject(database, path);
  await database.query(`CREATE VIEW ${LEDGER} AS ${selectLedger(ledger, key)}`);
  const shown = `SELECT * REPLACE (${literal(CLOSED)} AS kind, ${timestamp(closedAt.toISOString())} AS copied_at)
    FROM ${LEDGER}
    SEMI JOIN (${shownReports}) USING (table_name, account, date, report_id, report_created_at)
    WHERE kind = '${REPORT}'`;
  const closed = closedKey(id, month);
  return await mergeObject(merging, closed, async (old) => {
    if (old && !again) return { result: false };
    const before = old ? `${selectLedger(old, closed)} UNION ALL BY NAME ` : '';
    return { next: { rows: `FROM (${before}${shown}) ORDER BY date, metric, copied_at` }, result: true };
  });
}
