import type { ReportVersion } from '../workflow/shown-days.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { LEDGER_COLUMNS, ledgerKey, tableOf } from '../workflow/table.ts';
import { literal } from './database.ts';
import { type Merging, mergeObject, select, selectOld, timestamp } from './merge.ts';
import type { DayFacts } from './report.ts';

/** The report of a window. */
export interface Entry extends Pick<SavedWindow, 'request' | 'window' | 'object'> {
  readonly version: ReportVersion;
}

export interface LedgerDay extends DayFacts {
  /** See LEDGER_COLUMNS. */
  readonly outcome: 'shown' | 'kept' | 'held' | 'not written';
}

/** A report comes again with an `accept_empty`, or once the table can take it. What was in the table once, stays a fact. */
const CHANGEABLE = ['held', 'not written'].map(literal);

/**
 * Adds a report to the ledger of a month. Rows of other reports stay, and those of the same report about another table: what became of
 * its days there.
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
  await mergeObject(merging, ledgerKey(entry.request, month), async (old) => {
    const known = old ? selectOld(old, LEDGER_COLUMNS) : `FROM (${facts}) LIMIT 0`;
    const added = `FROM (${facts}) AS fact
      ANTI JOIN (${known}) AS same ON ${isSame('same', 'outcome')}
      ANTI JOIN (FROM (${known}) WHERE outcome NOT IN (${CHANGEABLE})) AS settled ON ${isSame('settled')}`;
    const [counted] = await merging.database.query(`SELECT count(*) AS facts FROM (${added})`);
    if (counted?.facts === '0') return { result: undefined };
    const rows = `FROM (${known}) AS known ANTI JOIN (${added}) AS fact ON ${isSame('known')} UNION ALL FROM (${added})`;
    return {
      next: { runs: [`FROM (${rows}) ORDER BY date, report_created_at, report_id, table_name, metric`] },
      result: undefined,
    };
  });
}

/** A condition of SQL: a fact and another one are of the same report, table, day and metric. */
function isSame(other: string, ...more: readonly string[]): string {
  const names = ['report_id', 'table_name', 'date', 'metric', ...more];
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
      ([metric, value]) => `(${[day, metric, value, outcome].map(literal)})`,
    ),
  );
  return `SELECT ${select(LEDGER_COLUMNS, values)} FROM (VALUES ${facts}) AS facts(date, metric, value, outcome)`;
}
