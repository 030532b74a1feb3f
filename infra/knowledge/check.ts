import { mkdtemp, mkdtempDisposable, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pMap from 'p-map';
import { checksumOf } from '../../functions/aws/objects.ts';
import { covers } from '../../functions/deliveries/judge.ts';
import { requestOf } from '../../functions/deliveries/manifest.ts';
import type { StoredDelivery } from '../../functions/deliveries/records.ts';
import { stageWindow } from '../../functions/tables/curate-file.ts';
import { type Database, literal, type Row } from '../../functions/tables/database.ts';
import { parquet } from '../../functions/tables/merge.ts';
import type { Sums } from '../../functions/tables/report.ts';
import { findRows } from '../../functions/tables/report-file.ts';
import { metricsOf, readSums, sumExpressions } from '../../functions/tables/stage-report.ts';
import { addDays, type DateRange } from '../../functions/workflow/request/dates.ts';
import type { ReportRequest } from '../../functions/workflow/request/request.ts';
import { columnName, monthKey, type TableSchema } from '../../functions/workflow/table.ts';
import { newest, RECONCILIATION } from '../catalog/ledger.ts';
import type { Folder, ReadableBucket } from './bucket.ts';
import { UsageError } from './errors.ts';
import { type ExportPlace, type FoundExport, findExports } from './exports.ts';
import { openLedger } from './ledger-days.ts';
import { type AskedDays, judgeRange } from './missing-days.ts';
import { type Month, readMonths, shownReader } from './months.ts';
import { exportDaysCommand, rebuildCommand } from './next-command.ts';
import { findSchema } from './tables.ts';

/** Two sources that say different things about a day, or about the window of a file. */
export interface Difference extends DateRange {
  /** A metric, `rows`, `report`, or `checksum` of a file. */
  readonly metric: string;
  /** By two of `file`, `manifest`, `table`, `ledger` and `platform`. Null if the source has none. */
  readonly values: Readonly<Record<string, string | null>>;
  /** The command that mends it: `rebuild` adds what is absent, and `run` brings a new report. */
  readonly mend: 'rebuild' | 'run';
}

export type CheckedExport = Awaited<ReturnType<typeof checkExport>>;

type Asked = ExportPlace & AskedDays;

/**
 * Compares what a table shows with the files that its days are from, their manifests, the ledger and the
 * platform's own totals.
 *
 * @throws UsageError if the export has no table of days; TableProblem, AccessRefused, ServiceUnavailable
 */
export async function checkExports(name: string, asked: Asked, bucket: ReadableBucket, now: Date) {
  const found = await findExports(name, asked, bucket, now, asked.from);
  const [table] = found.flatMap((each) => (each.table?.kind === 'report' ? [each.table.table] : []));
  const schema = table && (await findSchema(table, asked.local ? found : undefined));
  if (!schema) throw new UsageError([`${name} is no report that has a table`]);
  const check = (each: FoundExport) => checkExport({ found: each, schema, bucket }, asked, now);
  return pMap(found, check, { concurrency: 1 });
}

interface Work {
  readonly found: FoundExport;
  readonly schema: TableSchema;
  readonly bucket: ReadableBucket;
  /** With the ledger. */
  readonly database: Database;
  readonly folder: string;
}

async function checkExport(checking: Omit<Work, 'database' | 'folder'>, asked: Asked, now: Date) {
  const { found, schema, bucket } = checking;
  const { account, name } = found.request;
  const { days, start_date, end_date } = await judgeRange(found, shownReader(bucket), asked, now);
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'check-'));
  const folder = scratch.path;
  const since = new Map([[`${account}.${name}`, start_date]]);
  using database = await openLedger(bucket, since, now, folder, schema.columns.length);
  const work = { ...checking, database, folder };
  const byMonth = Map.groupBy(days, ({ day }) => day.slice(0, 'YYYY-MM'.length));
  const months = await readMonths(bucket, { ...schema, account }, (month) => byMonth.has(month));
  const shown = new Map(months.flatMap((month) => Object.entries(month.days)));
  const sums = new Map((await pMap(months, (month) => sumMonth(work, month), { concurrency: 1 })).flat());
  const facts = await readFacts(work);
  const files = new Map<StoredDelivery, FileSums>();
  const differences: Difference[] = [];
  const checked = new Set<string>();
  for (const { day, state } of days) {
    const range = rangeOf(day);
    if (state === 'not_in_table') {
      const values = { manifest: 'delivered', table: null };
      differences.push({ ...range, metric: 'report', values, mend: 'rebuild' });
    }
    const entry = shown.get(day);
    if (!entry) continue;
    const report = `${entry.report_id} ${Date.parse(entry.created_at)}`;
    const delivery = found.deliveries.find((each) => reportOf(each) === report && covers(each, day));
    const file = delivery && (files.get(delivery) ?? (await readFile(work, delivery)));
    if (file) files.set(delivery, file);
    const ofFile = file?.days.get(day);
    if (ofFile) checked.add(day);
    // A column that the table got later is NULL.
    const names = ['rows', ...Object.keys(entry.ledger?.sums ?? sums.get(day) ?? {})];
    const table = sums.get(day) ?? Object.fromEntries(names.map((name) => [name, '0']));
    const said = { ...(ofFile && { file: ofFile }), table, ledger: facts.get(`${day} ${report}`) ?? {} };
    differences.push(...compare(range, names, said));
  }
  for (const [{ manifest, start_date, end_date }, { total: file }] of files) {
    const { checksum, rows, sums } = manifest;
    const said = { checksum: checksum.value, ...(rows !== undefined && { rows: String(rows) }), ...sums };
    differences.push(...compare({ start_date, end_date }, Object.keys(said), { file, manifest: said }));
  }
  differences.push(...(await compareTotals(work, { start_date, end_date })));
  const counted = countDays(byMonth, checked, differences);
  return { account, name, months: counted, differences, commands: commandsFor(found, differences, asked) };
}

/** Counts the days of each month by what was found. */
function countDays(
  days: ReadonlyMap<string, readonly { readonly day: string }[]>,
  checked: ReadonlySet<string>,
  differences: readonly Difference[],
) {
  return [...days].map(([month, all]) => {
    const differ = all.filter(({ day }) => differences.some((each) => covers(each, day)));
    const agree = all.filter((each) => checked.has(each.day) && !differ.includes(each)).length;
    return { month, agree, differ: differ.length, not_checked: all.length - agree - differ.length };
  });
}

function commandsFor({ request }: FoundExport, differences: readonly Difference[], folder: Folder): string[] {
  return [...Map.groupBy(differences, ({ mend }) => mend)].map(([mend, some]) => {
    const dates = some.flatMap(({ start_date, end_date }) => [start_date, end_date]).sort();
    const range = { start_date: dates[0] ?? '', end_date: dates.at(-1) ?? '' };
    const commandOf = mend === 'run' ? exportDaysCommand : rebuildCommand;
    return commandOf(request, range, folder, false);
  });
}

/**
 * Compares the first source with each of the others. Sums are exact, because CurateReport has rounded each
 * value to its column. What the first one does not know is left out, such as a column that was removed.
 */
function compare(
  range: DateRange,
  names: readonly string[],
  said: Readonly<Record<string, Sums>>,
): Difference[] {
  const [[first = '', base = {}] = [], ...others] = Object.entries(said);
  return others.flatMap(([source, sums]) =>
    names.flatMap((metric): Difference[] => {
      const expected = source === 'ledger' ? toLedger(base[metric]) : base[metric];
      const value = sums[metric] ?? null;
      if (expected === undefined || expected === value) return [];
      const mend = source === 'ledger' && value === null ? 'rebuild' : 'run';
      return [{ ...range, metric, values: { [first]: expected, [source]: value }, mend }];
    }),
  );
}

/** Rounds as the column of the ledger does. */
const LEDGER_VALUE = new Intl.NumberFormat('en', { maximumFractionDigits: 10, useGrouping: false });

function toLedger<T extends string | null | undefined>(value: T) {
  return value && LEDGER_VALUE.format(value as Intl.StringNumericLiteral);
}

/** The platform's totals that differ from the rows by more than the request tolerates. */
async function compareTotals({ found, schema, database }: Work, range: DateRange): Promise<Difference[]> {
  const { account, reconcile_tolerance = {} } = found.request as ReportRequest;
  const shares = new Map(
    Object.entries(reconcile_tolerance).map(([name, share]) => [columnName(name), share]),
  );
  const totals = await database.query(
    `SELECT * FROM (${RECONCILIATION}) WHERE "table_name" = ${literal(schema.table)} AND "account" = ${literal(account)}`,
  );
  const asked = totals.filter(({ date }) => covers(range, String(date)));
  return asked.flatMap(({ date, metric, rows_sum, platform_total, difference }): Difference[] => {
    const share = Math.abs(Number(difference) / Number(platform_total));
    if (!(share > (shares.get(String(metric)) ?? Number.POSITIVE_INFINITY))) return [];
    const values = { table: toLedger(rows_sum as string), platform: toLedger(platform_total as string) };
    return [{ ...rangeOf(String(date)), metric: String(metric), values, mend: 'run' }];
  });
}

function rangeOf(day: string): DateRange {
  return { start_date: day, end_date: addDays(day, 1) };
}

function reportOf({ manifest, created_at }: StoredDelivery): string {
  return `${manifest.report_id} ${Date.parse(created_at)}`;
}

/** The rows and the sums of a month's object, by date. */
async function sumMonth({ found, schema, bucket, database, folder }: Work, { month, columns }: Month) {
  const key = monthKey(schema.table, found.request.account, month);
  const path = (await bucket.toFile(key, join(folder, `${month}.parquet`))) ?? '';
  const metrics = metricsOf(schema.columns).filter(({ name }) => columns.has(name));
  const selected = ['date', 'count(*) AS rows', ...sumExpressions(metrics)];
  const days = await database.query(`SELECT ${selected} FROM ${parquet(path)} GROUP BY date`);
  return days.map((row): [string, Sums] => {
    return [String(row.date), { ...readSums(row, metrics), rows: String(row.rows) }];
  });
}

/** Reads the newest shown facts of the ledger, by day and report. */
async function readFacts({ found, schema, database }: Work): Promise<ReadonlyMap<string, Sums>> {
  const own = `AND "table_name" = ${literal(schema.table)} AND "account" = ${literal(found.request.account)}`;
  const facts = await database.query(
    `SELECT *, epoch_ms("report_created_at") AS "at" FROM (${newest(` ${own}`)})`,
  );
  const byReport = Map.groupBy(facts, ({ date, report_id, at }) => `${date} ${report_id} ${at}`);
  const toSums = (rows: readonly Row[]) =>
    rows.map(({ metric, value }) => [metric, toLedger(value as string | null)]);
  return new Map([...byReport].map(([of, rows]) => [of, Object.fromEntries(toSums(rows))]));
}

/** The days and the sums of a report's file, as CurateReport reads them, with the number of rows. */
interface FileSums {
  readonly days: ReadonlyMap<string, Sums>;
  /** Of all rows, with the checksum of the file. */
  readonly total: Sums;
}

/** @returns no days of a file that was removed or replaced, or whose rows do not fit the table any more */
async function readFile(work: Work, { manifest, ...window }: StoredDelivery): Promise<FileSums> {
  const { found, bucket, folder } = work;
  const copy = join(await mkdtemp(join(folder, 'file-')), 'copy');
  const stored = await bucket.toFile(manifest.key, copy, manifest.version_id);
  if (stored === undefined) return { days: new Map(), total: {} };
  const checksum = await checksumOf(stored);
  if (checksum !== manifest.checksum.value) return { days: new Map(), total: { checksum } };
  // The reader may write other files beside it.
  if (stored !== copy) await symlink(stored, copy);
  const request = (requestOf(manifest) ?? found.request) as ReportRequest;
  const { signal } = new AbortController();
  const file = await findRows(copy, { ...manifest, format: request.format, rows: request.rows, signal });
  const facts = await stageWindow(request, window, { ...work, file }, join(folder, 'rows.parquet'));
  const days = facts.days.map((each) => [each.day, { ...each.sums, rows: String(each.rows) }] as const);
  return { days: new Map(days), total: { ...facts.sums, rows: String(facts.rows) } };
}
