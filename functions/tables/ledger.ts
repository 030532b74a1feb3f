import type { ReportVersion } from '../workflow/shown-days.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { LEDGER_COLUMNS, ledgerKey, tableOf } from '../workflow/table.ts';
import { literal } from './database.ts';
import { type Merging, mergeObject, parquet, select, selectOld, timestamp } from './merge.ts';
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
const CHANGEABLE = ['held', 'not written'];

/**
 * Adds a report to the ledger of a month. Rows of other reports stay, and those of the same report about another table.
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
  await mergeObject(merging, ledgerKey(entry.request, month), async (old) => {
    // A report that fills another table says something else: what became of its days there.
    const own = `report_id = ${literal(entry.version.report_id)} AND table_name IS NOT DISTINCT FROM ${tableName(entry)}`;
    const known = old
      ? await merging.database.query(`SELECT date, metric, outcome FROM ${parquet(old.path)} WHERE ${own}`)
      : [];
    const outcomes = new Map(known.map((row) => [`${row.date} ${row.metric}`, String(row.outcome)]));
    const offered = days.flatMap(({ day, rows, sums, outcome }) =>
      Object.entries({ ...sums, rows: String(rows) }).map(([metric, value]) => ({
        day,
        metric,
        value,
        outcome,
      })),
    );
    const changed = offered.filter(({ day, metric, outcome }) => {
      const before = outcomes.get(`${day} ${metric}`);
      return before === undefined || (before !== outcome && CHANGEABLE.includes(before));
    });
    if (changed.length === 0) return { result: undefined };
    const replaced = changed.map(({ day, metric }) => literal(`${day} ${metric}`));
    const others = old && [
      `${selectOld(old, LEDGER_COLUMNS)} WHERE NOT (${own} AND concat(date, ' ', metric) IN (${replaced}))`,
    ];
    const rows = [...(others ?? []), selectNew(changed, entry)].join(' UNION ALL ');
    return {
      next: { runs: [`FROM (${rows}) ORDER BY date, report_created_at, report_id, table_name, metric`] },
      result: undefined,
    };
  });
}

interface Fact {
  readonly day: string;
  readonly metric: string;
  readonly value: string;
  readonly outcome: string;
}

function tableName({ request }: Entry): string {
  const table = tableOf(request);
  return table === undefined ? 'CAST(NULL AS VARCHAR)' : literal(table);
}

function selectNew(facts: readonly Fact[], entry: Entry): string {
  const { request, window, object, version } = entry;
  const values = {
    account: literal(request.account),
    export: literal(request.name),
    table_name: tableName(entry),
    start_date: `DATE ${literal(window.start_date)}`,
    end_date: `DATE ${literal(window.end_date)}`,
    date: 'CAST(date AS DATE)',
    report_id: literal(version.report_id),
    report_created_at: timestamp(version.created_at),
    copied_at: timestamp(object.copied_at),
    // NULL if it is larger.
    value: 'TRY_CAST(value AS DECIMAL(38,10))',
  };
  const texts = facts.map(
    ({ day, metric, value, outcome }) => `(${[day, metric, value, outcome].map(literal)})`,
  );
  return `SELECT ${select(LEDGER_COLUMNS, values)} FROM (VALUES ${texts}) AS facts(date, metric, value, outcome)`;
}
