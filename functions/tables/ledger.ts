import type { ExportRequest } from '../workflow/request/request.ts';
import type { ReportVersion, ShownDays } from '../workflow/shown-days.ts';
import type { Window } from '../workflow/state-parts.ts';
import { LEDGER_COLUMNS, ledgerKey, tableOf } from '../workflow/table.ts';
import { literal } from './database.ts';
import { hasColumns, type Merging, mergeObject, select, selectOld, timestamp } from './merge.ts';
import { type DayFacts, damaged } from './report.ts';

/** A report, and its window. */
export interface Entry {
  readonly version: ReportVersion;
  readonly window: Window;
  /** When its file arrived. */
  readonly copied_at: string;
}

/** One day of a report. */
export interface LedgerDay extends DayFacts, Entry {
  /** See LEDGER_COLUMNS. */
  readonly outcome: 'shown' | 'kept' | 'held' | 'not written';
  /** See MergedDay. */
  readonly tookOver?: ReportVersion | undefined;
}

/** The days that an object of a table shows, as far as it knows what the ledger says of them. */
export function shownLines(shown: ShownDays): LedgerDay[] {
  return Object.entries(shown).flatMap(([day, { rows, ledger, ...version }]) => {
    if (!ledger) return [];
    const { start_date, end_date, copied_at, sums, took_over: tookOver } = ledger;
    const window = { start_date, end_date };
    return [{ day, rows, sums, version, window, copied_at, outcome: 'shown', tookOver }];
  });
}

/** A report comes again with an `accept_empty`, or once the table can take it. */
const CHANGEABLE = ['held', 'not written'].map(literal);

/**
 * Adds days of reports to the ledger of a month. The rows of other reports stay, and so do rows of the same
 * report about another table. If an older report takes over from another request, that request's newer rows
 * change from `shown` to `kept`.
 *
 * @param days of this month, each report's day once
 * @returns whether anything was added
 * @throws see mergeObject
 */
export async function mergeLedger(
  merging: Merging,
  request: ExportRequest,
  month: string,
  days: readonly LedgerDay[],
): Promise<boolean> {
  if (days.length === 0) return false;
  const facts = selectFacts(request, days);
  const key = ledgerKey(request, month);
  return mergeObject(merging, key, async (old) => {
    if (old && !hasColumns(old, LEDGER_COLUMNS)) throw damaged(key);
    const found = old ? selectOld(old, LEDGER_COLUMNS) : 'FROM fact LIMIT 0';
    const isReplaced = findReplaced(request, days);
    const merge = `WITH fact AS MATERIALIZED (${facts}), found AS MATERIALIZED (${found}),
      known AS MATERIALIZED (SELECT * REPLACE (CASE WHEN ${isReplaced} THEN 'kept' ELSE outcome END AS outcome) FROM found),
      settled AS (FROM known WHERE outcome NOT IN (${CHANGEABLE})),
      added AS MATERIALIZED (FROM fact ANTI JOIN known AS same ON ${isSame('same', 'outcome')}
        ANTI JOIN settled ON ${isSame('settled')} AND (settled.outcome = 'shown' OR fact.outcome <> 'shown'))`;
    const [counted] = await merging.database.query(
      `${merge} SELECT count(*) AS changes FROM (SELECT 1 FROM added UNION ALL SELECT 1 FROM found WHERE ${isReplaced})`,
    );
    if (counted?.changes === '0') return { result: false };
    const rows = `${merge} FROM (FROM known ANTI JOIN added AS fact ON ${isSame('known')} UNION ALL FROM added)
      ORDER BY date, report_created_at, report_id, table_name, metric`;
    return { next: { rows }, result: true };
  });
}

/** SQL: a row that names a newer report as shown, whose place an older one of another request took. */
function findReplaced(request: ExportRequest, days: readonly LedgerDay[]): string {
  const conditions = days.flatMap(({ day, version, tookOver }) => {
    if (!tookOver) return [];
    const newer = `report_created_at > ${timestamp(version.created_at)}`;
    return [`date = ${literal(day)} AND ${newer} AND report_created_at <= ${timestamp(tookOver.created_at)}`];
  });
  if (conditions.length === 0) return 'false';
  const table = literal(tableOf(request) ?? '');
  return `(outcome = 'shown' AND table_name = ${table} AND (${conditions.join(' OR ')}))`;
}

/** A condition of SQL: a fact and another one are of the same report, table, day and metric. */
function isSame(other: string, ...more: readonly string[]): string {
  const names = ['report_id', 'report_created_at', 'table_name', 'date', 'metric', ...more];
  return names.map((name) => `fact.${name} IS NOT DISTINCT FROM ${other}.${name}`).join(' AND ');
}

/** A row for each day and metric. */
function selectFacts(request: ExportRequest, days: readonly LedgerDay[]): string {
  const table = tableOf(request);
  const values = {
    account: literal(request.account),
    export: literal(request.name),
    table_name: table === undefined ? 'CAST(NULL AS VARCHAR)' : literal(table),
    // NULL if it is larger.
    value: 'TRY_CAST(value AS DECIMAL(38,10))',
  };
  const facts = days.flatMap(({ day, rows, sums, outcome, version, window, copied_at }) => {
    const dates = [window.start_date, window.end_date, day].map((date) => `DATE ${literal(date)}`);
    const report = [literal(version.report_id), timestamp(version.created_at), timestamp(copied_at)];
    return Object.entries({ ...sums, rows: String(rows) }).map(([metric, value]) => {
      const said = [literal(metric), value === null ? 'NULL' : literal(value), literal(outcome)];
      return `(${[...dates, ...report, ...said]})`;
    });
  });
  const names = 'start_date, end_date, date, report_id, report_created_at, copied_at, metric, value, outcome';
  return `SELECT ${select(LEDGER_COLUMNS, values)} FROM (VALUES ${facts}) AS facts(${names})`;
}
