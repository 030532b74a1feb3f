import { DownloadRefused } from '../workflow/errors.ts';
import { describeDays } from '../workflow/request/dates.ts';
import type { Window } from '../workflow/state-parts.ts';
import { ADVERTISER_COLUMN, type Column } from '../workflow/table.ts';
import type { Row } from './database.ts';
import { listNames, type ReportFile, type ReportOptions, refusedFile, shorten } from './report.ts';
import { BEFORE_TEXT, pathInObject } from './rows.ts';
import { metricsOf } from './sums.ts';

// Finds the faults of a report and the warnings for its reader, once its rows are staged and added up.

/** The columns that are staged, and the names of the file's fields. */
export interface StagedFields {
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
export interface AddedRows {
  /** In the window, or of the whole report if it is not by day. */
  readonly rows: number;
  readonly total: Row;
  readonly days: readonly Row[];
  /** Rows of the day before the window and of the day after it. They are left out. */
  readonly leftOut: { readonly rows: number; readonly first: Row | null };
  readonly isByDay: boolean;
}

export function describeFields(
  file: ReportFile,
  { date, columns, names }: Pick<StagedFields, 'date' | 'names'> & { readonly columns: readonly Column[] },
  { schema, columns: requestedColumns }: ReportOptions,
): StagedFields {
  const all = [date, ...columns];
  // The Data Catalog has only lower case.
  const byKey = Map.groupBy(names, (name) => name.toLowerCase());
  const fieldsOf = ({ from }: Column) => byKey.get(from.toLowerCase()) ?? [];
  const requested = new Set(requestedColumns.map(({ name }) => name));
  const outers = new Set(all.flatMap(({ from }) => pathInObject(from)?.outer.toLowerCase() ?? []));
  return {
    file,
    hasTable: schema !== undefined,
    date,
    asked: columns.filter(({ name }) => requested.has(name) && name !== ADVERTISER_COLUMN),
    all,
    names,
    fieldsOf,
    isMissing: (column) => fieldsOf(column).length === 0,
    objects: [...outers].map((outer) => byKey.get(outer) ?? []),
  };
}

/** @throws DownloadRefused if the file is a single object, and not a row */
export function requireRow(
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
export function requireOwnWindow({ total, leftOut, isByDay }: AddedRows, window: Window): void {
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

export function findMissing({ file, hasTable, date, asked, isMissing }: StagedFields): MissingFields {
  const missing = [...(hasTable ? [date] : []), ...asked].filter(isMissing);
  const metrics = metricsOf(asked);
  const withoutField = metrics.filter((metric) => missing.includes(metric));
  const absent = file.layout !== 'csv' && withoutField.length < metrics.length ? withoutField : [];
  return { absent, required: missing.filter((column) => !absent.includes(column)).map(({ from }) => from) };
}

/** Reasons why the fields do not fit the table. */
export function problemsOfFields(
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
export function problemsOfRows(
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

export function warningsOf(
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
