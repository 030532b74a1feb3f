import { DownloadRefused } from '../workflow/errors.ts';
import { addDays, describeDays } from '../workflow/request/dates.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import { ADVERTISER_COLUMN, type Column, DATE_COLUMN, type TableSchema } from '../workflow/table.ts';
import type { Database, Row } from './database.ts';
import {
  type DayFacts,
  listNames,
  type StagedReport,
  type ReportFile,
  type RowFields,
  refusedFile,
  type Sums,
  shorten,
  TableProblem,
} from './report.ts';
import { BAD_CELL, BEFORE_TEXT, pathInObject, stageRows } from './rows.ts';
import { identifier, literal } from './sql.ts';

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

/** The columns that are staged, and the names of the file's fields. */
interface StagedFields {
  readonly file: ReportFile;
  readonly hasTable: boolean;
  readonly date: Column;
  /** Columns that the request asks for, without the advertiser. */
  readonly asked: readonly Column[];
  /** The date, and all columns of the table. */
  readonly all: readonly Column[];
  readonly names: readonly string[];
  /** The fields of the file that a column may stand for: their names differ in case only. */
  readonly fieldsOf: (column: Column) => readonly string[];
  readonly isMissing: (column: Column) => boolean;
  /** For each object that holds fields of columns: the fields that may be this object. */
  readonly objects: readonly (readonly string[])[];
}

/** The rows of a report, added up. */
interface AddedRows {
  /** In the window, or of the whole report if it is not by day. */
  readonly rows: number;
  readonly total: Row;
  readonly days: readonly Row[];
  /** Rows of the day before the window and of the day after it. They are left out. */
  readonly leftOut: { readonly rows: number; readonly first: Row | null };
  readonly isByDay: boolean;
}

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
  const fields = describeFields(file, [date, columns], names, options);
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

function describeFields(
  file: ReportFile,
  [date, others]: readonly [Column, readonly Column[]],
  names: readonly string[],
  { schema, columns }: ReportOptions,
): StagedFields {
  const all = [date, ...others];
  // The Data Catalog has only lower case.
  const byKey = Map.groupBy(names, (name) => name.toLowerCase());
  const fieldsOf = ({ from }: Column) => byKey.get(from.toLowerCase()) ?? [];
  const requested = new Set(columns.map(({ name }) => name));
  const outers = new Set(all.flatMap(({ from }) => pathInObject(from)?.outer.toLowerCase() ?? []));
  return {
    file,
    hasTable: schema !== undefined,
    date,
    asked: others.filter(({ name }) => requested.has(name) && name !== ADVERTISER_COLUMN),
    all,
    names,
    fieldsOf,
    isMissing: (column) => fieldsOf(column).length === 0,
    objects: [...outers].map((outer) => byKey.get(outer) ?? []),
  };
}

/** @throws DownloadRefused if the file is a single object, and not a row */
function requireRow(
  { file, hasTable, date, asked, names, isMissing }: StagedFields,
  { rows, leftOut }: AddedRows,
): void {
  const isRow = !(hasTable && isMissing(date)) && !metricsOf(asked).every(isMissing);
  if (file.layout !== 'lines' || rows + leftOut.rows !== 1 || isRow) return;
  throw refusedFile(
    `is an object that holds no row: it has ${listNames(names) || 'no fields'}. ` +
      `If its rows are in an array, also an empty one, set "rows" of the request to its path, such as "data.items"`,
  );
}

/** @throws DownloadRefused if rows have dates, and none of them is in the window */
function requireOwnWindow({ total, leftOut, isByDay }: AddedRows, window: Window): void {
  const outside = isByDay ? ((total.row_outside as Row | null) ?? leftOut.first) : null;
  if (!outside || total.rows_inside !== '0' || total.rows_without_date !== '0') return;
  throw new DownloadRefused(
    `No row of the file has a date in the window ${describeDays(window)}: row ${outside.row} has ${outside.date}. It is not the report that was requested.`,
  );
}

interface MissingFields {
  /** Metrics that rows may leave out, because others are there. */
  readonly absent: readonly Column[];
  /** The fields of other columns, which the file has to have. */
  readonly required: readonly string[];
}

function findMissing({ file, hasTable, date, asked, isMissing }: StagedFields): MissingFields {
  const missing = [...(hasTable ? [date] : []), ...asked].filter(isMissing);
  const metrics = metricsOf(asked);
  const withoutField = metrics.filter((metric) => missing.includes(metric));
  const absent = file.layout !== 'csv' && withoutField.length < metrics.length ? withoutField : [];
  return { absent, required: missing.filter((column) => !absent.includes(column)).map(({ from }) => from) };
}

/** Reasons why the fields do not fit the table. */
function problemsOfFields(
  { file, all, fieldsOf, objects }: StagedFields,
  { required }: MissingFields,
  rows: number,
): string[] {
  const named = [...all.map(fieldsOf), ...(file.layout === 'csv' ? [] : objects)];
  const repeated = named.filter(({ length }) => length > 1).flat();
  const problems: string[] = [];
  if (repeated.length > 0)
    problems.push(`several fields have the same name, whatever its case: ${listNames(repeated)}`);
  if (required.length > 0 && (rows > 0 || file.layout === 'csv'))
    problems.push(`no row has ${listNames(required)}`);
  if (file.badLine !== undefined) problems.push(file.badLine);
  return problems;
}

/** Reasons why rows do not fit the table. */
function problemsOfRows(
  { all, date }: StagedFields,
  { total, isByDay }: AddedRows,
  window: Window,
): string[] {
  const problems: string[] = [];
  if (isByDay && total.row_outside) {
    const { row, date: day } = total.row_outside as Row;
    problems.push(
      `row ${row} has the date ${day}, which is outside the window ${describeDays(window)}; this may be another report`,
    );
  }
  const bad = badCellIn(total);
  const column = bad && all[bad.cell.column];
  if (column) {
    const text = bad.cell.value === null ? 'no value' : shorten(bad.cell.value.slice(BEFORE_TEXT.length));
    const wanted = column === date ? 'a date' : column.type;
    problems.push(`row ${bad.row} has ${text} in the column ${column.name}, where ${wanted} belongs`);
  }
  return problems;
}

/** The first row that has a cell whose text does not fit its column. The value is NULL if it has no text. */
function badCellIn({ bad_row }: Row) {
  return bad_row as { row: string; cell: { column: number; value: string | null } } | null;
}

function warningsOf(
  { all, names, hasTable, fieldsOf, objects }: StagedFields,
  { total, leftOut }: AddedRows,
  window: Window,
  table_problem: string | undefined,
): string[] {
  const warnings: string[] = [];
  if (leftOut.first)
    warnings.push(
      `rows of the day before or after the window ${describeDays(window)} are left out: ${leftOut.rows}; the first is row ${leftOut.first.row} with ${leftOut.first.date}`,
    );
  const known = new Set([...all.flatMap(fieldsOf), ...objects.flat()]);
  const unknown = new Set(names.filter((name) => !known.has(name)));
  if (hasTable && unknown.size > 0)
    warnings.push(`the table leaves out fields that it has no column for: ${listNames([...unknown])}`);
  if (hasTable && badCellIn(total) === null && total.equal_rows !== '0')
    warnings.push(
      `rows with the same date and dimensions as another row: ${total.equal_rows}; the table counts all of them`,
    );
  // Without a table, the problems only explain why there are no sums.
  if (table_problem !== undefined && !hasTable) warnings.push(`the report has no sums: ${table_problem}`);
  return warnings;
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
 * Compares hashes of rows: two of 5 million different rows have the same with a probability of
 * 5e6 ** 2 / 2 ** 65 = 1 in a million.
 *
 * @param leftOut days whose rows are left out
 * @returns the whole report, and each day: rows, first and last date, sums, the first row that does not fit
 *   or is outside, and of the whole report, how many rows have the date and dimensions of another one
 */
async function addUp(
  database: Database,
  path: string,
  columns: readonly Column[],
  { start_date, end_date }: Window,
  leftOut: readonly string[],
): Promise<readonly Row[]> {
  const first = `arg_min({row: file_row_number + 1, date: date, cell: ${BAD_CELL}}, file_row_number)`;
  const dimensions = columns.filter(({ type }) => type === 'string').map(({ name }) => identifier(name));
  const isOutside = `date < ${literal(start_date)} OR date >= ${literal(end_date)}`;
  const inside = leftOut.length > 0 ? `FILTER (NOT (${isOutside}))` : '';
  const where = leftOut.length > 0 ? `WHERE (date IN (${leftOut.map(literal)})) IS NOT TRUE` : '';
  return database.query(
    `SELECT ${[...sumExpressions(metricsOf(columns)), 'date', 'count(*) AS rows']},
       min(date) ${inside} AS first_date, max(date) ${inside} AS last_date,
       ${first} FILTER (${BAD_CELL} IS NOT NULL) AS bad_row,
       ${first} FILTER (${isOutside}) AS row_outside,
       count(*) FILTER (NOT (${isOutside})) AS rows_inside,
       count(*) FILTER (date IS NULL) AS rows_without_date,
       (SELECT count(*) - count(DISTINCT hash(${['date', ...dimensions]})) FROM ${literal(path)} ${where}) AS equal_rows
     FROM read_parquet(${literal(path)}, file_row_number = true) ${where}
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

/**
 * The sum of each metric, as SQL. Only fsum is exact to the last digits of a double. The sums are numbered,
 * so a query may have columns of any name beside them.
 */
export function sumExpressions(metrics: readonly Column[]): string[] {
  return metrics.map(({ name, type }, number) => {
    const sum = `${type === 'double' ? 'fsum' : 'sum'}(${identifier(name)})`;
    return `CAST(coalesce(${sum}, if(count(*) = 0, 0, NULL)) AS VARCHAR) AS sum_${number}`;
  });
}

/** @param row of a query with {@link sumExpressions} of the same metrics */
export function readSums(row: Row, metrics: readonly Column[]): Sums {
  return Object.fromEntries(
    metrics.map(({ name, type }, number) => {
      const sum = row[`sum_${number}`];
      return [name, typeof sum === 'string' ? plainSum(sum, type) : null];
    }),
  );
}

function plainSum(sum: string, type: Column['type']): string {
  if (type === 'double') return PLAIN.format(Number(Number(sum).toPrecision(DOUBLE_DIGITS)));
  // DuckDB writes a decimal(38,38) without the zero before its point.
  return sum.includes('.') ? sum.replace(/(?<!\d)\./, '0.').replace(/\.?0+$/, '') : sum;
}
