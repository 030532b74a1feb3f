import type { ReportVersion } from '../workflow/shown-days.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { LEDGER_COLUMNS, ledgerKey, tableOf } from '../workflow/table.ts';
import { literal } from './database.ts';
import { hasColumns, type Merging, mergeObject, select, selectOld, timestamp } from './merge.ts';
import { type DayFacts, damaged } from './report.ts';

/** The report of a window. */
export interface Entry extends Pick<SavedWindow, 'request' | 'window' | 'object'> {
  readonly version: ReportVersion;
}

export interface LedgerDay extends DayFacts {
  /** See LEDGER_COLUMNS. */
  readonly outcome: 'shown' | 'kept' | 'held' | 'not written';
  /** See MergedDay. */
  readonly tookOver?: ReportVersion | undefined;
}

/** A report comes again with an `accept_empty`, or once the table can take it. */
const CHANGEABLE = ['held', 'not written'].map(literal);

/**
 * Adds a report to the ledger of a month. Rows of other reports stay, and those of the same report about another table: what became of
 * its days there. If an older report takes over from another request, that request's newer rows change from `shown` to `kept`.
 *
 * @param days of this month
 * @throws see mergeObject
 */
export async function mergeLedger(
  merging: Merging,
  month: string,
  days: readonly LedgerDay[],
  entry: Entry,
): Promise<void> {
  const facts = selectFacts(days, entry);
  const key = ledgerKey(entry.request, month);
  await mergeObject(merging, key, async (old) => {
    if (old && !hasColumns(old, LEDGER_COLUMNS)) throw damaged(key);
    const found = old ? selectOld(old, LEDGER_COLUMNS) : `FROM (${facts}) LIMIT 0`;
    const isReplaced = findReplaced(days, entry);
    const known = `SELECT * REPLACE (CASE WHEN ${isReplaced} THEN 'kept' ELSE outcome END AS outcome) FROM (${found})`;
    const added = `FROM (${facts}) AS fact
      ANTI JOIN (${known}) AS same ON ${isSame('same', 'outcome')}
      ANTI JOIN (FROM (${known}) WHERE outcome NOT IN (${CHANGEABLE})) AS settled ON ${isSame('settled')}
        AND (settled.outcome = 'shown' OR fact.outcome <> 'shown')`;
    const changes = `SELECT 1 FROM (${added}) UNION ALL SELECT 1 FROM (${found}) WHERE ${isReplaced}`;
    const [counted] = await merging.database.query(`SELECT count(*) AS changes FROM (${changes})`);
    if (counted?.changes === '0') return { result: undefined };
    const rows = `FROM (${known}) AS known ANTI JOIN (${added}) AS fact ON ${isSame('known')} UNION ALL FROM (${added})`;
    return {
      next: { runs: [`FROM (${rows}) ORDER BY date, report_created_at, report_id, table_name, metric`] },
      result: undefined,
    };
  });
}

/** A condition of SQL: a row says that a newer report is shown, whose place an older one of another request took. */
function findReplaced(days: readonly LedgerDay[], { request, version }: Entry): string {
  const conditions = days.flatMap(({ day, tookOver }) =>
    tookOver ? [`date = ${literal(day)} AND report_created_at <= ${timestamp(tookOver.created_at)}`] : [],
  );
  if (conditions.length === 0) return 'false';
  const isNewer = `report_created_at > ${timestamp(version.created_at)}`;
  return `(outcome = 'shown' AND table_name = ${literal(tableOf(request) ?? '')} AND ${isNewer} AND (${conditions.join(' OR ')}))`;
}

/** A condition of SQL: a fact and another one are of the same report, table, day and metric. */
function isSame(other: string, ...more: readonly string[]): string {
  const names = ['report_id', 'report_created_at', 'table_name', 'date', 'metric', ...more];
  return names.map((name) => `fact.${name} IS NOT DISTINCT FROM ${other}.${name}`).join(' AND ');
}

/** A row for each day and metric. */
function selectFacts(days: readonly LedgerDay[], { request, window, object, version }: Entry): string {
  const table = tableOf(request);
  const values = {
    account: literal(request.account),
    export: literal(request.name),
    table_name: table === undefined ? 'CAST(NULL AS VARCHAR)' : literal(table),
    start_date: `DATE ${literal(window.start_date)}`,
    end_date: `DATE ${literal(window.end_date)}`,
    date: 'CAST(date AS DATE)',
    report_id: literal(version.report_id),
    report_created_at: timestamp(version.created_at),
    copied_at: timestamp(object.copied_at),
    // NULL if it is larger.
    value: 'TRY_CAST(value AS DECIMAL(38,10))',
  };
  const facts = days.flatMap(({ day, rows, sums, outcome }) =>
    Object.entries({ ...sums, rows: String(rows) }).map(
      ([metric, value]) =>
        `(${[literal(day), literal(metric), value === null ? 'NULL' : literal(value), literal(outcome)]})`,
    ),
  );
  return `SELECT ${select(LEDGER_COLUMNS, values)} FROM (VALUES ${facts}) AS facts(date, metric, value, outcome)`;
}
