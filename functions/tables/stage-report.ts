import type { Json } from '@duckdb/node-api';
import { DownloadRefused } from '../workflow/errors.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { Column } from '../workflow/table.ts';
import { type Database, identifier, literal, type Row } from './database.ts';
import type { ReportFacts, ReportFile, ReportOptions, StagedReport } from './report.ts';
import { type StagedRows, stageRows } from './rows.ts';
import { list, refused, shorten, UnreadableRows } from './source.ts';
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
  try {
    const rows = await stageRows(database, file, options);
    return { facts: await readFacts(database, file, rows, options), rows: rows.path };
  } catch (error) {
    if (!(error instanceof UnreadableRows)) throw error;
    return { facts: withProblem({ sums: {}, days: [], warnings: [] }, error.message, options), rows: '' };
  }
}

/** Without a table, the problem only explains why there are no sums. */
function withProblem(facts: ReportFacts, problem: string, { schema }: ReportOptions): ReportFacts {
  if (schema) return { ...facts, table_problem: problem };
  return { ...facts, warnings: [...facts.warnings, `the report has no sums: ${problem}`] };
}

async function readFacts(
  database: Database,
  file: ReportFile,
  staged: StagedRows,
  options: ReportOptions,
): Promise<ReportFacts> {
  const { window, schema, granularity = 'DAY' } = options;
  const { path, columns, names, missing, unknown } = staged;
  const [total = {}, ...days] = await addUp(database, staged, window);
  const rows = Number(total['number of rows']);
  if (file.layout === 'lines' && rows === 1 && !staged.hasMetric)
    throw refused(
      `is an object without an array of objects or a requested metric; it has ${list(names) || 'no fields'}`,
    );
  const outside = await findRow(database, path, total['row outside']);
  const warnings: string[] = [];
  if (outside) {
    const found = `Row ${outside.row} of the file has the date ${outside.date}, which is outside the window ${window.start_date} to ${window.end_date}`;
    if (granularity.toUpperCase() === 'DAY')
      throw new DownloadRefused(`${found}. It is not the report that was requested.`);
    warnings.push(found);
  }
  if (schema && unknown.length > 0)
    warnings.push(`the table leaves out fields that it has no column for: ${list(unknown)}`);
  const bad = await findRow(database, path, total['bad row']);
  const problems = [
    ...staged.problems,
    ...(missing.length > 0 && (rows > 0 || file.layout === 'csv') ? [`no row has ${list(missing)}`] : []),
    ...(bad ? [describeBadValue(bad, columns)] : []),
  ];
  const facts = {
    rows,
    ...(total['first date'] !== null && {
      first_date: String(total['first date']),
      last_date: String(total['last date']),
    }),
    warnings,
  };
  if (problems.length > 0) return withProblem({ ...facts, sums: {}, days: [] }, problems.join('; '), options);
  if (schema) warnings.push(...(await findDuplicates(database, path, columns)));
  const metrics = metricsOf(columns);
  return {
    ...facts,
    sums: readSums(total, metrics),
    // Some dates of a report without a table may not be days, such as hours.
    days:
      Number(total['rows with a date']) < rows
        ? []
        : days.map((row) => ({
            day: String(row.date),
            rows: Number(row['number of rows']),
            sums: readSums(row, metrics),
          })),
  };
}

/** @returns the whole report, and each day: rows, first and last date, sums, and the numbers of the first rows with a fault */
async function addUp(
  database: Database,
  { path, columns }: StagedRows,
  { start_date, end_date }: Window,
): Promise<readonly Row[]> {
  const isOutside = `date < ${literal(start_date)} OR date >= ${literal(end_date)}`;
  return database.query(
    `SELECT date, count(*) AS "number of rows", count(date) AS "rows with a date",
       min(date) AS "first date", max(date) AS "last date",
       min(file_row_number) FILTER ("bad column" IS NOT NULL) AS "bad row",
       min(file_row_number) FILTER (${isOutside}) AS "row outside",
       ${sumExpressions(metricsOf(columns))}
     FROM read_parquet(${literal(path)}, file_row_number=true)
     GROUP BY GROUPING SETS ((date), ()) ORDER BY grouping(date) DESC, date`,
  );
}

/** @param number from 0 */
async function findRow(database: Database, path: string, number: Json | undefined): Promise<Row | undefined> {
  if (number === null || number === undefined) return undefined;
  const [row] = await database.query(
    `SELECT file_row_number + 1 AS row, date, "bad column", "bad value"
       FROM read_parquet(${literal(path)}, file_row_number=true) WHERE file_row_number = ${number}`,
  );
  return row;
}

function describeBadValue(row: Row, columns: readonly Column[]): string {
  const { name = 'date', type = 'a date' } = columns[Number(row['bad column'])] ?? {};
  const value = row['bad value'] === null ? 'no value' : shorten(String(row['bad value']));
  return `row ${row.row} has ${value} in the column ${name}, where ${type} belongs`;
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
