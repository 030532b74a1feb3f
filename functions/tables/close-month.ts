import { join } from 'node:path';
import type { ObjectStore } from '../aws/objects.ts';
import type { ExportId } from '../workflow/keys.ts';
import { CLOSED, closedKey, LEDGER, LEDGER_COLUMNS, ledgerKey, REPORT } from '../workflow/table.ts';
import { mergeObject, openMerging, parquet, selectOld, timestamp } from './merge.ts';
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
 * @throws see mergeObject
 */
export async function closeMonth(
  store: Pick<ObjectStore, 'getFile' | 'putFile'>,
  id: ExportId,
  { month, shownReports, closedAt, again }: Close,
): Promise<boolean> {
  await using merging = await openMerging(store);
  const { database, folder, signal } = merging;
  const ledger = join(folder, 'ledger.parquet');
  await store.getFile(ledgerKey(id, month), ledger, signal);
  await database.query(`CREATE VIEW ${LEDGER} AS FROM ${parquet(ledger)}`);
  const shown = `SELECT * REPLACE (${literal(CLOSED)} AS kind, ${timestamp(closedAt.toISOString())} AS copied_at)
    FROM ${LEDGER}
    SEMI JOIN (${shownReports}) USING (table_name, account, date, report_id, report_created_at)
    WHERE kind = '${REPORT}'`;
  return await mergeObject(merging, closedKey(id, month), async (old) => {
    if (old && !again) return { result: false };
    const before = old ? `${selectOld(old, LEDGER_COLUMNS)} UNION ALL ` : '';
    return { next: { rows: `FROM (${before}${shown}) ORDER BY date, metric, copied_at` }, result: true };
  });
}
