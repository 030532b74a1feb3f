import { DownloadRefused } from '../workflow/errors.ts';
import { addDays, describeDays } from '../workflow/request/dates.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import { ADVERTISER_COLUMN, type Column, DATE_COLUMN, type TableSchema } from '../workflow/table.ts';
import type { Database, Row } from './database.ts';
import {
  list,
  type ReportFacts,
  type ReportFile,
  type RowFields,
  refused,
  type Sums,
  shorten,
  TableProblem,
} from './report.ts';
import { BEFORE_TEXT, placeOf, stageRows } from './rows.ts';
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
  // Otherwise a row may have the first day of a week or month.
  const isByDay = granularity.toUpperCase() === 'DAY';
  const neighbours = isByDay ? [addDays(window.start_date, -1), window.end_date] : [];
  const isDated = schema !== undefined;
  const names = await stageRows(database, file, { path, columns: all, isDated, leftOut: neighbours });
  // The Data Catalog has only lower case.
  const byKey = Map.groupBy(names, (name) => name.toLowerCase());
  const fieldsOf = ({ from }: Column) => byKey.get(from.toLowerCase()) ?? [];
  const isMissing = (column: Column) => fieldsOf(column).length === 0;
  if (file.layout === 'csv' && all.every(isMissing))
    throw new TableProblem(`the first line of the CSV file names no column: ${list(names)}`);

  const metrics = metricsOf(columns);
  const [total = {}, ...days] = await addUp(database, path, columns, window, neighbours);
  const leftOut = await findNeighbours(database, path, neighbours);
  const rows = Number(total['number of rows']);
  const requested = new Set(options.columns.map(({ name }) => name));
  const asked = columns.filter(({ name }) => requested.has(name) && name !== ADVERTISER_COLUMN);
  const isRow = !(schema && isMissing(date)) && !metricsOf(asked).every(isMissing);
  if (file.layout === 'lines' && rows + leftOut.rows === 1 && !isRow)
    throw refused(
      `is an object that holds no row: it has ${list(names) || 'no fields'}. ` +
        `If its rows are in an array, also an empty one, set "rows" of the request to its path, such as "data.items"`,
    );
  const outside = isByDay ? ((total['row outside'] as Row | null) ?? leftOut.first) : null;
  if (outside && total['rows inside'] === '0' && total['rows without date'] === '0')
    throw new DownloadRefused(
      `No row of the file has a date in the window ${describeDays(window)}: row ${outside.row} has ${outside.date}. It is not the report that was requested.`,
    );
  const warnings: string[] = [];
  if (leftOut.first)
    warnings.push(
      `rows of the day before or after the window ${describeDays(window)} are left out: ${leftOut.rows}; the first is row ${leftOut.first.row} with ${leftOut.first.date}`,
    );
  // The objects that hold fields of columns.
  const outers = new Set(all.flatMap(({ from }) => placeOf(from)?.outer.toLowerCase() ?? []));
  const objects = [...outers].map((outer) => byKey.get(outer) ?? []);
  const known = new Set([...all.flatMap(fieldsOf), ...objects.flat()]);
  const unknown = new Set(names.filter((name) => !known.has(name)));
  if (schema && unknown.size > 0)
    warnings.push(`the table leaves out fields that it has no column for: ${list([...unknown])}`);

  // Reasons why the rows do not fit the table.
  const problems: string[] = [];
  const repeated = [...all.map(fieldsOf), ...(file.layout === 'csv' ? [] : objects)].filter(
    ({ length }) => length > 1,
  );
  if (repeated.length > 0)
    problems.push(`several fields have the same name, whatever its case: ${list(repeated.flat())}`);
  const missing = [...(schema ? [date] : []), ...asked].filter(isMissing);
  const absent = file.layout === 'csv' ? [] : findAbsent(metricsOf(asked), missing);
  const lacking = missing.filter((column) => !absent.includes(column)).map(({ from }) => from);
  if (lacking.length > 0 && (rows > 0 || file.layout === 'csv')) problems.push(`no row has ${list(lacking)}`);
  if (file.badLine !== undefined) problems.push(file.badLine);
  if (isByDay && total['row outside']) {
    const { row, date: day } = total['row outside'] as Row;
    problems.push(
      `row ${row} has the date ${day}, which is outside the window ${describeDays(window)}; this may be another report`,
    );
  }
  const bad = total['bad row'] as { row: string; cell: { column: number; value: string | null } } | null;
  const column = bad && all[bad.cell.column];
  if (bad && column) {
    const text = bad.cell.value === null ? 'no value' : shorten(bad.cell.value.slice(BEFORE_TEXT.length));
    const wanted = column === date ? 'a date' : column.type;
    problems.push(`row ${bad.row} has ${text} in the column ${column.name}, where ${wanted} belongs`);
  } else if (schema && total['equal rows'] !== '0')
    warnings.push(
      `rows with the same date and dimensions as another row: ${total['equal rows']}; the table counts all of them`,
    );
  const table_problem = problems.join('; ');
  // Without a table, they only explain why there are no sums.
  if (table_problem && !schema) warnings.push(`the report has no sums: ${table_problem}`);

  const { 'first date': first = null, 'last date': last = null } = total;
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
    absent: rows === 0 || table_problem ? [] : absent.map(({ name }) => name),
    warnings,
    ...(table_problem && { table_problem }),
  };
}

/** The fields by which a row is known. */
export function fieldsOfRow(
  columns: readonly Column[],
  { date_column }: Pick<TableSchema, 'date_column'> = { date_column: DATE_COLUMN },
): RowFields {
  return { date: date_column, metrics: metricsOf(columns).map(({ from }) => from) };
}

/** Metrics that a row may leave out, because others are there. */
function findAbsent(metrics: readonly Column[], missing: readonly Column[]): readonly Column[] {
  const absent = metrics.filter((metric) => missing.includes(metric));
  return absent.length < metrics.length ? absent : [];
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
  const first = `arg_min({row: file_row_number + 1, date: date, cell: "bad cell"}, file_row_number)`;
  const dimensions = columns.filter(({ type }) => type === 'string').map(({ name }) => identifier(name));
  const isOutside = `date < ${literal(start_date)} OR date >= ${literal(end_date)}`;
  const inside = leftOut.length > 0 ? `FILTER (NOT (${isOutside}))` : '';
  const where = leftOut.length > 0 ? `WHERE (date IN (${leftOut.map(literal)})) IS NOT TRUE` : '';
  return database.query(
    `SELECT ${[...sumExpressions(metricsOf(columns)), 'date', 'count(*) AS "number of rows"']},
       min(date) ${inside} AS "first date", max(date) ${inside} AS "last date",
       ${first} FILTER ("bad cell" IS NOT NULL) AS "bad row",
       ${first} FILTER (${isOutside}) AS "row outside",
       count(*) FILTER (NOT (${isOutside})) AS "rows inside",
       count(*) FILTER (date IS NULL) AS "rows without date",
       (SELECT count(*) - count(DISTINCT hash(${['date', ...dimensions]})) FROM ${literal(path)} ${where}) AS "equal rows"
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
