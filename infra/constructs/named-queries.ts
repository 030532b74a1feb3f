import { catalogName, type TableSchema } from '../../functions/workflow/table.ts';

/** The queries that the workgroup offers, by name: SQL for Athena. Nothing if no report has a table. */
export function namedQueries(tables: readonly TableSchema[]): Readonly<Record<string, string>> {
  const reports = tables.filter(({ kind }) => kind === 'report');
  const [first] = reports;
  if (!first) return {};
  const spend = reports.find((table) => hasColumn(table, 'spend') && hasColumn(table, 'campaign_id'));
  return { 'per-day-and-campaign': totals(spend ?? first), freshness: freshness(reports) };
}

/** The sums of all metrics per day, and per campaign if the table has campaigns. */
function totals(table: TableSchema): string {
  const campaign = ['campaign_id', 'campaign_name'].filter((name) => hasColumn(table, name));
  const keys = ['date', 'account', ...campaign];
  const metrics = table.columns.filter(({ type }) => type !== 'string').map(({ name }) => name);
  const selected = [...keys.map(quote), ...metrics.map((name) => `sum(${quote(name)}) AS ${quote(name)}`)];
  return [
    `SELECT ${selected.join(', ')}`,
    `FROM ${tableName(table)}`,
    'WHERE "date" >= current_date - INTERVAL \'30\' DAY',
    `GROUP BY ${keys.map(quote).join(', ')}`,
    `ORDER BY ${keys.map(quote).join(', ')}`,
  ].join('\n');
}

/** The newest day with rows of each table and account. A day without rows has an object, but no row. */
function freshness(tables: readonly TableSchema[]): string {
  const selects = tables.map((table) =>
    [
      `SELECT '${table.table}' AS "table", "account", max("date") AS newest_day,`,
      `date_diff('day', max("date"), current_date) AS days_old`,
      `FROM ${tableName(table)} GROUP BY "account"`,
    ].join(' '),
  );
  return `${selects.join('\nUNION ALL ')}\nORDER BY days_old DESC`;
}

function hasColumn({ columns }: TableSchema, name: string): boolean {
  return columns.some((column) => column.name === name);
}

function tableName({ table }: TableSchema): string {
  return quote(catalogName(table));
}

function quote(name: string): string {
  return `"${name}"`;
}
