import type { ExportRequest } from '../workflow/request/request.ts';
import type { ReportVersion, ShownDay, ShownDays } from '../workflow/shown-days.ts';
import type { Window } from '../workflow/state-parts.ts';
import {
  ACCEPTED,
  LEDGER_COLUMNS,
  type LedgerColumn,
  type LedgerColumnName,
  ledgerKey,
  REPORT,
  TOTAL,
  tableOf,
} from '../workflow/table.ts';
import { duckType, type Merging, mergeObject, type OldObject, selectOld, timestamp } from './merge.ts';
import { type DayFacts, damagedObject, type Sums } from './report.ts';
import { literal } from './sql.ts';

/** A report, and its window. */
export interface DeliveredReport {
  readonly version: ReportVersion;
  readonly window: Window;
  /** When its file arrived. */
  readonly copied_at: string;
  /** The execution that brought it. */
  readonly execution: string;
  /** The time zone in which its days end. Absent for a list, whose snapshot is made during its day. */
  readonly time_zone?: string | undefined;
}

/** A fact about a day. It has a line for each metric. The fact of a report has one for the rows, too. */
export interface LedgerFact extends DayFacts, DeliveredReport {
  /** See LEDGER_COLUMNS. */
  readonly kind: typeof REPORT | typeof TOTAL | typeof ACCEPTED;
  readonly day_over: boolean;
}

/** The facts that a report adds about a day: its sums, and the accept if it has no rows. */
export function reportFacts(report: Omit<LedgerFact, 'kind'>, accepted_at: string | undefined): LedgerFact[] {
  const fact = { ...report, kind: REPORT } as const;
  if (accepted_at === undefined) return [fact];
  return [fact, { ...report, kind: ACCEPTED, copied_at: accepted_at, sums: {} }];
}

/** The facts about the reports that the days of an object show, and about the reports that are held. */
export function shownFacts(shown: ShownDays): LedgerFact[] {
  return Object.entries(shown).flatMap(([day, { held, ...entry }]) => {
    if (!held) return factsOfDay(day, entry);
    // The held snapshot of a list is of a later day than the snapshot that the table shows.
    const { start_date, end_date } = held.ledger;
    const heldDay = start_date <= day && day < end_date ? day : start_date;
    return [...factsOfDay(day, entry), ...factsOfDay(heldDay, { ...held, rows: 0 })];
  });
}

function factsOfDay(
  day: string,
  { ledger, rows, accepted_at, ...version }: Omit<ShownDay, 'restated' | 'held'>,
): LedgerFact[] {
  const { start_date, end_date, ...facts } = ledger;
  return reportFacts({ day, rows, version, window: { start_date, end_date }, ...facts }, accepted_at);
}

/**
 * True if an object has the ledger's columns. Other columns beside them, which another version of the stack
 * may have written, are no fault.
 *
 * @param types DuckDB's types by name
 */
export function isLedger(
  types: ReadonlyMap<string, string>,
  columns: readonly LedgerColumn[] = LEDGER_COLUMNS,
): boolean {
  return columns.every(({ name, type, optional }) => {
    const written = types.get(name);
    return written === undefined ? optional === true : written === duckType(type);
  });
}

/**
 * The lines of an object of the ledger, as SQL: the ledger's columns, of which absent ones are NULL, and the
 * object's others behind them.
 *
 * @throws TableProblem unless it {@link isLedger}
 */
export function selectLedger(old: OldObject, key: string): string {
  if (!isLedger(old.columns)) throw damagedObject(key);
  const known: ReadonlySet<string> = new Set(LEDGER_COLUMNS.map(({ name }) => name));
  const others = [...old.columns.keys()].filter((name) => !known.has(name));
  return selectOld(old, LEDGER_COLUMNS, {}, others);
}

/**
 * Adds facts to the ledger of a month. Its lines stay as they are.
 *
 * @param facts about days of this month, each once
 * @throws see mergeObject
 */
export async function mergeLedger(
  merging: Merging,
  request: ExportRequest,
  month: string,
  facts: readonly LedgerFact[],
): Promise<void> {
  const key = ledgerKey(request, month);
  await mergeObject(merging, key, async (old) => {
    const known = old ? selectLedger(old, key) : 'FROM fact LIMIT 0';
    const merge = `WITH fact AS MATERIALIZED (${selectLines(request, facts)}), known AS MATERIALIZED (${known}),
      added AS MATERIALIZED (FROM fact ANTI JOIN known ON ${SAME_FACT})`;
    const [counted] = await merging.database.query(`${merge} SELECT count(*) AS lines FROM added`);
    if (counted?.lines === '0') return { result: undefined };
    const rows = `${merge} FROM (FROM known UNION ALL BY NAME FROM added)
      ORDER BY date, report_created_at, report_id, table_name, kind, metric`;
    return { next: { rows }, result: undefined };
  });
}

/** SQL: two lines are the same fact. A retry may have copied the file of a report again. */
const SAME_FACT = [
  ...['kind', 'report_id', 'report_created_at', 'table_name', 'date', 'metric'].map(
    (name) => `fact.${name} IS NOT DISTINCT FROM known.${name}`,
  ),
  `(fact.kind <> '${ACCEPTED}' OR fact.copied_at = known.copied_at)`,
].join(' AND ');

/** A row for each day and metric. */
function selectLines(request: ExportRequest, facts: readonly LedgerFact[]): string {
  const table = tableOf(request);
  const lines = facts.flatMap((fact) => {
    const { version, window, copied_at, execution, day_over } = fact;
    const cells: Omit<LedgerCells, 'metric' | 'value'> = {
      account: literal(request.account),
      export: literal(request.name),
      table_name: table === undefined ? 'CAST(NULL AS VARCHAR)' : literal(table),
      start_date: `DATE ${literal(window.start_date)}`,
      end_date: `DATE ${literal(window.end_date)}`,
      date: `DATE ${literal(fact.day)}`,
      report_id: literal(version.report_id),
      report_created_at: timestamp(version.created_at),
      copied_at: timestamp(copied_at),
      kind: literal(fact.kind),
      request_hash: literal(version.request_hash),
      execution: literal(execution),
      day_over: String(day_over),
    };
    return Object.entries(valuesOf(fact)).map(([metric, sum]) => {
      // NULL if it is larger.
      const value = `TRY_CAST(${sum === null ? 'NULL' : literal(sum)} AS DECIMAL(38,10))`;
      return rowOf({ ...cells, metric: literal(metric), value });
    });
  });
  return `FROM (VALUES ${lines}) AS lines(${LEDGER_COLUMNS.map(({ name }) => name)})`;
}

function valuesOf({ kind, rows, sums }: LedgerFact): Sums {
  return kind === TOTAL ? sums : { ...sums, rows: String(rows) };
}

/** The cells of a row, as SQL. */
type LedgerCells = Readonly<Record<LedgerColumnName, string>>;

function rowOf(cells: LedgerCells): string {
  return `(${LEDGER_COLUMNS.map(({ name }) => cells[name])})`;
}
