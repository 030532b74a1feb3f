import { join } from 'node:path';
import { DownloadRefused } from '../workflow/errors.ts';
import { ADVERTISER_COLUMN, type Column, DATE_COLUMN } from '../workflow/table.ts';
import { type Database, identifier, literal, type Row } from './database.ts';
import type { ReportFacts, ReportFile, ReportOptions, StagedReport } from './report.ts';
import { stageRows } from './rows.ts';
import {
  list,
  MoreFields,
  openCsv,
  openJson,
  refused,
  type Source,
  shorten,
  UnreadableRows,
} from './source.ts';
import { metricsOf, readSums, sumExpressions } from './sums.ts';

/**
 * Reads a report once: checks its texts, casts them and adds them up. All checks run, whatever another one finds.
 *
 * @throws DownloadRefused if the file is no report of this window
 * @throws CurateLimit
 */
export async function stageReport(
  database: Database,
  file: ReportFile,
  options: ReportOptions,
): Promise<StagedReport> {
  if (file.fault !== undefined) throw refused(file.fault);
  const path = join(options.folder, 'rows.parquet');
  try {
    if (file.problem !== undefined) throw new UnreadableRows(file.problem);
    return { facts: await readFacts(database, file, path, options), rows: path };
  } catch (error) {
    if (!(error instanceof UnreadableRows)) throw error;
    return { facts: withProblems({ warnings: [] }, [error.message], options), rows: path };
  }
}

/** Without a table, the problems only explain why there are no sums. */
function withProblems(
  facts: Omit<ReportFacts, 'sums' | 'days'>,
  problems: readonly string[],
  { schema }: ReportOptions,
): ReportFacts {
  const table_problem = problems.join('; ');
  const { warnings } = facts;
  if (schema) return { ...facts, sums: {}, days: [], table_problem };
  return {
    ...facts,
    sums: {},
    days: [],
    warnings: [...warnings, `the report has no sums: ${table_problem}`],
  };
}

async function readFacts(
  database: Database,
  file: ReportFile,
  path: string,
  options: ReportOptions,
): Promise<ReportFacts> {
  const { window, schema, granularity = 'DAY' } = options;
  const date: Column = { name: 'date', type: 'string', from: schema?.date_column ?? DATE_COLUMN };
  const columns = schema?.columns ?? metricsOf(options.columns);
  const staging = { path, columns: [date, ...columns], isDated: schema !== undefined };
  const { names, unseen, problems } = await stageFile(database, file, staging);
  const { missing, repeated, unknown, hasMetric } = compareNames(names, date, columns, options);
  const metrics = metricsOf(columns);
  const [total = {}, ...days] = await addUp(database, path, metrics, options);
  const rows = Number(total['number of rows']);
  if (file.layout === 'lines' && rows === 1 && !hasMetric)
    throw refused(
      `is an object without an array of objects and without a requested metric: it has ${list(names) || 'no fields'}`,
    );
  const outside = await findRow(database, path, total['row outside']);
  const warnings: string[] = [];
  if (outside) {
    const { start_date, end_date } = window;
    const found = `Row ${outside.row} of the file has the date ${outside.date}, which is outside the window ${start_date} to ${end_date}`;
    if (granularity.toUpperCase() === 'DAY')
      throw new DownloadRefused(`${found}. It is not the report that was requested.`);
    warnings.push(found);
  }
  if (schema && unknown.length > 0)
    warnings.push(`the table leaves out fields that it has no column for: ${list(unknown, unseen)}`);
  if (repeated.length > 0)
    problems.push(`several fields have the same name, whatever its case: ${list(repeated)}`);
  if (missing.length > 0 && (rows > 0 || file.layout === 'csv')) problems.push(`no row has ${list(missing)}`);
  const bad = await findRow(database, path, total['bad row']);
  if (bad) problems.push(describeBadValue(bad, staging.columns));
  const [first, last] = [total['first date'], total['last date']];
  const facts = {
    rows,
    ...(first !== null && { first_date: String(first), last_date: String(last) }),
    warnings,
  };
  if (problems.length > 0) return withProblems(facts, problems, options);
  if (schema) warnings.push(...(await findDuplicates(database, path, columns)));
  // Some dates of a report without a table may not be days, such as hours.
  const isDaily = Number(total['rows with a date']) === rows;
  return {
    ...facts,
    sums: readSums(total, metrics),
    days: (isDaily ? days : []).map((row) => ({
      day: String(row.date),
      rows: Number(row['number of rows']),
      sums: readSums(row, metrics),
    })),
  };
}

interface Staging {
  readonly path: string;
  /** The first is the date. */
  readonly columns: readonly Column[];
  readonly isDated: boolean;
}

/** @returns the names of the file, and the reason why a part of it is left out */
async function stageFile(
  database: Database,
  file: ReportFile,
  staging: Staging,
): Promise<{ readonly names: readonly string[]; readonly unseen: number; readonly problems: string[] }> {
  const stage = (source: Source) => stageRows(database, source, staging);
  if (file.layout !== 'csv') return { ...(await stage(await openJson(database, file))), problems: [] };
  const source = openCsv(file, true);
  const known = new Set(staging.columns.map(({ from }) => from.toLowerCase()));
  if (!source.names.some((name) => known.has(name.toLowerCase())))
    throw new UnreadableRows(`the first line of the CSV file names no column: ${shorten(file.header ?? '')}`);
  try {
    return { ...(await stage(source)), problems: [] };
  } catch (error) {
    if (!(error instanceof MoreFields)) throw error;
    return { ...(await stage(openCsv(file, false))), problems: [error.message] };
  }
}

/** Columns are found by their names in any case: the Data Catalog has only lower case. */
function compareNames(
  names: readonly string[],
  date: Column,
  columns: readonly Column[],
  { schema, columns: requested }: ReportOptions,
) {
  const byKey = Map.groupBy(names, (name) => name.toLowerCase());
  const fieldsOf = ({ from }: Column) => byKey.get(from.toLowerCase()) ?? [];
  const requestedNames = new Set(requested.map(({ name }) => name));
  const asked = columns.filter(({ name }) => requestedNames.has(name) && name !== ADVERTISER_COLUMN);
  const known = new Set([date, ...columns].flatMap(fieldsOf));
  const isMissing = (column: Column) => fieldsOf(column).length === 0;
  return {
    missing: [...(schema ? [date] : []), ...asked].filter(isMissing).map(({ from }) => from),
    repeated: [date, ...columns]
      .map(fieldsOf)
      .filter(({ length }) => length > 1)
      .flat(),
    unknown: [...new Set(names)].filter((name) => !known.has(name)),
    hasMetric: !metricsOf(asked).every(isMissing),
  };
}

/** @returns the whole report, and each day: rows, first and last date, sums, and the numbers of the first rows with a fault */
async function addUp(
  database: Database,
  path: string,
  metrics: readonly Column[],
  { window }: ReportOptions,
): Promise<readonly Row[]> {
  const isOutside = `date < ${literal(window.start_date)} OR date >= ${literal(window.end_date)}`;
  return database.query(
    `SELECT ${[...sumExpressions(metrics), 'date', 'count(*) AS "number of rows"', 'count(date) AS "rows with a date"']},
       min(date) AS "first date", max(date) AS "last date",
       min(file_row_number) FILTER ("bad column" IS NOT NULL) AS "bad row",
       min(file_row_number) FILTER (${isOutside}) AS "row outside"
     FROM read_parquet(${literal(path)}, file_row_number=true)
     GROUP BY GROUPING SETS ((date), ()) ORDER BY grouping(date) DESC, date`,
  );
}

/** @param number from 0, or null */
async function findRow(
  database: Database,
  path: string,
  number: Row[string] = null,
): Promise<Row | undefined> {
  if (number === null) return undefined;
  const [row] = await database.query(
    `SELECT file_row_number + 1 AS row, date, "bad column", "bad value"
       FROM read_parquet(${literal(path)}, file_row_number=true) WHERE file_row_number = ${number}`,
  );
  return row;
}

function describeBadValue(row: Row, columns: readonly Column[]): string {
  const at = Number(row['bad column']);
  const text = row['bad value'];
  const type = at === 0 ? 'a date' : columns[at]?.type;
  const value = text === null ? 'no value' : shorten(String(text));
  return `row ${row.row} has ${value} in the column ${columns[at]?.name}, where ${type} belongs`;
}

/** Compares hashes: two of 5 million different rows have the same with a probability of 5e6 ** 2 / 2 ** 65 = 1 in a million. */
async function findDuplicates(
  database: Database,
  path: string,
  columns: readonly Column[],
): Promise<string[]> {
  const dimensions = columns.filter(({ type }) => type === 'string').map(({ name }) => identifier(name));
  const [found] = await database.query(
    `SELECT count(*) - count(DISTINCT hash(${['date', ...dimensions]})) AS duplicates FROM ${literal(path)}`,
  );
  const duplicates = Number(found?.duplicates);
  if (duplicates === 0) return [];
  return [
    `rows with the same date and dimensions as another row: ${duplicates}; the table counts all of them`,
  ];
}
