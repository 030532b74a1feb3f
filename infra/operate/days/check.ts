import { mkdtemp, mkdtempDisposable, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pMap from 'p-map';
import { checksumOf } from '../../../functions/aws/objects.ts';
import { covers } from '../../../functions/days/judge.ts';
import type { StoredDelivery } from '../../../functions/days/records.ts';
import { aboveTolerance, type ComparedDay } from '../../../functions/decisions/total.ts';
import { stageWindow } from '../../../functions/tables/curate-file.ts';
import type { Database, Row } from '../../../functions/tables/database.ts';
import { readObject, selectOld } from '../../../functions/tables/merge.ts';
import type { MonthEntries } from '../../../functions/tables/month-entries.ts';
import { type DayFacts, type Sums, TableProblem } from '../../../functions/tables/report.ts';
import { findRows } from '../../../functions/tables/report-file.ts';
import { fieldsOfRow, metricsOf, readSums, sumExpressions } from '../../../functions/tables/stage-report.ts';
import { DownloadRefused } from '../../../functions/workflow/errors.ts';
import { addDays, type DateRange } from '../../../functions/workflow/request/dates.ts';
import type { ReportRequest } from '../../../functions/workflow/request/request.ts';
import { compareReports, type ReportVersion } from '../../../functions/workflow/shown-days.ts';
import { monthKey, type TableSchema, tableColumns } from '../../../functions/workflow/table.ts';
import { newest, RECONCILIATION } from '../../stack/catalog/ledger.ts';
import type { ReadableBucket } from '../place/bucket.ts';
import { UsageError } from '../place/errors.ts';
import { findSchema } from '../place/tables.ts';
import { judgeExport } from './days.ts';
import type { AskedDays } from './days-to-look-at.ts';
import { type ExportPlace, type FoundExport, findExports } from './exports.ts';
import { openLedger } from './ledger-days.ts';
import { exportDaysCommand, rebuildCommand } from './next-command.ts';

/** Two sources that say different things about a day, or about the window of a file. */
export interface Difference extends DateRange {
  /** A metric, `rows`, `report`, or `checksum` of a file. */
  readonly metric: string;
  /** By two of `file`, `manifest`, `table`, `ledger` and `platform`. Null if the source has none. */
  readonly values: Readonly<Record<string, string | null>>;
  /** The command that mends it: `rebuild` adds what a file has, and `run` brings a new report. */
  readonly mend: 'rebuild' | 'run';
}

export type CheckedExport = Awaited<ReturnType<typeof checkExport>>;

type Asked = ExportPlace & AskedDays;

/**
 * Compares what a table shows with the files that its days are from, their manifests, the ledger and the
 * platform's own totals.
 *
 * @throws UsageError if the export has no table of days; AccessRefused, ServiceUnavailable
 */
export async function checkExports(name: string, asked: Asked, bucket: ReadableBucket, now: Date) {
  const found = await findExports(name, asked, bucket, now, asked);
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
  /** With the ledger of this export. */
  readonly database: Database;
  readonly folder: string;
}

async function checkExport(checking: Omit<Work, 'database' | 'folder'>, asked: Asked, now: Date) {
  const { found, schema, bucket } = checking;
  const { account, name } = found.request;
  const { days, months, damaged, without_file, start_date, end_date } = await judgeExport(bucket, found);
  const range = { start_date, end_date };
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'check-'));
  const folder = scratch.path;
  const since = new Map([[`${account}.${name}`, range.start_date]]);
  using ledger = await openLedger(bucket, since, now, folder, schema.columns.length);
  const work = { ...checking, database: ledger.database, folder };
  const byMonth = Map.groupBy(days, ({ day }) => day.slice(0, 'YYYY-MM'.length));
  const summed = await pMap(months, (month) => sumMonth(work, month), { concurrency: 1 });
  const unread = months.filter((_, at) => summed[at] === undefined);
  const readable = months.filter((each) => !unread.includes(each));
  const sums = new Map(summed.flatMap((each) => each ?? []));
  const { checked, differing, differences } = await compareDays(work, readable, sums, range);
  for (const { day } of days.filter(({ state }) => state === 'behind')) {
    const mend = without_file.has(day) ? 'run' : 'rebuild';
    const values = { manifest: 'delivered', table: null };
    differences.push({ ...rangeOf(day), metric: 'report', values, mend });
    differing.add(day);
  }
  differences.sort((one, other) => one.start_date.localeCompare(other.start_date));
  const counted = [...byMonth].map(([month, all]) => {
    const differ = all.filter(({ day }) => differing.has(day)).length;
    const agree = all.filter(({ day }) => checked.has(day) && !differing.has(day)).length;
    return { month, agree, differ, not_checked: all.length - agree - differ };
  });
  const commands = [...Map.groupBy(differences, ({ mend }) => mend)].map(([mend, some]) => {
    const end_date = some.reduce((last, each) => (each.end_date > last ? each.end_date : last), '');
    const commandOf = mend === 'run' ? exportDaysCommand : rebuildCommand;
    return commandOf(found.request, { start_date: some[0]?.start_date ?? '', end_date }, asked, false);
  });
  return {
    account,
    name,
    months: counted,
    differences,
    commands,
    /** The keys of objects that cannot be read, or tell what cannot be true. */
    damaged: [
      ...found.records.damaged,
      ...damaged,
      ...unread.map(({ month = '' }) => monthKey(schema.table, account, month)),
      ...ledger.damaged.map(({ key }) => key),
    ],
  };
}

/** The delivery of the report that a table shows on a day. */
function deliveryOf(
  day: string,
  shown: ReportVersion,
  deliveries: readonly StoredDelivery[],
): StoredDelivery | undefined {
  return deliveries.find((delivery) => covers(delivery, day) && compareReports(delivery, shown) === 0);
}

/** Compares the days that the table shows with their files and the ledger, and files with their manifests. */
async function compareDays(
  work: Work,
  months: readonly MonthEntries[],
  sums: ReadonlyMap<string, Sums>,
  range: DateRange,
) {
  const facts = Map.groupBy(
    await work.database.query(`SELECT *, epoch_ms("report_created_at") AS "at" FROM (${newest()})`),
    ({ date, report_id, at }) => `${date} ${report_id} ${at}`,
  );
  const totals = await readTotals(work);
  const columns = new Set(['rows', ...metricsOf(work.schema.columns).map(({ name }) => name)]);
  const shown = months.flatMap((month) => Object.entries(month.days)).filter(([day]) => covers(range, day));
  const byFile = Map.groupBy(shown, ([day, report]) =>
    deliveryOf(day, report, work.found.records.deliveries),
  );
  const differences: Difference[] = [];
  const checked = new Set<string>();
  const differing = new Set<string>();
  for (const [delivery, ofFile] of byFile) {
    const file = delivery && (await readFile(work, delivery));
    const ofWindow = file?.differences ?? [];
    differences.push(...ofWindow);
    for (const [day, { report_id, created_at, ledger: written }] of ofFile) {
      const inFile = file?.days.get(day);
      if (inFile) checked.add(day);
      const inTable = sums.get(day);
      const ofReport = facts.get(`${day} ${report_id} ${Date.parse(created_at)}`) ?? [];
      const inLedger = toSums({
        sums: Object.fromEntries(ofReport.map((fact) => [fact.metric, fact.value])),
      });
      // Leaves out columns that the table got later, or has no more.
      const compared = ['rows', ...Object.keys(written.sums)];
      for (const metric of compared.filter((name) => columns.has(name))) {
        const table = inTable ? (inTable[metric] ?? null) : '0';
        const [ledger, platform] = [inLedger[metric] ?? null, totals.get(`${day} ${metric}`)];
        const values = { file: inFile?.[metric], table, ledger, platform };
        const ofMetric = compare(rangeOf(day), metric, values);
        differences.push(...ofMetric);
        // The file may differ in other days of its window, which newer reports show.
        if (ofMetric.length + ofWindow.length > 0) differing.add(day);
      }
    }
  }
  return { checked, differing, differences };
}

/** Compares the first source that knows a value with the others. */
function compare(
  { start_date, end_date }: DateRange,
  metric: string,
  values: Readonly<Record<string, string | null | undefined>>,
): Difference[] {
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  const [[first, expected = null] = [''], ...others] = known;
  return others.flatMap(([source, value = null]) => {
    if (value === expected) return [];
    const mend = value === null && source === 'ledger' ? 'rebuild' : 'run';
    return [{ start_date, end_date, metric, values: { [first]: expected, [source]: value }, mend }];
  });
}

/** The column of the ledger has as many decimals. */
const ROUNDED = new Intl.NumberFormat('en', {
  maximumFractionDigits: 10,
  useGrouping: false,
  signDisplay: 'negative',
});

/** The number of rows and the sums, rounded: CurateReport has rounded each value to its column. */
function toSums({ rows, sums = {} }: { readonly rows?: unknown; readonly sums?: Row | undefined }): Sums {
  const all = Object.entries({ ...(rows !== undefined && { rows }), ...sums });
  const round = (value: unknown) => ROUNDED.format(String(value) as Intl.StringNumericLiteral);
  return Object.fromEntries(all.map(([metric, value]) => [metric, value === null ? null : round(value)]));
}

/** Reads the platform's totals that differ from the rows by more than the request tolerates. */
async function readTotals({ found, database }: Work) {
  const sums = `coalesce(COLUMNS('rows_sum|platform_total|difference'), 0)::DOUBLE`;
  const compared = await database.query(`SELECT "date", "metric", ${sums} FROM (${RECONCILIATION})`);
  const { reconcile_tolerance } = found.request as ReportRequest;
  const above = aboveTolerance(compared as unknown as ComparedDay[], reconcile_tolerance);
  return new Map(above.map((each) => [`${each.date} ${each.metric}`, ROUNDED.format(each.platform_total)]));
}

function rangeOf(day: string): DateRange {
  return { start_date: day, end_date: addDays(day, 1) };
}

/** The rows and the sums of a month's object, by date. @returns undefined if its rows cannot be read */
async function sumMonth({ found, schema, bucket, database, folder }: Work, { month = '' }: MonthEntries) {
  const key = monthKey(schema.table, found.request.account, month);
  const path = (await bucket.toFile(key, join(folder, `${month}.parquet`))) ?? '';
  const { columns } = await readObject(database, path);
  const metrics = metricsOf(schema.columns).filter(({ name }) => columns.has(name));
  const selected = ['date', 'count(*) AS rows', ...sumExpressions(metrics)];
  const rows = selectOld({ path, columns, days: undefined }, tableColumns(schema));
  const days = await database
    .query(`SELECT ${selected} FROM (${rows}) GROUP BY date`)
    .catch((error: Error) => {
      // DuckDB's own error.
      if (error.name === 'Error') return undefined;
      throw error;
    });
  return days?.map((row) => [`${row.date}`, toSums({ ...row, sums: readSums(row, metrics) })] as const);
}

/**
 * Reads the file of a report as CurateReport does, and compares all of it with its manifest.
 *
 * @returns no days of a file that was removed or replaced, or whose rows do not fit the table any more
 */
async function readFile(work: Work, { manifest, ...window }: StoredDelivery) {
  const { bucket, folder } = work;
  const inManifest = Object.entries({ checksum: manifest.checksum.value, ...toSums(manifest) });
  const read = (total: Sums, days: readonly DayFacts[] = []) => ({
    days: new Map(days.map((each) => [each.day, toSums(each)])),
    differences: inManifest.flatMap(([metric, value]) =>
      compare(window, metric, { file: total[metric], manifest: value }),
    ),
  });
  const copy = join(await mkdtemp(join(folder, 'file-')), 'copy');
  const stored = await bucket.toFile(manifest.key, copy, manifest.version_id);
  if (stored === undefined) return read({});
  const checksum = await checksumOf(stored);
  if (checksum !== manifest.checksum.value) return read({ checksum });
  // The reader may write other files beside it.
  if (stored !== copy) await symlink(stored, copy);
  const request = manifest.export_request as ReportRequest;
  const { signal } = new AbortController();
  try {
    const { format, rows } = request;
    const fields = fieldsOfRow(work.schema.columns, work.schema);
    const file = await findRows(copy, { ...manifest, format, rows, fields, signal });
    const facts = await stageWindow(request, window, { ...work, file }, join(folder, 'rows.parquet'));
    return read(toSums(facts), facts.days);
  } catch (error) {
    // Without a cause, it is no limit: the file fitted the config of its time.
    const isOther = (error instanceof TableProblem || error instanceof DownloadRefused) && !error.cause;
    if (isOther) return read({});
    throw error;
  }
}
