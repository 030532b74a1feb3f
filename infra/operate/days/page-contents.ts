import type { DayState } from '../../../functions/days/judge.ts';
import type { StoredFailure } from '../../../functions/days/records.ts';
import { dateIn, daysBetween } from '../../../functions/workflow/request/dates.ts';
import { MIN_CURVE_DAYS } from '../../stack/catalog/ledger-sql.ts';
import type { DocumentedColumn, DocumentedTable } from '../../stack/catalog/table-words.ts';
import type { ConfiguredExport } from '../../stack/config/exports.ts';
import { type Folder, openToRead } from '../place/bucket.ts';
import { readDeployment } from '../place/deployment.ts';
import { loadConfig } from '../place/load-config.ts';
import { documentTables } from '../place/table-schemas.ts';
import { describeDamage } from './damage.ts';
import { type ExportStatus, readExportStatus } from './export-status.ts';
import { latest } from './latest.ts';
import type { CurvePoint, LedgerDay } from './ledger-days.ts';
import { commandFor } from './next-command.ts';
import { findRemedies, finishRun, type Remedy } from './remedies.ts';

/** Days whose sums are read: as many bars as a chart has room for. */
export const RECENT_DAYS = 100;

/** Charts side by side. */
const MAX_METRICS = 3;

/** Its texts are as the platform, the config and the manifests have them: the drawing escapes them. */
export type PageContents = Awaited<ReturnType<typeof readPage>>;

export type PageExport = ReturnType<typeof toPageExport>;

/** A day, with the facts of the ledger about it if the table shows it. */
export interface PageDay extends Partial<LedgerDay> {
  /** YYYY-MM-DD */
  readonly date: string;
  /** `empty`: delivered, and without rows. */
  readonly state: DayState | 'empty';
  /** The table's rows of the day. Absent if the table does not have it. */
  readonly rows?: number | undefined;
}

export type PageCurve = NonNullable<ReturnType<typeof describeCurve>>;

export type PageMetric = ReturnType<typeof chooseMetrics>[number];

/** @throws UsageError if the folder has no runs, or no stack was deployed from here */
export async function readPage(folder: Folder, now: Date) {
  await using bucket = await openToRead(folder);
  const { exports: read, unreadable } = await readExportStatus(undefined, folder, bucket, now);
  const tables = documentTables(read.map(({ recordedExport }) => recordedExport));
  const byName = new Map(tables.map((table) => [table.table, table]));
  const exports = read.map((exportStatus) => toPageExport(exportStatus, byName, folder, now));
  return {
    /** What is lost with each damaged record of the exports that cannot be shown for it. */
    damaged: unreadable.flatMap(({ damaged }) => damaged.map(describeDamage)) as readonly string[],
    /** ISO 8601, UTC. */
    made_at: now.toISOString(),
    /** The folder of local runs, or the stack with its Region and AWS account. */
    place: folder.local ? folder.out : (await readDeployment()).place,
    /** It shows the runs of this machine. */
    is_local: folder.local === true,
    /** The command that lists the numbers. */
    query: commandFor(['query'], { saved: 'days' }, folder),
    /** Worst first: failed, then the exports whose days lack something, then the others by name. */
    exports: exports.toSorted(compareSeverity) as readonly PageExport[],
  };
}

function toPageExport(
  exportStatus: ExportStatus,
  tables: ReadonlyMap<string, DocumentedTable>,
  folder: Folder,
  now: Date,
) {
  const { account, name, newest_day, recordedExport, missing, newcomers, refused, failure, ledger } =
    exportStatus;
  const { running, last, months, damaged } = exportStatus;
  const { request } = recordedExport;
  const table = recordedExport.table && tables.get(recordedExport.table.table);
  const days = describePageDays(exportStatus);
  const metrics: readonly PageMetric[] = table ? chooseMetrics(table, account, days) : [];
  const remedies = missing ? [...findRemedies(missing, request, folder), ...missing.runs.map(finishRun)] : [];
  return {
    account,
    name,
    running,
    last,
    newest_day,
    missing,
    months,
    kind: request.kind,
    remedies: [remedies, newcomers ?? [], refused ?? []].flat() as readonly Remedy[],
    /** What cannot be read, and what is lost with it. */
    damaged: damaged.map(describeDamage) as readonly string[],
    /** The days that `missing` judges, by date. */
    days,
    /** The dictionary of its table. */
    table,
    /** They add up over days, and some day has a value: `spend` first, if there is one. */
    metrics,
    /** Absent if no day is final that was read early on. */
    curve: describeCurve(exportStatus, metrics),
    closed: ledger.closed,
    /** In the order of `metrics`. */
    compared: ledger.compared.toSorted(
      (first, second) => placeOf(first.metric, metrics) - placeOf(second.metric, metrics),
    ),
    ...describeLastDelivery(exportStatus),
    days_behind: countDaysBehind(exportStatus, now),
    /** Of its days: a list has none. */
    time_zone: request.kind === 'report' ? (request.time_zone ?? 'UTC') : undefined,
    failure: failure && describeFailure(failure, folder),
  };
}

function describePageDays({ days = [], ledger }: ExportStatus): readonly PageDay[] {
  return days.map(({ day, state, shown }) => {
    const isEmpty = state === 'there' && shown?.rows === 0;
    return { date: day, state: isEmpty ? 'empty' : state, rows: shown?.rows, ...ledger.days.get(day) };
  });
}

function describeLastDelivery({ recordedExport }: ExportStatus) {
  const manifests = recordedExport.records.deliveries.map(({ manifest }) => manifest);
  const newest = latest(manifests.map((manifest) => ({ ...manifest, at: manifest.published_at })));
  const ofLastRun = manifests.filter(({ execution }) => execution === newest?.execution);
  return {
    /** When the newest manifest was written, in ISO 8601. */
    delivered_at: newest?.published_at,
    /** The warnings of the last execution that delivered something. */
    warnings: [...new Set(ofLastRun.flatMap((manifest) => manifest.warnings))] as readonly string[],
  };
}

/**
 * Whole days from the end of the newest day to now, in the export's time zone. Undefined if nothing says that
 * there should be newer days.
 */
function countDaysBehind(
  { account, name, recordedExport, newest_day }: ExportStatus,
  now: Date,
): number | undefined {
  if (newest_day === undefined) return undefined;
  const { request } = recordedExport;
  const today = dateIn((request.kind === 'report' && request.time_zone) || 'UTC', now);
  const behind = Math.max(0, daysBetween(newest_day, today) - 1);
  const configured = findInConfig(account, name);
  // Only an export that follows the date can be late. A backfill ends where it was asked to.
  const followsDate = configured !== undefined && periodsOf(configured).length > 0;
  return behind === 0 || followsDate ? behind : undefined;
}

function findInConfig(account: string, name: string): ConfiguredExport | undefined {
  return loadConfig().exports.find(
    (configured) => configured.account === account && configured.name === name,
  );
}

function describeFailure({ at, error, happened, todo, execution }: StoredFailure, { local }: Folder) {
  /** Explains the failure. Only a stack's execution has a history. */
  const command = local ? undefined : commandFor(['explain', execution]);
  return { at, error, happened, todo, command };
}

function chooseMetrics(table: DocumentedTable, account: string, days: readonly PageDay[]) {
  const hasValue = ({ name }: DocumentedColumn) => days.some(({ values }) => values?.[name] != null);
  return table.columns
    .filter((column) => column.adds_up && hasValue(column))
    .toSorted((first, second) => Number(second.name === 'spend') - Number(first.name === 'spend'))
    .slice(0, MAX_METRICS)
    .map(({ name, unit }) => ({
      name,
      /** `count`, `number`, a currency such as `EUR`, or `money` if the config names no currency. */
      unit: unit === 'money' ? (table.currencies[account] ?? unit) : unit,
    }));
}

/** The part of the change that a look-back must catch. */
const ENOUGH_CAUGHT = 0.99;

function describeCurve({ account, name, ledger }: ExportStatus, metrics: readonly PageMetric[]) {
  const points = metrics.flatMap(({ name }) => ledger.curve.filter(({ metric }) => metric === name));
  if (points.length === 0) return undefined;
  // At an early age, some days may not have been read.
  const isUnknown = ({ metric, days }: CurvePoint) =>
    days < MIN_CURVE_DAYS && points.some((point) => point.metric === metric && point.days >= MIN_CURVE_DAYS);
  const late = points.filter((point) => isUnknown(point) || (point.caught ?? 1) < ENOUGH_CAUGHT);
  const after = Math.max(0, ...late.map(({ age }) => age));
  const configured = findInConfig(account, name);
  const periods = configured ? periodsOf(configured) : [];
  const lengths = periods.flatMap((period) => /^last_(\d+)_days$/.exec(String(period))?.[1] ?? []);
  return {
    points,
    /** The days of the shortest look-back that would have caught nearly all changes of each metric. */
    look_back: Math.min(...points.map(({ age }) => age).filter((age) => age > after)),
    /** The days of the longest look-back in the config, if it has one. */
    configured: lengths.length > 0 ? Math.max(...lengths.map(Number)) : undefined,
  };
}

/** The periods of the export and its runs, such as `last_28_days`. */
function periodsOf({ period, runs }: ConfiguredExport): unknown[] {
  return [period, ...runs.map(({ request }) => request.period)].filter((text) => text !== undefined);
}

/** The place of a metric among the drawn ones. Others come last. */
function placeOf(metric: string, metrics: readonly PageMetric[]): number {
  const at = metrics.findIndex(({ name }) => name === metric);
  return at === -1 ? metrics.length : at;
}

/** What an export suffers from, the worst first. `older` days are no trouble. */
const SEVERITIES = ['failed', 'missing', 'unfinished', 'behind', 'held', 'fine'] as const;
type Severity = (typeof SEVERITIES)[number];

function severityOf({ failure, missing }: PageExport): Severity {
  if (failure !== undefined) return 'failed';
  if (missing === undefined) return 'fine';
  const { counts, runs } = missing;
  if (counts.missing > 0) return 'missing';
  if (runs.length > 0) return 'unfinished';
  if (counts.behind > 0) return 'behind';
  return counts.held > 0 ? 'held' : 'fine';
}

/** For sorting: an export that suffers more comes first. */
function compareSeverity(first: PageExport, second: PageExport): number {
  return SEVERITIES.indexOf(severityOf(first)) - SEVERITIES.indexOf(severityOf(second));
}
