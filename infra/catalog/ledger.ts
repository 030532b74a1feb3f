import { literal } from '../../functions/workflow/sql.ts';
import { CLOSED, LEDGER, TOTAL } from '../../functions/workflow/table.ts';
import { FINAL_AFTER_DAYS, type FinalAfter } from '../config/exports.ts';

/**
 * The ledger in SQL that runs unchanged in DuckDB and in Athena (Trino): the values that days showed and
 * show, when they changed, and which of them are final.
 */

export const DAY = '"table_name", "account", "date"';
const NEWEST_FIRST = '"report_created_at" DESC, "report_id" DESC';

/** Decides which days are final. */
export interface Finality {
  /** In SQL. Default: the engine's date. */
  readonly today?: string | undefined;
  /** The config. Default: {@link FINAL_AFTER_DAYS} for every account. */
  readonly config?: FinalAfter | undefined;
}

export const TODAY = 'current_date';

/** As SQL: today, or the date of the newest report, which a run with --speed leaves in the future. */
export function latestToday(today = TODAY): string {
  return `greatest(${today}, (SELECT CAST(max("report_created_at") AS DATE) FROM "${LEDGER}"))`;
}

/**
 * The rows of the newest report that each day showed. A metric that this report does not have is not shown.
 *
 * @param where leaves reports out
 * @param more columns
 */
export function newest(where = '', more: readonly string[] = []): string {
  return [
    `SELECT ${[DAY, '"metric"', '"value"', '"report_id"', '"report_created_at"', ...more].join(', ')}`,
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

const IS_CHANGE = `("version" = 1 OR "before" IS DISTINCT FROM "value")`;

/**
 * The last change of the values of each day.
 *
 * - `same_since`: the first report that says what the day shows, and was created after the day was over and
 *   after each report that says otherwise, also one that the day did not show
 * - `moved_on`: the date of the last restatement, or of the end of the day if that is later
 * - `is_report`: false for the snapshots of a list, which have no metric
 *
 * A report counts as created after the day if its date in UTC is a later one.
 */
const CHANGES = `SELECT ${DAY}, max(CASE WHEN ${IS_CHANGE} THEN "copied_at" END) AS "changed_at",
  min(CASE WHEN "report_created_at" >= "last_change" AND coalesce("report_created_at" > "disputed_at", true) AND CAST("report_created_at" AS DATE) > "date" THEN "report_created_at" END) AS "same_since",
  max(CAST(CASE WHEN ${IS_CHANGE} AND "version" > 1 THEN "report_created_at" ELSE "date" + INTERVAL '1' DAY END AS DATE)) AS "moved_on",
  bool_or("metric" <> 'rows') AS "is_report"
FROM (
  SELECT *, max(CASE WHEN ${IS_CHANGE} THEN "report_created_at" END) OVER (PARTITION BY ${DAY}) AS "last_change"
  FROM (
  ${VERSIONS}
  )
) LEFT JOIN (
  SELECT ${DAY}, max("said_at") AS "disputed_at"
  FROM (
${newest()}
  ) JOIN (
    SELECT ${DAY}, "metric", "value" AS "said", "report_created_at" AS "said_at"
    FROM "${LEDGER}"
    WHERE "outcome" IN ('held', 'kept', 'not written')
  ) USING (${DAY}, "metric")
  WHERE "said" IS DISTINCT FROM "value"
  GROUP BY ${DAY}
) USING (${DAY})
GROUP BY ${DAY}`;

/** Four weeks, because the days of a week differ. */
export const MIN_CURVE_DAYS = 28;

/** A day of the curve was read at this age at the latest. In UTC, its first run may be a day late. */
const MAX_FIRST_AGE = 2;

/**
 * The restatement curve of each metric of an account: of the final days that were read early on, the `share`
 * of the final values that they showed at an age in days, and `caught`, the part of all changes since they
 * were first read that had come by then.
 */
export function curve(finality: Finality): string {
  const age = `date_diff('day', "date", CAST("report_created_at" AS DATE))`;
  const enough = (sql: string) => `CASE WHEN count(*) >= ${MIN_CURVE_DAYS} THEN ${sql} END`;
  return `WITH "last" AS (
  SELECT ${DAY}, "metric", CAST(coalesce("value", 0) AS DOUBLE) AS "last_value"
  FROM (
${shownDays(finality)}
  )
  WHERE "finality" = 'final'
), "read" AS (
  SELECT ${DAY}, "metric", CAST(coalesce("value", 0) AS DOUBLE) AS "value", ${age} AS "read_at",
    lead(${age}) OVER (${OF_METRIC}) AS "next_at",
    min(${age}) OVER (PARTITION BY ${DAY}, "metric") AS "first_at",
    first_value(CAST(coalesce("value", 0) AS DOUBLE)) OVER (${OF_METRIC}) AS "first_value"
  FROM "${LEDGER}"
  WHERE "outcome" = 'shown' AND CAST("report_created_at" AS DATE) > "date"
), "known" AS (
  SELECT * FROM "last" JOIN "read" USING (${DAY}, "metric") WHERE "first_at" <= ${MAX_FIRST_AGE}
), "ages" AS (
  SELECT DISTINCT "table_name", "account", "read_at" AS "age" FROM "known"
)
SELECT "table_name", "account", "metric", "age", count(*) AS "days",
  ${enough('sum("value") / nullif(sum("last_value"), 0)')} AS "share",
  ${enough('1 - sum(abs("last_value" - "value")) / nullif(sum(abs("last_value" - "first_value")), 0)')} AS "caught"
FROM "known" JOIN "ages" USING ("table_name", "account")
WHERE "read_at" <= "age" AND ("next_at" IS NULL OR "next_at" > "age")
GROUP BY "table_name", "account", "metric", "age"`;
}

/** The outcome of the newest report of each day. All its rows say the same. */
const OUTCOMES = `SELECT DISTINCT ${DAY}, first_value("outcome") OVER (PARTITION BY ${DAY} ORDER BY ${NEWEST_FIRST}) AS "outcome"
FROM "${LEDGER}"
WHERE "outcome" NOT IN ('${CLOSED}', '${TOTAL}')`;

/**
 * The sums of the rows that days show, beside the platform's own total that the same execution brought. Days
 * without one are left out. No value counts as 0.
 */
export const RECONCILIATION = `SELECT ${DAY}, "metric", "rows_sum", "platform_total", coalesce("rows_sum", 0) - coalesce("platform_total", 0) AS "difference", "report_id", "report_created_at"
FROM (
  SELECT ${DAY}, "metric", "value" AS "rows_sum", "report_id", "report_created_at", "execution" FROM (
${newest('', ['"execution"'])}
  )
) JOIN (
  SELECT ${DAY}, "metric", "value" AS "platform_total", "execution"
  FROM "${LEDGER}"
  WHERE "outcome" = '${TOTAL}'
) USING (${DAY}, "metric", "execution")`;

/** The values of days of closed months that changed after the close. Leaves out added and removed metrics. */
export const SINCE_CLOSE = `SELECT ${DAY}, "metric", "closed_value", "value", coalesce("value", 0) - coalesce("closed_value", 0) AS "change", "closed_at", "report_id"
FROM (
  SELECT *, date_trunc('month', "date") AS "month" FROM (
${newest()}
  )
) JOIN (
  SELECT "table_name", "account", "metric", date_trunc('month', "date") AS "month", max("copied_at") AS "closed_at"
  FROM "${LEDGER}"
  WHERE "outcome" = '${CLOSED}'
  GROUP BY "table_name", "account", "metric", date_trunc('month', "date")
) USING ("table_name", "account", "metric", "month") LEFT JOIN (
  SELECT ${DAY}, "metric", "value" AS "closed_value"
  FROM "${LEDGER}"
  WHERE "outcome" = '${CLOSED}'
) USING (${DAY}, "metric")
WHERE "closed_value" IS DISTINCT FROM "value"`;

/** The values that each day shows. Only a day of a report has a `finality`. */
export function shownDays({ today = TODAY, config }: Finality): string {
  const days = finalAfter(config);
  return `WITH "shown" AS (
${newest()}
), "changes" AS (
${CHANGES}
), "outcomes" AS (
${OUTCOMES}
)
SELECT ${DAY}, "metric", "value", "report_id", "report_created_at", "changed_at", "outcome", "same_since",
  CASE
    WHEN NOT "is_report" THEN NULL
    WHEN "outcome" = 'shown' AND date_diff('day', CAST("same_since" AS DATE), CAST("report_created_at" AS DATE)) >= ${days} THEN 'final'
    WHEN date_diff('day', "moved_on", ${today}) < ${days} THEN 'changing'
    ELSE 'unverified'
  END AS "finality"
FROM "shown" JOIN "changes" USING (${DAY}) JOIN "outcomes" USING (${DAY})`;
}

/** The number of days for each account, as SQL. */
function finalAfter(
  { final_after_days, accounts }: FinalAfter = { final_after_days: FINAL_AFTER_DAYS, accounts: {} },
) {
  const own = Object.entries(accounts).flatMap(([account, { final_after_days: days }]) =>
    days === undefined ? [] : [` WHEN ${literal(account)} THEN ${days}`],
  );
  return own.length === 0
    ? String(final_after_days)
    : `CASE "account"${own.join('')} ELSE ${final_after_days} END`;
}
