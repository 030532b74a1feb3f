import { DownloadRefused } from '../workflow/errors.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { Column } from '../workflow/table.ts';
import { type Database, literal, type Row } from './database.ts';
import { list, type Match, shorten } from './match.ts';
import type { DayFacts, ReportFacts, ReportFile, ReportOptions } from './report.ts';
import { readRows } from './source.ts';
import { recheck } from './stage.ts';

/** A double has 15 digits, but the last ones of a sum depend on the order of the rows, which may change. */
const DOUBLE_DIGITS = 12;

interface Staged {
  readonly file: ReportFile;
  readonly match: Match;
  /** A file of stageRows. */
  readonly stage: string;
}

/**
 * @throws DownloadRefused if the day of a row is outside the window, CurateLimit
 */
export async function readFacts(
  database: Database,
  staged: Staged,
  { window, schema, granularity = 'DAY' }: Pick<ReportOptions, 'window' | 'schema' | 'granularity'>,
): Promise<ReportFacts> {
  const { match, stage } = staged;
  const [totals = {}] = await database.query(
    `SELECT count(*) AS rows, count(day) AS dated, min(day) AS first, max(day) AS last, bool_or(suspect) AS suspect
       FROM ${literal(stage)}`,
  );
  const rows = Number(totals.rows);
  const dates = totals.first !== null && { first_date: String(totals.first), last_date: String(totals.last) };
  const outside = dates ? await findOtherDate(database, stage, window) : undefined;
  if (outside !== undefined && granularity.toUpperCase() === 'DAY')
    throw new DownloadRefused(`${outside}. It is not the report that was requested.`);
  const problem =
    problemOfNames(match, rows) ?? (await findBadValue(database, staged, totals.suspect === true));
  const warnings = [...(outside === undefined ? [] : [outside]), ...match.warnings];
  if (problem !== undefined) {
    const known = { rows, ...dates, sums: {}, days: [] };
    return schema
      ? { ...known, warnings, table_problem: problem }
      : { ...known, warnings: [...warnings, `the report has no sums: ${problem}`] };
  }
  const { sums, days, duplicates } = await addUp(database, stage, match.columns);
  if (schema && duplicates > 0) {
    warnings.push(
      `rows with the same date and dimensions as another row: ${duplicates}; the table counts all of them`,
    );
  }
  // Some dates of a report without a table may not be days, such as hours.
  return { rows, ...dates, sums, days: Number(totals.dated) === rows ? days : [], warnings };
}

async function findOtherDate(
  database: Database,
  stage: string,
  { start_date, end_date }: Window,
): Promise<string | undefined> {
  const [found] = await database.query(
    `SELECT file_row_number + 1 AS row, day FROM read_parquet(${literal(stage)}, file_row_number=true)
       WHERE day < ${literal(start_date)} OR day >= ${literal(end_date)} LIMIT 1`,
  );
  return (
    found &&
    `Row ${found.row} of the file has the date ${found.day}, which is outside the window ${start_date} to ${end_date}`
  );
}

function problemOfNames({ problem, missing }: Match, rows: number): string | undefined {
  if (problem !== undefined || missing.length === 0 || rows === 0) return problem;
  return `no row has ${list(missing)}`;
}

/** The first value that does not fit its column. */
async function findBadValue(
  database: Database,
  { file, match, stage }: Staged,
  isSuspect: boolean,
): Promise<string | undefined> {
  const [bad] = await database.query(
    `SELECT file_row_number + 1 AS row, bad, bad_text FROM read_parquet(${literal(stage)}, file_row_number=true)
       WHERE bad IS NOT NULL LIMIT 1`,
  );
  if (bad) return describe(bad, match);
  const again = isSuspect ? recheck(file, match.columns) : undefined;
  const [wrong] = again === undefined ? [] : await readRows(database, again);
  return wrong && describe(wrong, match, 'a JSON number with fewer digits');
}

/** @param other what belongs into a column of numbers. Default: its type. */
function describe({ row, bad, bad_text }: Row, { date, columns }: Match, other?: string): string {
  const column = columns[Number(bad)];
  const value = bad_text === null ? 'no value' : shorten(String(bad_text));
  const type = column?.type === 'string' ? 'a single value' : (other ?? column?.type ?? 'a date');
  return `row ${row} has ${value} in the column ${column?.name ?? date.name}, where ${type} belongs`;
}

/** @returns sums of the whole report and of each day, and the number of rows that repeat another's date and dimensions */
async function addUp(
  database: Database,
  stage: string,
  columns: readonly Column[],
): Promise<{ sums: DayFacts['sums']; days: DayFacts[]; duplicates: number }> {
  const named = columns.map((column, index) => ({ ...column, value: `c${index}` }));
  const metrics = named.filter(({ type }) => type !== 'string');
  const dimensions = named.filter(({ type }) => type === 'string').map(({ value }) => value);
  // Compares hashes, because all values of a large report would not fit into memory. The probability
  // that two of 5 million different rows have the same hash is 5e6 ** 2 / 2 ** 65 = 1 in a million.
  const [repeated] = await database.query(
    `SELECT count(*) - count(DISTINCT hash(${['day', ...dimensions]})) AS duplicates FROM ${literal(stage)}`,
  );
  // The sum of a double is exact to its last digits with fsum only.
  const sums = metrics.map(
    ({ type, value }) =>
      `CAST(coalesce(${type === 'double' ? 'fsum' : 'sum'}(${value}), 0) AS VARCHAR) AS ${value}`,
  );
  const found = await database.query(
    `SELECT ${[...sums, 'day', 'grouping(day) = 1 AS total', 'count(*) AS rows']}
       FROM ${literal(stage)} GROUP BY GROUPING SETS ((day), ()) ORDER BY day`,
  );
  const sumsOf = (row: Row | undefined) =>
    Object.fromEntries(
      metrics.map(({ name, type, value }) => [name, plainSum(String(row?.[value] ?? 0), type)]),
    );
  const total = found.find(({ total }) => total);
  const days = found.filter(({ total, day }) => !total && day !== null);
  return {
    sums: sumsOf(total),
    days: days.map((row) => ({ day: String(row.day), rows: Number(row.rows), sums: sumsOf(row) })),
    duplicates: Number(repeated?.duplicates ?? 0),
  };
}

function plainSum(sum: string, type: Column['type']): string {
  if (type === 'double') return String(Number(Number(sum).toPrecision(DOUBLE_DIGITS)));
  // DuckDB writes a decimal(38,38) without the zero before its point.
  return sum.includes('.') ? sum.replace(/(?<!\d)\./, '0.').replace(/\.?0+$/, '') : sum;
}
