import { identifier, literal } from '../../../functions/tables/sql.ts';
import {
  type Column,
  catalogName,
  LEDGER,
  REPORT,
  type TableSchema,
} from '../../../functions/workflow/table.ts';
import {
  curve,
  DAY_KEY,
  dayFacts,
  type Finality,
  MIN_CURVE_DAYS,
  newest,
  RECONCILIATION,
  RESTATEMENTS,
  SINCE_CLOSE,
  shownDays,
  TODAY,
} from './ledger-sql.ts';

/**
 * Queries over the tables and the ledger, in SQL that runs unchanged in DuckDB and in Athena (Trino). The
 * stack saves them in its workgroup, and the views of `query` are made of them.
 */

/** The parts of a table that the queries use. */
export type QueriedTable = Pick<TableSchema, 'table' | 'kind' | 'columns'> &
  Partial<Pick<TableSchema, 'currencies' | 'requests'>>;

/** The dates of `as-of`. */
export interface AsOf {
  /** The days that `as-of` shows: the first one, and the day after the last one. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** The date at whose end `as-of` shows them. */
  readonly at?: string | undefined;
}

/** The dates and the config that saved queries depend on. */
export interface QueryOptions extends Finality, AsOf {}

/** @returns by name; nothing if no report has a table */
export function savedQueries(
  tables: readonly QueriedTable[],
  { from = '2026-10-01', to = '2026-11-01', at = '2026-11-05', today = TODAY, config }: QueryOptions = {},
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
        'The values that each day shows, when they changed last, and whether a newer report without rows is held',
      sql: `${shownDays({ today, config })}\nORDER BY ${DAY_KEY}, "metric"`,
    },
    restatements: {
      description: 'Each value that a report changed: before, after, and when',
      sql: `${RESTATEMENTS}\nORDER BY "changed_at", ${DAY_KEY}, "metric"`,
    },
    curve: {
      description: `The share of its final value that each metric showed by the age of its days. NULL for fewer than ${MIN_CURVE_DAYS} final days`,
      sql: `${curve({ today, config })}\nORDER BY "table_name", "account", "metric", "age"`,
    },
    'as-of': {
      description: 'The values that days showed at the end of an earlier date (UTC). Edit the dates',
      sql: `${newest(`
    AND "date" >= DATE ${literal(from)} AND "date" < DATE ${literal(to)}
    AND "copied_at" < DATE ${literal(at)} + INTERVAL '1' DAY`)}
ORDER BY ${DAY_KEY}, "metric"`,
    },
    finality: {
      description:
        'The days that are final, changing or unverified, and since which report they are the same',
      sql: `SELECT DISTINCT ${DAY_KEY}, "finality", "same_since", "report_created_at"
FROM (
${shownDays({ today, config })}
)
WHERE "finality" IS NOT NULL
ORDER BY ${DAY_KEY}`,
    },
    'since-close': {
      description: 'What changed in a month since it was closed: each value then, now, and the difference',
      sql: `${SINCE_CLOSE}\nORDER BY ${DAY_KEY}, "metric"`,
    },
    reconciliation: {
      description: "The sums of each day's rows beside the platform's own totals, and the difference",
      sql: `${RECONCILIATION}\nORDER BY ${DAY_KEY}, "metric"`,
    },
    freshness: {
      description: 'The newest day with rows of each table and account',
      sql: `SELECT "table_name", "account", max("date") AS "newest_day", date_diff('day', max("date"), ${today}) AS "days_old"
FROM (
${newest()}
)
WHERE "metric" = 'rows' AND "value" > 0
GROUP BY "table_name", "account"
ORDER BY "days_old" DESC, "table_name", "account"`,
    },
    ...Object.fromEntries(
      reports.map((report) => [
        `${catalogName(report.table)}_days`,
        {
          description: `Every day of ${report.table} to yesterday, also absent ones: its state, finality, rows, sums and report`,
          sql: `${daysView(report, { today, config })}\nORDER BY "account", "date"`,
        },
      ]),
    ),
  };
}

/** 10,000 numbers, from 0 on. Trino and DuckDB have no function in common that makes them. */
const NUMBERS = `SELECT "ones" + 10 * "tens" + 100 * "hundreds" + 1000 * "thousands" AS "number"
  FROM ${['ones', 'tens', 'hundreds', 'thousands']
    .map((name) => `(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS "${name}" ("${name}")`)
    .join(' CROSS JOIN ')}`;

/**
 * The query of the view `<table>_days`: a row for every day of an account, from its first one to yesterday,
 * also for absent days. The table tells which report a day shows, and the ledger what the report said. The
 * table has no row of a day without rows, so of these the ledger tells both.
 */
export function daysView({ table, columns, requests = {} }: QueriedTable, finality: Finality = {}): string {
  const { today = TODAY } = finality;
  const metrics = [{ name: 'rows', type: 'bigint' } as const, ...metricsIn(columns)];
  const sums = metrics.map(
    ({ name, type }) =>
      `CAST(max(CASE WHEN "metric" = ${literal(name)} THEN "value" END) AS ${sumType(type)}) AS ${identifier(name)}`,
  );
  const hashes = Object.entries(requests).map(
    ([account, hash]) => ` WHEN ${literal(account)} THEN ${literal(hash)}`,
  );
  const configured = hashes.length > 0 ? `CASE "account"${hashes.join('')} END` : '"newest_hash"';
  const isOfTable = `"table_name" = ${literal(table)}`;
  const names = metrics.map(({ name }) => `"sums".${identifier(name)}`).join(', ');
  return `WITH "facts" AS (
  SELECT * FROM (
${dayFacts(finality)}
  )
  WHERE ${isOfTable}
), "shown" AS (
  SELECT DISTINCT "account", "date", "report_id" AS "shown_id", "report_created_at" AS "shown_created_at"
  FROM ${identifier(catalogName(table))}
), "sums" AS (
  SELECT "account", "date", "report_id", "report_created_at", ${sums.join(', ')}
  FROM "${LEDGER}"
  WHERE "kind" = '${REPORT}' AND ${isOfTable}
  GROUP BY "account", "date", "report_id", "report_created_at"
), "calendar" AS (
  SELECT "account", CAST("first_day" + INTERVAL '1' DAY * "number" AS DATE) AS "date"
  FROM (SELECT "account", min("date") AS "first_day" FROM "facts" GROUP BY "account")
  CROSS JOIN (${NUMBERS})
), "judged" AS (
  SELECT *,
    coalesce("shown_id", CASE WHEN "row_count" = 0 THEN "report_id" END) AS "sums_id",
    coalesce("shown_created_at", CASE WHEN "row_count" = 0 THEN "report_created_at" END) AS "sums_created_at",
    CASE
      WHEN "report_id" IS NULL OR NOT "newest_over" THEN 'missing'
      WHEN "shown_id" IS NULL AND "row_count" > 0 THEN 'behind'
      WHEN "shown_created_at" < "report_created_at" THEN 'behind'
      WHEN "shown_created_at" = "report_created_at" AND "shown_id" < "report_id" THEN 'behind'
      WHEN "held" THEN 'held'
      WHEN "newest_hash" <> ${configured} THEN 'older'
      ELSE 'there'
    END AS "state"
  FROM "calendar" LEFT JOIN "facts" USING ("account", "date") LEFT JOIN "shown" USING ("account", "date")
  WHERE "date" < ${today}
)
SELECT "judged"."account", "judged"."date", "state", "finality", ${names}, "sums_id" AS "report_id", "sums_created_at" AS "report_created_at", "changed_at"
FROM "judged" LEFT JOIN "sums" ON "sums"."account" = "judged"."account" AND "sums"."date" = "judged"."date"
  AND "sums"."report_id" = "sums_id" AND "sums"."report_created_at" = "sums_created_at"`;
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
