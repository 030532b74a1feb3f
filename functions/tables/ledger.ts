import type { ReportVersion } from '../workflow/shown-days.ts';
import type { SavedWindow } from '../workflow/states.ts';
import { LEDGER_COLUMNS, ledgerKey, tableOf } from '../workflow/table.ts';
import { literal } from './database.ts';
import { type Merging, mergeObject, parquet, selectColumns, timestamp } from './merge.ts';
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
 * Adds a report to the ledger of a month. Rows of other reports stay.
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
    const own = `report_id = ${literal(entry.version.report_id)}`;
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
      `SELECT ${selectColumns(old, LEDGER_COLUMNS)} FROM ${parquet(old.path)}
         WHERE NOT (${own} AND concat(date, ' ', metric) IN (${replaced}))`,
    ];
    const rows = [...(others ?? []), selectNew(changed, entry)].join(' UNION ALL ');
    return {
      next: { runs: [`FROM (${rows}) ORDER BY date, report_created_at, report_id, metric`] },
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

function selectNew(facts: readonly Fact[], { request, window, object, version }: Entry): string {
  const table = tableOf(request);
  const values: Readonly<Record<string, string>> = {
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
  const expressions = LEDGER_COLUMNS.map(({ name }) => `${values[name] ?? name} AS ${name}`);
  const texts = facts.map(
    ({ day, metric, value, outcome }) => `(${[day, metric, value, outcome].map(literal)})`,
  );
  return `SELECT ${expressions.join(', ')} FROM (VALUES ${texts}) AS facts(date, metric, value, outcome)`;
}
