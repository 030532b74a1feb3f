import { literal } from '../../../functions/tables/sql.ts';
import { ACCEPTED, CLOSED, LEDGER, REPORT, TOTAL } from '../../../functions/workflow/table.ts';
import { FINAL_AFTER_DAYS, type FinalAfter } from '../config/exports.ts';

/**
 * The ledger in SQL that runs unchanged in DuckDB and in Athena (Trino): the values that days showed and
 * show, when they changed, and which of them are final.
 */

export const DAY_KEY = '"table_name", "account", "date"';
const NEWEST_FIRST = '"report_created_at" DESC, "report_id" DESC';

/** Decides which days are final. */
export interface Finality {
  /** In SQL. Default: the engine's date. */
  readonly today?: string | undefined;
  /** The config. Default: {@link FINAL_AFTER_DAYS} for every account. */
  readonly config?: FinalAfter | undefined;
}

export const TODAY = 'current_date';

/**
 * What reports said of the days of tables.
 *
 * - `row_count`: the report's rows of the day
 * - `counts_at`: since when the report counts: it has rows of the day, or somebody accepted that it has none
 *
 * @param where leaves facts out
 */
function reportLines(where = ''): string {
  const ofReport = `OVER (PARTITION BY ${DAY_KEY}, "report_id", "report_created_at")`;
  return `SELECT *, CASE WHEN "row_count" > 0 THEN "copied_at" ELSE "accepted_at" END AS "counts_at"
FROM (
  SELECT *,
    max(CASE WHEN "kind" = '${REPORT}' AND "metric" = 'rows' THEN "value" END) ${ofReport} AS "row_count",
    min(CASE WHEN "kind" = '${ACCEPTED}' THEN "copied_at" END) ${ofReport} AS "accepted_at"
  FROM "${LEDGER}"
  WHERE "kind" IN ('${REPORT}', '${ACCEPTED}') AND "table_name" IS NOT NULL${where}
)
WHERE "kind" = '${REPORT}'`;
}

/**
 * The values that each day shows: of the newest report that counts, or else of the newest one. A metric that
 * this report does not have is not shown.
 *
 * @param where leaves facts out
 * @param more columns. `newest_…` is of the newest report of all
 */
export function newest(where = '', more: readonly string[] = []): string {
  const ofNewest = (column: string) =>
    `first_value(${column}) OVER (PARTITION BY ${DAY_KEY} ORDER BY ${NEWEST_FIRST})`;
  return `SELECT ${[DAY_KEY, '"metric"', '"value"', '"report_id"', '"report_created_at"', ...more].join(', ')}
FROM (
  SELECT *,
    rank() OVER (PARTITION BY ${DAY_KEY} ORDER BY CASE WHEN "counts_at" IS NULL THEN 1 ELSE 0 END, ${NEWEST_FIRST}) AS "age",
    ${ofNewest('"report_id"')} AS "newest_id",
    ${ofNewest('"report_created_at"')} AS "newest_at",
    ${ofNewest('"request_hash"')} AS "newest_hash",
    ${ofNewest('"day_over"')} AS "newest_over"
  FROM (
${reportLines(where)}
  )
)
WHERE "age" = 1`;
}

/**
 * The values of each report that a day showed, and since when: `shown_at`. When it began to count, there was
 * no newer report that counted.
 */
export const HISTORY = `SELECT * FROM (
${reportLines()}
) JOIN (
  SELECT ${DAY_KEY}, "report_id", "report_created_at", coalesce("counts_at", "copied_at") AS "shown_at"
  FROM (
    SELECT *,
      min("counts_at") OVER (PARTITION BY ${DAY_KEY}) AS "first_counts_at",
      min("counts_at") OVER (PARTITION BY ${DAY_KEY} ORDER BY "report_created_at", "report_id" ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS "newer_counts_at",
      min("copied_at") OVER (PARTITION BY ${DAY_KEY} ORDER BY "report_created_at", "report_id" ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS "newer_copied_at"
    FROM (
${reportLines()}
    )
    WHERE "metric" = 'rows'
  )
  WHERE CASE
    WHEN "counts_at" IS NOT NULL THEN coalesce("newer_counts_at" >= "counts_at", true)
    ELSE coalesce("first_counts_at" > "copied_at", true) AND coalesce("newer_copied_at" >= "copied_at", true)
  END
) USING (${DAY_KEY}, "report_id", "report_created_at")`;

const BY_TIME = `PARTITION BY ${DAY_KEY}, "metric" ORDER BY "shown_at", "report_created_at", "report_id"`;
const BY_AGE = `PARTITION BY ${DAY_KEY}, "metric" ORDER BY "report_created_at", "report_id"`;

/** Each value that a day showed, with the one before. The first version has none. */
const REPORT_VERSIONS = `SELECT *,
    lag("value") OVER (${BY_TIME}) AS "before",
    row_number() OVER (${BY_TIME}) AS "version"
  FROM (
${HISTORY}
  )`;

/** All values that a report changed. */
export const RESTATEMENTS = `SELECT ${DAY_KEY}, "metric", "before", "value" AS "after", "shown_at" AS "changed_at", "report_id"
FROM (
  ${REPORT_VERSIONS}
)
WHERE "version" > 1 AND "before" IS DISTINCT FROM "value"`;

const IS_CHANGE = `("version" = 1 OR "before" IS DISTINCT FROM "value")`;

/** When the values that each day shows changed last. */
const SHOWN_CHANGES = `SELECT ${DAY_KEY}, max("shown_at") AS "changed_at"
FROM (
  ${REPORT_VERSIONS}
)
WHERE ${IS_CHANGE}
GROUP BY ${DAY_KEY}`;

/**
 * The last change of each day, as a date in UTC: its end, its first report, or a report that said otherwise
 * than the one before, also if the day did not show it. `is_report` is false for the snapshots of a list,
 * which have no metric.
 */
const CHANGES = `SELECT ${DAY_KEY},
  greatest(CAST("date" + INTERVAL '1' DAY AS DATE), max(CASE WHEN ${IS_CHANGE} THEN CAST("report_created_at" AS DATE) END)) AS "same_since",
  bool_or("metric" <> 'rows') AS "is_report"
FROM (
  SELECT *, lag("value") OVER (${BY_AGE}) AS "before", row_number() OVER (${BY_AGE}) AS "version"
  FROM (
${reportLines()}
  )
)
GROUP BY ${DAY_KEY}`;

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
  SELECT ${DAY_KEY}, "metric", CAST(coalesce("value", 0) AS DOUBLE) AS "last_value"
  FROM (
${shownDays(finality)}
  )
  WHERE "finality" = 'final'
), "read" AS (
  SELECT ${DAY_KEY}, "metric", CAST(coalesce("value", 0) AS DOUBLE) AS "value", ${age} AS "read_at",
    lead(${age}) OVER (${BY_AGE}) AS "next_at",
    min(${age}) OVER (PARTITION BY ${DAY_KEY}, "metric") AS "first_at",
    first_value(CAST(coalesce("value", 0) AS DOUBLE)) OVER (${BY_AGE}) AS "first_value"
  FROM (
${HISTORY}
  )
  WHERE CAST("report_created_at" AS DATE) > "date"
), "known" AS (
  SELECT * FROM "last" JOIN "read" USING (${DAY_KEY}, "metric") WHERE "first_at" <= ${MAX_FIRST_AGE}
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

/**
 * The sums of the rows that days show, beside the platform's own total that the same execution brought. Days
 * without one are left out. No value counts as 0.
 */
export const RECONCILIATION = `SELECT ${DAY_KEY}, "metric", "rows_sum", "platform_total", coalesce("rows_sum", 0) - coalesce("platform_total", 0) AS "difference", "report_id", "report_created_at"
FROM (
  SELECT ${DAY_KEY}, "metric", "value" AS "rows_sum", "report_id", "report_created_at", "execution" FROM (
${newest('', ['"execution"'])}
  )
) JOIN (
  SELECT ${DAY_KEY}, "metric", "value" AS "platform_total", "execution"
  FROM "${LEDGER}"
  WHERE "kind" = '${TOTAL}'
) USING (${DAY_KEY}, "metric", "execution")`;

/** What closed months showed when they were closed last. */
const CLOSED_VALUES = `SELECT ${DAY_KEY}, "metric", "value" AS "closed_value", "month", "closed_at"
FROM (
  SELECT *, date_trunc('month', "date") AS "month",
    max("copied_at") OVER (PARTITION BY "table_name", "account", date_trunc('month', "date")) AS "closed_at"
  FROM "${LEDGER}"
  WHERE "kind" = '${CLOSED}'
)
WHERE "copied_at" = "closed_at"`;

/** The values of days of closed months that changed after the close. Leaves out added and removed metrics. */
export const SINCE_CLOSE = `SELECT ${DAY_KEY}, "metric", "closed_value", "value", coalesce("value", 0) - coalesce("closed_value", 0) AS "change", "closed_at", "report_id"
FROM (
  SELECT *, date_trunc('month', "date") AS "month" FROM (
${newest()}
  )
) JOIN (
  SELECT DISTINCT "table_name", "account", "metric", "month", "closed_at"
  FROM (
${CLOSED_VALUES}
  )
) USING ("table_name", "account", "metric", "month") LEFT JOIN (
  SELECT ${DAY_KEY}, "metric", "closed_value"
  FROM (
${CLOSED_VALUES}
  )
) USING (${DAY_KEY}, "metric")
WHERE "closed_value" IS DISTINCT FROM "value"`;

/**
 * The facts of each day that the ledger has: the report that it shows, and the newest report of all. The day
 * is held if these are two. Only a day of a report has a `finality`.
 */
export function dayFacts({ today = TODAY, config }: Finality): string {
  const days = finalAfter(config);
  const ofNewest = ['"row_count"', '"newest_id"', '"newest_at"', '"newest_hash"', '"newest_over"'];
  return `SELECT *, CASE
    WHEN NOT "is_report" THEN NULL
    WHEN NOT "held" AND date_diff('day', "same_since", CAST("report_created_at" AS DATE)) >= ${days} THEN 'final'
    WHEN date_diff('day', "same_since", ${today}) < ${days} THEN 'changing'
    ELSE 'unverified'
  END AS "finality"
FROM (
  SELECT *, ("newest_id" <> "report_id" OR "newest_at" <> "report_created_at") AS "held"
  FROM (
    SELECT ${[DAY_KEY, '"report_id"', '"report_created_at"', ...ofNewest].join(', ')}
    FROM (
${newest('', ofNewest)}
    )
    WHERE "metric" = 'rows'
  )
) JOIN (
${CHANGES}
) USING (${DAY_KEY}) JOIN (
${SHOWN_CHANGES}
) USING (${DAY_KEY})`;
}

/** The values that each day shows. */
export function shownDays(finality: Finality): string {
  const facts = ['"changed_at"', '"held"', '"same_since"', '"finality"'].join(', ');
  return `SELECT ${DAY_KEY}, "metric", "value", "report_id", "report_created_at", ${facts}
FROM (
${newest()}
) JOIN (
  SELECT ${DAY_KEY}, ${facts}
  FROM (
${dayFacts(finality)}
  )
) USING (${DAY_KEY})`;
}

/** The number of days for each account, as SQL. */
function finalAfter(
  { final_after_days, accounts }: FinalAfter = { final_after_days: FINAL_AFTER_DAYS, accounts: {} },
) {
  const cases = Object.entries(accounts).flatMap(([account, { final_after_days: days }]) =>
    days === undefined ? [] : [` WHEN ${literal(account)} THEN ${days}`],
  );
  return cases.length === 0
    ? String(final_after_days)
    : `CASE "account"${cases.join('')} ELSE ${final_after_days} END`;
}
