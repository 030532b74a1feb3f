import { DownloadRefused } from '../workflow/errors.ts';
import { describeDays } from '../workflow/request/dates.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import { identifier, literal } from '../workflow/sql.ts';
import type { Window } from '../workflow/state-parts.ts';
import { ADVERTISER_COLUMN, type Column, DATE_COLUMN, type TableSchema } from '../workflow/table.ts';
import type { Database, Row } from './database.ts';
import {
  list,
  type ReportFacts,
  type ReportFile,
  refused,
  type Sums,
  shorten,
  TableProblem,
} from './report.ts';
import { stageRows } from './rows.ts';

export interface ReportOptions extends Pick<ReportRequest, 'granularity'> {
  /** With granularity DAY, no row may have another date. */
  readonly window: Window;
  /** Absent if the export has no table. The rows are only counted and added up then. */
  readonly schema: Pick<TableSchema, 'columns' | 'date_column'> | undefined;
  /**
   * The columns that the request asks for: the file must have them. Another account's request may have added
   * others to the schema.
   */
  readonly columns: readonly Column[];
}

/**
 * Reads a report once: checks its texts, casts them and adds them up. All checks run, whatever another one
 * finds.
 *
 * @param path the Parquet file to write, in the order of the report: `date` (DATE), the columns of the schema
 *   by name and type, and others whose names have a blank. Of use only without a table problem
 * @throws DownloadRefused if the file is no report of this window; TableProblem if its rows cannot be read
 */
export async function stageReport(
  database: Database,
  file: ReportFile,
  path: string,
  options: ReportOptions,
): Promise<ReportFacts> {
  const { window, schema, granularity } = options;
  const date: Column = { name: 'date', type: 'string', from: schema?.date_column ?? DATE_COLUMN };
  const columns = schema?.columns ?? metricsOf(options.columns);
  const all = [date, ...columns];
  const names = await stageRows(database, file, { path, columns: all, isDated: schema !== undefined });
  // The Data Catalog has only lower case.
  const byKey = Map.groupBy(names, (name) => name.toLowerCase());
  const fieldsOf = ({ from }: Column) => byKey.get(from.toLowerCase()) ?? [];
  const isMissing = (column: Column) => fieldsOf(column).length === 0;
  if (file.layout === 'csv' && all.every(isMissing))
    throw new TableProblem(`the first line of the CSV file names no column: ${list(names)}`);

  const metrics = metricsOf(columns);
  const [total = {}, ...days] = await addUp(database, path, columns, window);
  const rows = Number(total['number of rows']);
  const requested = new Set(options.columns.map(({ name }) => name));
  const asked = columns.filter(({ name }) => requested.has(name) && name !== ADVERTISER_COLUMN);
  const isRow = !(schema && isMissing(date)) && !metricsOf(asked).every(isMissing);
  if (file.layout === 'lines' && rows === 1 && !isRow)
    throw refused(
      `is an object that holds no row: it has ${list(names) || 'no fields'}. ` +
        `If its rows are in an array, also an empty one, set "rows" of the request to its path, such as "data.items"`,
    );
  const outside = total['row outside'] as Row | null;
  // Otherwise it may be the first day of a week or month.
  if (outside && granularity.toUpperCase() === 'DAY')
    throw new DownloadRefused(
      `Row ${outside.row} of the file has the date ${outside.date}, which is outside the window ${describeDays(window)}. It is not the report that was requested.`,
    );
  const warnings: string[] = [];
  const known = new Set(all.flatMap(fieldsOf));
  const unknown = new Set(names.filter((name) => !known.has(name)));
  if (schema && unknown.size > 0)
    warnings.push(`the table leaves out fields that it has no column for: ${list([...unknown])}`);

  // Reasons why the rows do not fit the table.
  const problems: string[] = [];
  const repeated = all.map(fieldsOf).filter(({ length }) => length > 1);
  if (repeated.length > 0)
    problems.push(`several fields have the same name, whatever its case: ${list(repeated.flat())}`);
  const missing = [...(schema ? [date] : []), ...asked].filter(isMissing).map(({ from }) => from);
  if (missing.length > 0 && (rows > 0 || file.layout === 'csv')) problems.push(`no row has ${list(missing)}`);
  const bad = total['bad row'] as { row: string; cell: { column: number; value: string | null } } | null;
  const column = bad && all[bad.cell.column];
  if (bad && column) {
    const text = bad.cell.value === null ? 'no value' : shorten(bad.cell.value);
    const wanted = column === date ? 'a date' : column.type;
    problems.push(`row ${bad.row} has ${text} in the column ${column.name}, where ${wanted} belongs`);
  } else if (schema && total['equal rows'] !== '0')
    warnings.push(
      `rows with the same date and dimensions as another row: ${total['equal rows']}; the table counts all of them`,
    );
  const table_problem = problems.join('; ');
  // Without a table, they only explain why there are no sums.
  if (table_problem && !schema) warnings.push(`the report has no sums: ${table_problem}`);

  const [first, last] = [total['first date'], total['last date']];
  // Some dates of a report without a table may not be days, such as hours.
  const isDaily = days.every((row) => row.date !== null);
  return {
    rows,
    ...(first !== null && { first_date: String(first), last_date: String(last) }),
    sums: table_problem ? {} : readSums(total, metrics),
    days: (isDaily && !table_problem ? days : []).map((row) => ({
      day: String(row.date),
      rows: Number(row['number of rows']),
      sums: readSums(row, metrics),
    })),
    warnings,
    ...(table_problem && schema && { table_problem }),
  };
}

/**
 * Compares hashes of rows: two of 5 million different rows have the same with a probability of
 * 5e6 ** 2 / 2 ** 65 = 1 in a million.
 *
 * @returns the whole report, and each day: rows, first and last date, sums, the first row that does not fit
 *   or is outside, and of the whole report, how many rows have the date and dimensions of another one
 */
async function addUp(
  database: Database,
  path: string,
  columns: readonly Column[],
  { start_date, end_date }: Window,
): Promise<readonly Row[]> {
  const first = `arg_min({row: file_row_number + 1, date: date, cell: "bad cell"}, file_row_number)`;
  const dimensions = columns.filter(({ type }) => type === 'string').map(({ name }) => identifier(name));
  return database.query(
    `SELECT ${[...sumExpressions(metricsOf(columns)), 'date', 'count(*) AS "number of rows"']},
       min(date) AS "first date", max(date) AS "last date",
       ${first} FILTER ("bad cell" IS NOT NULL) AS "bad row",
       ${first} FILTER (date < ${literal(start_date)} OR date >= ${literal(end_date)}) AS "row outside",
       (SELECT count(*) - count(DISTINCT hash(${['date', ...dimensions]})) FROM ${literal(path)}) AS "equal rows"
     FROM read_parquet(${literal(path)}, file_row_number = true)
     GROUP BY GROUPING SETS ((date), ()) ORDER BY grouping(date) DESC, date`,
  );
}

/** A double has 15 digits, but the last ones of a sum depend on the order of the rows, which may change. */
const DOUBLE_DIGITS = 12;
const PLAIN = new Intl.NumberFormat('en', { maximumSignificantDigits: DOUBLE_DIGITS, useGrouping: false });

/** The columns that are added up. */
export function metricsOf(columns: readonly Column[]): Column[] {
  return columns.filter(({ type }) => type === 'bigint' || type === 'double' || type.startsWith('decimal'));
}

/** SQL for the sum of each metric, by its name. Only fsum is exact to the last digits of a double. */
export function sumExpressions(metrics: readonly Column[]): string[] {
  return metrics.map(({ name, type }) => {
    const sum = `${type === 'double' ? 'fsum' : 'sum'}(${identifier(name)})`;
    return `CAST(coalesce(${sum}, if(count(*) = 0, 0, NULL)) AS VARCHAR) AS ${identifier(name)}`;
  });
}

/** @param row of a query with {@link sumExpressions} */
export function readSums(row: Row, metrics: readonly Column[]): Sums {
  return Object.fromEntries(
    metrics.map(({ name, type }) => [name, typeof row[name] === 'string' ? plainSum(row[name], type) : null]),
  );
}

function plainSum(sum: string, type: Column['type']): string {
  if (type === 'double') return PLAIN.format(Number(Number(sum).toPrecision(DOUBLE_DIGITS)));
  // DuckDB writes a decimal(38,38) without the zero before its point.
  return sum.includes('.') ? sum.replace(/(?<!\d)\./, '0.').replace(/\.?0+$/, '') : sum;
}
