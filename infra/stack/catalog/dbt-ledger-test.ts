import { findMetric } from '../../../functions/workflow/request/dictionary.ts';
import { catalogName, LEDGER } from '../../../functions/workflow/table.ts';
import { newest } from './ledger-sql.ts';
import type { DocumentedColumn, DocumentedTable } from './table-words.ts';

/** The generic test of dbt that compares a column of any model with the ledger. */
export const LEDGER_TEST = 'agrees_with_ledger';

/** More decimals are the noise of doubles. */
const MAX_DECIMALS = 6;

/** Half a unit of the twelfth digit of a double is at most this share of it. */
const NOISE = '5e-12';

/** The columns that are added up. */
export function numbersOf({ columns }: DocumentedTable): DocumentedColumn[] {
  return columns.filter(({ type }) => /^(bigint|double|decimal)/.test(type));
}

/** Tests of the columns of a staging model, as its YAML has them. */
export function ledgerTests(table: DocumentedTable): object[] {
  const args = { table: catalogName(table.table), account_column: 'account' };
  return numbersOf(table).map(({ name }) => ({ name, data_tests: [{ [LEDGER_TEST]: { arguments: args } }] }));
}

/**
 * The generic test. It fails for each day on which the sum of a column is not what the ledger says that the
 * table shows, from the first day of the model on, or for all days if the model is empty. Days that the
 * ledger lacks are not compared. A column with as many decimals as the table was not rounded, unless the
 * table has doubles.
 *
 * @param ledger the relation, in Jinja
 */
export function ledgerTestMacro(reports: readonly DocumentedTable[], ledger: string): string {
  const tables = Object.fromEntries(
    reports.map((report) => [catalogName(report.table), describeReportColumns(report)]),
  );
  return `{% test ${LEDGER_TEST}(model, column_name, table=none, metric=none, date_column='"date"', account_column=none, tolerance=0) %}
{%- set tables = ${JSON.stringify(tables)} -%}
{%- set known = tables.get(table | string | replace("-", "_")) -%}
${refuseIf('known is none', '"there is no table " ~ table ~ "; the tables are: " ~ (tables.keys() | join(", "))')}
{%- set wanted = (metric or column_name) | replace('"', "") | lower -%}
${refuseIf('wanted not in known.metrics', '"the table " ~ table ~ " has no metric " ~ wanted ~ "; its metrics are: " ~ (known.metrics | join(", "))')}
${refuseIf('tolerance is not number or tolerance < 0 or tolerance >= 1', '"tolerance is " ~ tolerance ~ "; it must be from 0 to below 1"')}
${refuseIf(
  'account_column is none and wanted in known.amounts and known.currencies | length > 1',
  'wanted ~ " of " ~ table ~ " is in several currencies (" ~ (known.currencies | join(", ")) ~ "); give account_column"',
)}
{%- set account = account_column or "'all'" -%}
{%- set shown_account = '"account"' if account_column else "'all'" -%}
WITH "mart" AS (
  SELECT CAST({{ date_column }} AS date) AS "date", {{ account }} AS "account",
    CAST({{ column_name }} AS decimal(38, 10)) AS "amount", CAST({{ column_name }} AS double) AS "number"
  FROM {{ model }}
), "shown" AS (
  SELECT "date", {{ shown_account }} AS "account", sum("value") AS "ledger"
  FROM (
${newest().replaceAll(`"${LEDGER}"`, ledger)}
  )
  WHERE "table_name" = '{{ known.name }}' AND "metric" = '{{ wanted }}'
  GROUP BY "date", {{ shown_account }}
), "decimals" AS (
  SELECT "decimals",
    {{ (wanted in known.doubles) | lower }} OR "decimals" > ${MAX_DECIMALS} OR "decimals" < "of_table"
      AS "is_rounded"
  FROM (
    SELECT coalesce(max(${decimalsOf('"number"')}), 0) AS "decimals" FROM "mart"
  ) CROSS JOIN (
    SELECT coalesce(max(${decimalsOf('CAST("ledger" AS double)')}), 0) AS "of_table" FROM "shown"
  )
), "sums" AS (
  SELECT "date", "account", sum("amount") AS "mart",
    sum(CASE
      WHEN "decimals" = 0 OR "number" IS NULL THEN 0e0
      WHEN "is_rounded" THEN 5e-1 * power(10, -"decimals") + ${NOISE} * abs("number")
      ELSE ${NOISE} * abs("number")
    END) AS "rounding"
  FROM "mart" CROSS JOIN "decimals"
  GROUP BY "date", "account"
), "days" AS (
  SELECT "date", "account", coalesce("mart", 0) AS "mart", coalesce("ledger", 0) AS "ledger",
    coalesce("rounding", 0e0) AS "rounding"
  FROM "shown" LEFT JOIN "sums" USING ("date", "account")
    CROSS JOIN (SELECT min("date") AS "first_day" FROM "mart") AS "model"
  WHERE "first_day" IS NULL OR "date" >= "first_day"
)
SELECT "date", "account", "mart", "ledger" FROM "days"
WHERE abs(CAST("mart" - "ledger" AS double)) > {{ tolerance }} * abs(CAST("ledger" AS double)) + "rounding"
UNION ALL
SELECT "date", "sums"."account", "mart", 0 AS "ledger"
FROM "sums" LEFT JOIN (SELECT DISTINCT "account" FROM "shown") AS "known" ON "known"."account" = "sums"."account"
WHERE "known"."account" IS NULL AND (SELECT count(*) FROM "shown") > 0
{% endtest %}
`;
}

/** What the test has to know of a table. */
function describeReportColumns(report: DocumentedTable) {
  const metrics = numbersOf(report).map(({ name }) => name);
  return {
    name: report.table,
    metrics,
    doubles: numbersOf(report).flatMap(({ name, type }) => (type === 'double' ? [name] : [])),
    amounts: metrics.filter((name) => findMetric(name)?.unit === 'money'),
    currencies: [...new Set(Object.values(report.currencies))].sort(),
  };
}

/** A fault of whoever wrote the test, which dbt shows before it runs anything. @param message in Jinja */
function refuseIf(condition: string, message: string): string {
  return `{%- if ${condition} -%}{{ exceptions.raise_compiler_error("${LEDGER_TEST}: " ~ ${message}) }}{%- endif -%}`;
}

/** How many decimals a double has, in SQL. */
function decimalsOf(value: string): string {
  const all = Array.from({ length: MAX_DECIMALS + 1 }, (_, decimals) => decimals);
  const cases = all.map(
    (decimals) =>
      `WHEN abs(${value} - round(${value}, ${decimals})) <= ${NOISE} * abs(${value}) THEN ${decimals}`,
  );
  return `CASE WHEN ${value} IS NULL THEN 0 ${cases.join(' ')} ELSE ${MAX_DECIMALS + 1} END`;
}
