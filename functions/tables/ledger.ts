import type { ExportRequest } from '../workflow/request/request.ts';
import type { ReportVersion, ShownDays } from '../workflow/shown-days.ts';
import { literal } from '../workflow/sql.ts';
import type { Window } from '../workflow/state-parts.ts';
import { LEDGER_COLUMNS, ledgerKey, TOTAL, tableOf } from '../workflow/table.ts';
import { hasColumns, type Merging, mergeObject, selectOld, timestamp } from './merge.ts';
import { type DayFacts, damaged } from './report.ts';

/** A report, and its window. */
export interface Entry {
  readonly version: ReportVersion;
  readonly window: Window;
  /** When its file arrived. */
  readonly copied_at: string;
  /** The execution that brought it. */
  readonly execution: string;
  /** The time zone in which its days end. Absent for a list, whose snapshot is made during its day. */
  readonly time_zone?: string | undefined;
}

export interface LedgerDay extends DayFacts, Entry {
  /** See LEDGER_COLUMNS. */
  readonly outcome: 'shown' | 'kept' | 'held' | 'not written' | typeof TOTAL;
  readonly day_over: boolean;
}

/** The days that an object of a table shows, as far as it knows what the ledger says of them. */
export function shownLines(shown: ShownDays): LedgerDay[] {
  return Object.entries(shown).flatMap(([day, { rows, ledger, ...version }]) => {
    if (!ledger) return [];
    const { start_date, end_date, sums, ...facts } = ledger;
    const window = { start_date, end_date };
    return [{ day, rows, sums, version, window, ...facts, outcome: 'shown' }];
  });
}

/**
 * Adds days of reports to the ledger of a month. The rows of other reports stay, and so do rows of the same
 * report about another table.
 *
 * @param days of this month, each report's day once
 * @throws see mergeObject
 */
export async function mergeLedger(
  merging: Merging,
  request: ExportRequest,
  month: string,
  days: readonly LedgerDay[],
): Promise<void> {
  const facts = selectFacts(request, days);
  const key = ledgerKey(request, month);
  await mergeObject(merging, key, async (old) => {
    if (old && !hasColumns(old, LEDGER_COLUMNS)) throw damaged(key);
    const found = old ? selectOld(old, LEDGER_COLUMNS) : 'FROM fact LIMIT 0';
    const merge = `WITH fact AS MATERIALIZED (${facts}), known AS MATERIALIZED (${found}),
      added AS MATERIALIZED (FROM fact ANTI JOIN known ON ${isSame} AND ${stays})`;
    const [counted] = await merging.database.query(`${merge} SELECT count(*) AS changes FROM added`);
    if (counted?.changes === '0') return { result: undefined };
    const rows = `${merge} FROM (FROM known ANTI JOIN added AS fact ON ${isSame} UNION ALL FROM added)
      ORDER BY date, report_created_at, report_id, table_name, metric, outcome`;
    return { next: { rows }, result: undefined };
  });
}

/**
 * SQL: a fact and a row of the ledger are of the same report, table, day and metric, and both or none of them
 * are the platform's total.
 */
const isSame = [
  ...['report_id', 'report_created_at', 'table_name', 'date', 'metric'].map(
    (name) => `fact.${name} IS NOT DISTINCT FROM known.${name}`,
  ),
  `(fact.outcome = '${TOTAL}') = (known.outcome = '${TOTAL}')`,
].join(' AND ');

/** SQL: the row stays. A held day may be accepted later, and the table may take what it could not. */
const stays = `(known.outcome IN (fact.outcome, 'shown') OR (known.outcome = 'kept' AND fact.outcome <> 'shown'))`;

/** A row for each day and metric. */
function selectFacts(request: ExportRequest, days: readonly LedgerDay[]): string {
  const table = tableOf(request);
  const own = [
    literal(request.account),
    literal(request.name),
    table === undefined ? 'CAST(NULL AS VARCHAR)' : literal(table),
  ];
  const facts = days.flatMap(
    ({ day, rows, sums, outcome, version, window, copied_at, execution, day_over }) => {
      const dates = [window.start_date, window.end_date, day].map((date) => `DATE ${literal(date)}`);
      const report = [literal(version.report_id), timestamp(version.created_at), timestamp(copied_at)];
      const values = outcome === TOTAL ? sums : { ...sums, rows: String(rows) };
      return Object.entries(values).map(([metric, sum]) => {
        // NULL if it is larger.
        const value = `TRY_CAST(${sum === null ? 'NULL' : literal(sum)} AS DECIMAL(38,10))`;
        const origin = [literal(version.request_hash), literal(execution), String(day_over)];
        return `(${[...own, ...dates, ...report, literal(metric), value, literal(outcome), ...origin]})`;
      });
    },
  );
  return `FROM (VALUES ${facts}) AS facts(${LEDGER_COLUMNS.map(({ name }) => name)})`;
}
