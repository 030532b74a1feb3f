import { identifier, literal } from '../../functions/workflow/sql.ts';
import { type Column, catalogName, type TableSchema } from '../../functions/workflow/table.ts';
import {
  curve,
  DAY,
  type Finality,
  MIN_CURVE_DAYS,
  newest,
  RECONCILIATION,
  RESTATEMENTS,
  SINCE_CLOSE,
  shownDays,
  TODAY,
} from './ledger.ts';

/**
 * Queries over the tables and the ledger, in SQL that runs unchanged in DuckDB and in Athena (Trino). The
 * stack saves them in its workgroup, and the views of `query` are made of them.
 */

/** The parts of a table that the queries use. */
export type QueriedTable = Pick<TableSchema, 'table' | 'kind' | 'columns'> &
  Partial<Pick<TableSchema, 'currencies'>>;

/** The dates and the config that saved queries depend on. */
export interface QueryOptions extends Finality {
  /** The day that `as-of` shows. */
  readonly day?: string | undefined;
  /** The date at whose end `as-of` shows it. */
  readonly at?: string | undefined;
}

/** @returns by name; nothing if no report has a table */
export function savedQueries(
  tables: readonly QueriedTable[],
  { day = '2026-11-03', at = '2026-11-10', today = TODAY, config }: QueryOptions = {},
): Readonly<Record<string, { readonly description: string; readonly sql: string }>> {
  const reports = tables.filter(({ kind }) => kind === 'report');
  const [first] = reports;
  if (!first) return {};
  const spend = reports.find(({ columns }) =>
    ['spend', 'campaign_id'].every((name) => columns.some((column) => column.name === name)),
  );
  return {
    'per-day-and-campaign': {
      description: 'The sums of the last 30 days, per day and campaign',
      sql: totals(spend ?? first, today),
    },
    days: {
      description:
        'The values that each day shows, when they changed last, and what became of its newest report',
      sql: `${shownDays({ today, config })}\nORDER BY ${DAY}, "metric"`,
    },
    restatements: {
      description: 'Each value that a report changed: before, after, and when',
      sql: `${RESTATEMENTS}\nORDER BY "changed_at", ${DAY}, "metric"`,
    },
    curve: {
      description: `The share of its final value that each metric showed by the age of its days. NULL for fewer than ${MIN_CURVE_DAYS} final days`,
      sql: `${curve({ today, config })}\nORDER BY "table_name", "account", "metric", "age"`,
    },
    'as-of': {
      description: 'The values that a day showed at the end of an earlier date (UTC). Edit both dates',
      sql: `${newest(`
    AND "date" = DATE ${literal(day)}
    AND "copied_at" < DATE ${literal(at)} + INTERVAL '1' DAY`)}
ORDER BY ${DAY}, "metric"`,
    },
    finality: {
      description:
        'The days that are final, changing or unverified, and since which report they are the same',
      sql: `SELECT DISTINCT ${DAY}, "finality", "same_since", "report_created_at"
FROM (
${shownDays({ today, config })}
)
WHERE "finality" IS NOT NULL
ORDER BY ${DAY}`,
    },
    'since-close': {
      description: 'What changed in a month since it was closed: each value then, now, and the difference',
      sql: `${SINCE_CLOSE}\nORDER BY ${DAY}, "metric"`,
    },
    reconciliation: {
      description: "The sums of each day's rows beside the platform's own totals, and the difference",
      sql: `${RECONCILIATION}\nORDER BY ${DAY}, "metric"`,
    },
    freshness: {
      description: 'The newest day with rows of each table and account',
      sql: `SELECT "table_name", "account", max("date") AS "newest_day", date_diff('day', max("date"), ${today}) AS "days_old"
FROM (
${newest(`
    AND "metric" = 'rows'`)}
)
WHERE "value" > 0
GROUP BY "table_name", "account"
ORDER BY "days_old" DESC, "table_name", "account"`,
    },
  };
}

/** The query of the view `<table>_days`: one row per account and day, with a column per metric. */
export function daysView({ table, columns }: QueriedTable, finality: Finality = {}): string {
  const values = [{ name: 'rows', type: 'bigint' } as const, ...metricsIn(columns)].map(
    ({ name, type }) =>
      `CAST(max(CASE WHEN "metric" = ${literal(name)} THEN "value" END) AS ${sumType(type)}) AS ${identifier(name)}`,
  );
  const ofReport = ['report_id', 'report_created_at', 'changed_at', 'outcome', 'finality'].map(
    (name) => `max("${name}") AS "${name}"`,
  );
  return [
    `SELECT "account", "date", ${[...values, ...ofReport].join(', ')}`,
    `FROM (${shownDays(finality)}) WHERE "table_name" = ${literal(table)}`,
    'GROUP BY "account", "date"',
  ].join('\n');
}

/** The query of the view `<table>_restatements`. */
export function restatementsView({ table }: Pick<QueriedTable, 'table'>): string {
  return [
    'SELECT "account", "date", "metric", "before", "after", "changed_at", "report_id"',
    `FROM (${RESTATEMENTS}) WHERE "table_name" = ${literal(table)}`,
  ].join('\n');
}

/** The sums of all metrics per day, and per campaign if the table has campaigns. */
function totals({ table, columns, currencies = {} }: QueriedTable, today: string): string {
  const campaign = columns.map(({ name }) => name).filter((name) => /^campaign_(id|name)$/.test(name));
  const currency = Object.keys(currencies).length > 0 ? ['currency'] : [];
  const keys = ['date', 'account', ...campaign, ...currency].map(identifier).join(', ');
  const sums = metricsIn(columns).map(({ name }) => `sum(${identifier(name)}) AS ${identifier(name)}`);
  return [
    `SELECT ${[keys, ...sums].join(', ')}`,
    `FROM ${identifier(catalogName(table))}`,
    `WHERE "date" >= ${today} - INTERVAL '30' DAY`,
    `GROUP BY ${keys}`,
    `ORDER BY ${keys}`,
  ].join('\n');
}

function metricsIn(columns: readonly Column[]): Column[] {
  return columns.filter(({ type }) => type !== 'string');
}

/** The sum of a day may have more digits than each of its values. */
function sumType(type: Column['type']): string {
  return type.replace(/^decimal\(\d+,/, 'decimal(38,');
}
