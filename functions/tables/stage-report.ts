import { addDays } from '../workflow/request/dates.ts';
import type { Window } from '../workflow/state-parts.ts';
import { type Column, DATE_COLUMN, type TableSchema } from '../workflow/table.ts';
import type { Database, Row } from './database.ts';
import {
  type DayFacts,
  listNames,
  type ReportFile,
  type ReportOptions,
  type RowFields,
  type StagedReport,
  TableProblem,
} from './report.ts';
import {
  type AddedRows,
  describeFields,
  findMissing,
  problemsOfFields,
  problemsOfRows,
  requireOwnWindow,
  requireRow,
  warningsOf,
} from './report-faults.ts';
import { BAD_CELL, stageRows } from './rows.ts';
import { identifier, literal } from './sql.ts';
import { metricsOf, readSums, sumExpressions } from './sums.ts';

/**
 * Reads a report once: checks its texts, casts them and adds them up. All checks run, whatever another one
 * finds.
 *
 * @param path the Parquet file to write, in the order of the report: `date` (DATE), the columns of the schema
 *   by name and type, and columns of {@link stageRows}. Of use only without a table problem
 * @throws DownloadRefused if the file is no report of this window; TableProblem if its rows cannot be read
 */
export async function stageReport(
  database: Database,
  file: ReportFile,
  path: string,
  options: ReportOptions,
): Promise<StagedReport> {
  const { window, schema, granularity } = options;
  const columns = schema?.columns ?? metricsOf(options.columns);
  // With any other granularity, the date of a row may be the first day of its week or month.
  const isByDay = granularity.toUpperCase() === 'DAY';
  const neighbours = isByDay ? [addDays(window.start_date, -1), window.end_date] : [];
  const date: Column = { name: 'date', type: 'string', from: schema?.date_column ?? DATE_COLUMN };
  const all = [date, ...columns];
  const isDated = schema !== undefined;
  const names = await stageRows(database, file, { path, columns: all, isDated, leftOut: neighbours });
  const fields = describeFields(file, { date, columns, names }, options);
  if (file.layout === 'csv' && all.every(fields.isMissing))
    throw new TableProblem(`the first line of the CSV file names no column: ${listNames(names)}`);

  const [total = {}, ...days] = await addUp(database, path, columns, window, neighbours);
  const leftOut = await findNeighbours(database, path, neighbours);
  const added: AddedRows = { rows: Number(total.rows), total, days, leftOut, isByDay };
  requireRow(fields, added);
  requireOwnWindow(added, window);
  const missing = findMissing(fields);
  const problems = [
    ...problemsOfFields(fields, missing, added.rows),
    ...problemsOfRows(fields, added, window),
  ];
  const table_problem = problems.length > 0 ? problems.join('; ') : undefined;
  const metrics = metricsOf(columns);
  const isFit = table_problem === undefined;
  return {
    rows: added.rows,
    ...datesOf(total),
    sums: isFit ? readSums(total, metrics) : {},
    days: isFit ? readDaySums(days, metrics) : [],
    absent: added.rows > 0 && isFit ? missing.absent.map(({ name }) => name) : [],
    warnings: warningsOf(fields, added, window, table_problem),
    ...(!isFit && { table_problem }),
  };
}

function datesOf({
  first_date = null,
  last_date = null,
}: Row): Pick<StagedReport, 'first_date' | 'last_date'> {
  if (first_date === null || last_date === null) return {};
  return { first_date: String(first_date), last_date: String(last_date) };
}

/** @returns nothing if some dates of a report without a table are no days, such as hours */
function readDaySums(days: readonly Row[], metrics: readonly Column[]): DayFacts[] {
  if (days.some(({ date }) => date === null)) return [];
  return days.map((row) => ({
    day: String(row.date),
    rows: Number(row.rows),
    sums: readSums(row, metrics),
  }));
}

/** The fields by which a row is known. */
export function fieldsOfRow(
  columns: readonly Column[],
  { date_column }: Pick<TableSchema, 'date_column'> = { date_column: DATE_COLUMN },
): RowFields {
  return { date: date_column, metrics: metricsOf(columns).map(({ from }) => from) };
}

/** Rows of the day before the window and of the day after it. */
async function findNeighbours(database: Database, path: string, days: readonly string[]) {
  if (days.length === 0) return { rows: 0, first: null };
  const [row] = await database.query(
    `SELECT count(*) AS rows, arg_min({row: file_row_number + 1, date: date}, file_row_number) AS first
     FROM read_parquet(${literal(path)}, file_row_number = true) WHERE date IN (${days.map(literal)})`,
  );
  return { rows: Number(row?.rows), first: (row?.first ?? null) as Row | null };
}

/**
 * Adds up the whole report, and each of its days.
 *
 * @param leftOut days whose rows are left out
 * @returns a row for the report, which is the first one, and a row for each day
 */
async function addUp(
  database: Database,
  path: string,
  columns: readonly Column[],
  { start_date, end_date }: Window,
  leftOut: readonly string[],
): Promise<readonly Row[]> {
  const isOutside = `date < ${literal(start_date)} OR date >= ${literal(end_date)}`;
  const isInside = `NOT (${isOutside})`;
  const isByDay = leftOut.length > 0;
  const where = isByDay ? `WHERE (date IN (${leftOut.map(literal)})) IS NOT TRUE` : '';
  const dated = isByDay ? `FILTER (${isInside})` : '';
  const facts = Object.entries({
    rows: 'count(*)',
    first_date: `min(date) ${dated}`,
    last_date: `max(date) ${dated}`,
    bad_row: firstRow(`${BAD_CELL} IS NOT NULL`),
    row_outside: firstRow(isOutside),
    rows_inside: `count(*) FILTER (${isInside})`,
    rows_without_date: 'count(*) FILTER (date IS NULL)',
    equal_rows: `(${countEqualRows(path, columns, where)})`,
  }).map(([name, expression]) => `${expression} AS ${name}`);
  return database.query(
    `SELECT ${['date', ...sumExpressions(metricsOf(columns)), ...facts]}
     FROM read_parquet(${literal(path)}, file_row_number = true) ${where}
     GROUP BY GROUPING SETS ((date), ()) ORDER BY grouping(date) DESC, date`,
  );
}

/** SQL of the first row that a condition is true for. */
function firstRow(condition: string): string {
  const row = `{row: file_row_number + 1, date: date, cell: ${BAD_CELL}}`;
  return `arg_min(${row}, file_row_number) FILTER (${condition})`;
}

/**
 * SQL of the number of rows that have the date and dimensions of another row. It compares hashes of rows: two
 * of 5 million different rows have the same with a probability of 5e6 ** 2 / 2 ** 65 = 1 in a million.
 */
function countEqualRows(path: string, columns: readonly Column[], where: string): string {
  const dimensions = columns.filter(({ type }) => type === 'string').map(({ name }) => identifier(name));
  return `SELECT count(*) - count(DISTINCT hash(${['date', ...dimensions]})) FROM ${literal(path)} ${where}`;
}
