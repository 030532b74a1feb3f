import { type Column, catalogName, LEDGER, type TableSchema } from '../../functions/workflow/table.ts';

/**
 * Queries over the tables and the ledger, in SQL that runs unchanged in DuckDB and in Athena (Trino). The
 * stack saves them in its workgroup, and the views of `query` are made of them.
 */

export interface SavedQuery {
  readonly description: string;
  readonly sql: string;
}

/** The parts of a table that the queries use. */
export type QueriedTable = Pick<TableSchema, 'table' | 'kind' | 'columns'> &
  Partial<Pick<TableSchema, 'currencies'>>;

/** Days without a change after which a day is settled. Most conversions are attributed within a week. */
const SETTLED_DAYS = 7;

const DAY = '"table_name", "account", "date"';
const NEWEST_FIRST = '"report_created_at" DESC, "report_id" DESC';

/** Dates of the saved queries. */
export interface QueryDates {
  /** The day that `as-of` shows. */
  readonly day?: string | undefined;
  /** The date at whose end `as-of` shows it. */
  readonly at?: string | undefined;
  /** In SQL. Default: the engine's date. */
  readonly today?: string;
}

/** @returns by name; nothing if no report has a table */
export function savedQueries(
  tables: readonly QueriedTable[],
  { day = '2026-11-03', at = '2026-11-10', today = 'current_date' }: QueryDates = {},
): Readonly<Record<string, SavedQuery>> {
  const reports = tables.filter(({ kind }) => kind === 'report');
  const [first] = reports;
  if (!first) return {};
  const spend = reports.find((table) => hasColumn(table, 'spend') && hasColumn(table, 'campaign_id'));
  return {
    'per-day-and-campaign': {
      description: 'The sums of the last 30 days, per day and campaign',
      sql: totals(spend ?? first, today),
    },
    days: {
      description:
        'The values that each day shows, when they changed last, and what became of its newest report',
      sql: `${SHOWN_DAYS}\nORDER BY ${DAY}, "metric"`,
    },
    restatements: {
      description: 'Each value that a report changed: before, after, and when',
      sql: `${RESTATEMENTS}\nORDER BY "changed_at", ${DAY}, "metric"`,
    },
    'as-of': {
      description: 'The values that a day showed at the end of an earlier date (UTC). Edit both dates',
      sql: `${newest(`
    AND "date" = DATE ${literal(day)}
    AND "copied_at" < DATE ${literal(at)} + INTERVAL '1' DAY`)}
ORDER BY ${DAY}, "metric"`,
    },
    settled: {
      description: `The days whose values no report changed for ${SETTLED_DAYS} days`,
      sql: `${CHANGES}
HAVING max("copied_at") < ${today} - INTERVAL '${SETTLED_DAYS}' DAY
ORDER BY ${DAY}`,
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
export function daysView({ table, columns }: QueriedTable): string {
  const values = [{ name: 'rows', type: 'bigint' } as const, ...metricsIn(columns)].map(
    ({ name, type }) =>
      `CAST(max(CASE WHEN "metric" = ${literal(name)} THEN "value" END) AS ${sumType(type)}) AS ${quoted(name)}`,
  );
  const ofReport = ['report_id', 'report_created_at', 'changed_at', 'outcome'].map(
    (name) => `max("${name}") AS "${name}"`,
  );
  return [
    `SELECT "account", "date", ${[...values, ...ofReport].join(', ')}`,
    `FROM (${SHOWN_DAYS}) WHERE "table_name" = ${literal(table)}`,
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

/**
 * The rows of the newest report that each day showed. A metric that this report does not have is not shown.
 *
 * @param where leaves reports out
 */
function newest(where = ''): string {
  return [
    `SELECT ${DAY}, "metric", "value", "report_id", "report_created_at"`,
    'FROM (',
    `  SELECT *, rank() OVER (PARTITION BY ${DAY} ORDER BY ${NEWEST_FIRST}) AS "age"`,
    `  FROM "${LEDGER}"`,
    `  WHERE "outcome" = 'shown'${where}`,
    ')',
    'WHERE "age" = 1',
  ].join('\n');
}

const OF_METRIC = `PARTITION BY ${DAY}, "metric" ORDER BY "report_created_at", "report_id"`;

/** Each value that a day showed, with the one before. The first version has none. */
const VERSIONS = `SELECT *,
    lag("value") OVER (${OF_METRIC}) AS "before",
    row_number() OVER (${OF_METRIC}) AS "version"
  FROM "${LEDGER}"
  WHERE "outcome" = 'shown'`;

/** All values that a report changed. */
export const RESTATEMENTS = `SELECT ${DAY}, "metric", "before", "value" AS "after", "copied_at" AS "changed_at", "report_id"
FROM (
  ${VERSIONS}
)
WHERE "version" > 1 AND "before" IS DISTINCT FROM "value"`;

/** When the values of each day changed last. */
const CHANGES = `SELECT ${DAY}, max("copied_at") AS "changed_at"
FROM (
  ${VERSIONS}
)
WHERE "version" = 1 OR "before" IS DISTINCT FROM "value"
GROUP BY ${DAY}`;

/** The outcome of the newest report of each day. All its rows say the same. */
const OUTCOMES = `SELECT DISTINCT ${DAY}, first_value("outcome") OVER (PARTITION BY ${DAY} ORDER BY ${NEWEST_FIRST}) AS "outcome"
FROM "${LEDGER}"`;

/** The values that each day shows. */
export const SHOWN_DAYS = `WITH "shown" AS (
${newest()}
), "changes" AS (
${CHANGES}
), "outcomes" AS (
${OUTCOMES}
)
SELECT ${DAY}, "metric", "value", "report_id", "report_created_at", "changed_at", "outcome"
FROM "shown" JOIN "changes" USING (${DAY}) JOIN "outcomes" USING (${DAY})`;

/** The sums of all metrics per day, and per campaign if the table has campaigns. */
function totals({ table, columns, currencies = {} }: QueriedTable, today: string): string {
  const campaign = columns.map(({ name }) => name).filter((name) => /^campaign_(id|name)$/.test(name));
  const currency = Object.keys(currencies).length > 0 ? ['currency'] : [];
  const keys = ['date', 'account', ...campaign, ...currency].map(quoted).join(', ');
  const sums = metricsIn(columns).map(({ name }) => `sum(${quoted(name)}) AS ${quoted(name)}`);
  return [
    `SELECT ${[keys, ...sums].join(', ')}`,
    `FROM ${quoted(catalogName(table))}`,
    `WHERE "date" >= ${today} - INTERVAL '30' DAY`,
    `GROUP BY ${keys}`,
    `ORDER BY ${keys}`,
  ].join('\n');
}

function hasColumn({ columns }: QueriedTable, name: string): boolean {
  return columns.some((column) => column.name === name);
}

function metricsIn(columns: readonly Column[]): Column[] {
  return columns.filter(({ type }) => type !== 'string');
}

/** The sum of a day may have more digits than each of its values. */
function sumType(type: Column['type']): string {
  return type.replace(/^decimal\(\d+,/, 'decimal(38,');
}

/** A file of a local run may have any name of a column. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
