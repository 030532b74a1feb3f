import type { DayState } from '../../functions/deliveries/judge.ts';
import type { StoredFailure } from '../../functions/deliveries/records.ts';
import { dateIn, daysBetween } from '../../functions/workflow/request/dates.ts';
import type { DocumentedColumn, DocumentedTable } from '../catalog/table-words.ts';
import { withColumns } from '../config/exports.ts';
import { type Folder, openToRead } from './bucket.ts';
import { loadConfig } from './config.ts';
import { readDeployment } from './deployment.ts';
import type { FoundExport } from './exports.ts';
import type { ClosedMonth, CurvePoint, LedgerDay } from './ledger-days.ts';
import { LACKS } from './missing-days.ts';
import { explainCommand, queryCommand } from './next-command.ts';
import { findRemedies, type Remedy } from './remedies.ts';
import { type ReadExport, readExports } from './status.ts';
import { documentTables } from './tables.ts';

/** Days whose sums are read: as many bars as a chart has room for. */
export const RECENT_DAYS = 100;

/** Charts side by side. */
const MAX_METRICS = 3;

/** Its texts are as the platform, the config and the manifests have them: the drawing escapes them. */
export interface PageContents {
  /** ISO 8601, UTC. */
  readonly made_at: string;
  /** The folder of local runs, or the stack with its Region and AWS account. */
  readonly place: string;
  /** The command that lists the numbers. */
  readonly query: string;
  /** Worst first: failed, then those whose days lack something, then the others by name. */
  readonly exports: readonly PageExport[];
}

export interface PageExport
  extends Pick<ReadExport, 'account' | 'name' | 'running' | 'last' | 'newest_day' | 'missing' | 'months'> {
  readonly kind: 'report' | 'list' | 'purchases';
  readonly remedies: readonly Remedy[];
  /** The days that `missing` judges, by date. */
  readonly days: readonly PageDay[];
  /** They add up over days, and some day has a value: `spend` first, if there is one. */
  readonly metrics: readonly PageMetric[];
  /** Absent if no day is final that was read early on. */
  readonly curve?: PageCurve | undefined;
  readonly closed?: readonly ClosedMonth[];
  /** When the newest manifest was written, in ISO 8601. */
  readonly delivered_at?: string | undefined;
  /** Whole days from the end of the newest day to `made_at`, in the export's time zone. */
  readonly days_behind?: number | undefined;
  readonly failure?:
    | (Pick<StoredFailure, 'at' | 'error' | 'happened' | 'todo'> & {
        /** Of a stack: the command that explains it. */
        readonly command: string | undefined;
      })
    | undefined;
  /** The dictionary of its table. */
  readonly table?: DocumentedTable | undefined;
}

/** A day that the table shows has what the ledger says about it. */
export interface PageDay extends Partial<LedgerDay> {
  /** YYYY-MM-DD */
  readonly date: string;
  /** `empty`: delivered, and without rows. */
  readonly state: DayState | 'empty';
  /** The table's rows of the day. Absent if the table does not have it. */
  readonly rows?: number | undefined;
}

export interface PageCurve {
  /** Of the metrics that the page shows. */
  readonly points: readonly CurvePoint[];
  /** The days of the shortest look-back that would have caught nearly all changes of each metric. */
  readonly look_back: number;
  /** Those of the longest look-back in the config, if it has one. */
  readonly configured?: number | undefined;
}

export interface PageMetric {
  readonly name: string;
  /** `count`, `number`, a currency such as `EUR`, or `money` if the config names no currency. */
  readonly unit: string | undefined;
}

/** @throws UsageError if the folder has no runs, or no stack was deployed from here; TableProblem */
export async function readPage(folder: Folder, now: Date): Promise<PageContents> {
  await using bucket = await openToRead(folder);
  const read = await readExports(undefined, folder, bucket, now);
  const tables = describeTables(read.flatMap(({ found }) => found ?? []));
  const exports = read.map((each) => {
    const page = describeExport(each, folder, now);
    const table = tables.get(each.found?.table?.table ?? '');
    return table ? addSums(page, table, each.ledger) : page;
  });
  return {
    made_at: now.toISOString(),
    place: folder.local ? folder.out : (await readDeployment()).place,
    query: queryCommand('days', folder),
    exports: exports.toSorted((one, other) => severityOf(one) - severityOf(other)),
  };
}

function describeExport(each: ReadExport, folder: Folder, now: Date): PageExport {
  const { account, name, running, last, newest_day, found, missing, months, newcomers, failure } = each;
  const { deliveries = [], request } = found ?? {};
  const published = deliveries.map(({ published_at }) => published_at).sort();
  const today = dateIn((request?.kind === 'report' && request.time_zone) || 'UTC', now);
  const days = each.days?.map(({ day, state, rows }): PageDay => {
    return { date: day, state: state === 'present' && rows === 0 ? 'empty' : state, rows };
  });
  return {
    account,
    name,
    kind: request?.kind ?? 'report',
    missing,
    months,
    remedies: [found && missing ? findRemedies(missing, found.named, folder) : [], newcomers ?? []].flat(),
    days: days ?? [],
    metrics: [],
    running,
    last,
    newest_day,
    delivered_at: published.at(-1),
    days_behind: newest_day === undefined ? undefined : Math.max(0, daysBetween(newest_day, today) - 1),
    failure: failure && {
      ...failure,
      command: folder.local ? undefined : explainCommand(failure.execution),
    },
  };
}

/** The tables of the exports, by name. */
function describeTables(exports: readonly FoundExport[]): Map<string, DocumentedTable> {
  const configured = loadConfig().exports;
  const entries = exports.flatMap(({ input, table }) =>
    table ? [withColumns(Object(input), configured)] : [],
  );
  return new Map(documentTables(entries).map((table) => [table.table, table]));
}

function addSums(page: PageExport, table: DocumentedTable, ledger: ReadExport['ledger']): PageExport {
  const { account } = page;
  const days = page.days.map((day) => ({ ...day, ...ledger.days.get(day.date) }));
  const hasValue = ({ name }: DocumentedColumn) => days.some(({ values }) => values?.[name] != null);
  const metrics = table.columns
    .filter((column) => column.adds_up && hasValue(column))
    .toSorted((one, other) => Number(other.name === 'spend') - Number(one.name === 'spend'))
    .slice(0, MAX_METRICS)
    .map(({ name, unit }) => ({ name, unit: unit === 'money' ? (table.currencies[account] ?? unit) : unit }));
  const curve = ledger.curve.filter(({ metric }) => metrics.some(({ name }) => name === metric));
  return { ...page, table, days, metrics, curve: describeCurve(curve, page), closed: ledger.closed };
}

/** The part of the change that a look-back must catch. */
const ENOUGH_CAUGHT = 0.99;

function describeCurve(points: readonly CurvePoint[], { account, name }: PageExport): PageCurve | undefined {
  if (points.length === 0) return undefined;
  const late = points.filter(({ caught }) => caught !== null && caught < ENOUGH_CAUGHT);
  const after = Math.max(0, ...late.map(({ age }) => age));
  const entry = loadConfig().exports.find((each) => each.account === account && each.name === name);
  const periods = [entry?.period, ...(entry?.runs ?? []).map(({ request }) => request.period)];
  const lengths = periods.flatMap((period) => /^last_(\d+)_days$/.exec(String(period))?.[1] ?? []);
  return {
    points,
    look_back: Math.min(...points.map(({ age }) => age).filter((age) => age > after)),
    configured: lengths.length > 0 ? Math.max(...lengths.map(Number)) : undefined,
  };
}

/** A failure is worst, then come the days that lack something. */
function severityOf({ failure, missing }: PageExport): number {
  return [failure, ...LACKS.map((lack) => missing?.counts[lack]), true].findIndex(Boolean);
}
