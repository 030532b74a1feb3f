import { globSync } from 'node:fs';
import { join } from 'node:path';
import { daysBetween, daysOf } from '../../functions/workflow/request/dates.ts';
import type { Curated } from '../../functions/workflow/state-parts.ts';
import type { WindowState } from '../../functions/workflow/states.ts';
import type { HistoryEvent } from '../../infra/lab/local/step-functions/history.ts';
import type { ReportFile } from '../../infra/lab/sandbox/reporting/create-report-file.ts';
import type { Sandbox } from '../../infra/lab/sandbox/start-sandbox.ts';
import { checkExports } from '../../infra/operate/check/check-table.ts';
import type { Difference } from '../../infra/operate/check/sources.ts';
import { openToRead } from '../../infra/operate/place/bucket.ts';
import { RECONCILIATION } from '../../infra/stack/catalog/ledger-sql.ts';
import { type DaySums, millionths, queryDays, sumDays } from '../support/day-sums.ts';
import { withDuckDb } from '../support/ledger-rows.ts';
import type { Workflow } from '../support/workflow.ts';

/** A table as readers see it after the executions have ended. */
export interface Table {
  readonly name: string;
  readonly metrics: readonly string[];
  readonly days: ReadonlyMap<string, DaySums>;
  /** Reports that these executions asked CurateReport to write. */
  readonly curations: readonly Curation[];
  /** Between the table, the files, the manifests and the ledger. */
  readonly differences: readonly Difference[];
  /** The rows of the saved query `reconciliation`. */
  readonly compared: readonly ComparedSum[];
  /** The reports of totals that an execution brought, by the report of the rows beside them. */
  readonly totals: ReadonlyMap<string, readonly string[]>;
}

/** In millionths. */
interface ComparedSum {
  readonly date: string;
  readonly metric: string;
  readonly report_id: string;
  readonly values: readonly [rows: bigint, total: bigint, difference: bigint];
}

interface Curation {
  readonly start_date: string;
  readonly end_date: string;
  readonly report: { readonly id: string; readonly created_at: string };
  /** Absent if CurateReport was killed, failed or stopped: any of the days may show the report. */
  readonly done?: NonNullable<Curated['table']>;
  readonly problem?: string;
}

export async function readTable(
  { out, bucket, clock }: Workflow,
  { name, account, metrics }: { name: string; account: string; metrics: readonly string[] },
  histories: readonly (readonly HistoryEvent[])[],
): Promise<Table> {
  const place = { local: true, out, account } as const;
  const tables = join(out, bucket, 'tables');
  await using store = await openToRead(place);
  const days = await queryDays(join(tables, name), account, metrics);
  const from = [...days.keys()].sort()[0];
  const checked = from ? await checkExports(name, { ...place, from }, store, new Date(clock.now())) : [];
  return {
    name,
    metrics,
    days,
    curations: histories.flatMap(curationsIn),
    // The sandbox rounds a total apart from its rows. {@link wrongTotals} compares the two.
    differences: checked.flatMap(({ differences }) =>
      differences.filter(({ values }) => !('platform' in values)),
    ),
    compared: await queryCompared(`${tables}/ledger/${account}.${name}.*.parquet`),
    totals: findTotals(histories.flat()),
  };
}

async function queryCompared(files: string): Promise<ComparedSum[]> {
  if (globSync(files).length === 0) return [];
  const values = ['rows_sum', 'platform_total', 'difference'];
  return withDuckDb(async (connection) => {
    await connection.run(`CREATE VIEW ledger AS FROM read_parquet('${files}')`);
    const columns = ['date', 'metric', 'report_id', ...values.map((name) => `${name}::DECIMAL(38, 6)`)];
    const reader = await connection.runAndReadAll(
      `SELECT ${columns.map((column) => `(${column})::VARCHAR`)} FROM (${RECONCILIATION})`,
    );
    return reader.getRows().map((row) => {
      const [date = '', metric = '', report_id = '', ...sums] = row.map(String);
      return { date, metric, report_id, values: sums.map(millionths) as unknown as ComparedSum['values'] };
    });
  });
}

/** Pairs the reports that CurateReport is about to read: of rows, and of the totals beside them. */
function findTotals(events: readonly HistoryEvent[]): Table['totals'] {
  const read = events.flatMap(({ type, state, input }) => {
    const { execution, window, ready_id } = Object(input) as Partial<WindowState>;
    if (type !== 'StateEntered' || state !== 'CurateReport' || !window || !ready_id) return [];
    return [{ place: `${execution} ${window.start_date}`, isTotal: window.content === 'total', ready_id }];
  });
  const totals = Map.groupBy(
    read.filter(({ isTotal }) => isTotal),
    ({ place }) => place,
  );
  const rows = read.filter(({ isTotal }) => !isTotal);
  return new Map(
    rows.map(({ place, ready_id }) => [ready_id, (totals.get(place) ?? []).map((total) => total.ready_id)]),
  );
}

/** Each sum of rows and each total is of one version of its report's file, and their difference is exact. */
export function wrongTotals(
  sandbox: Sandbox,
  { name, metrics, compared, totals }: Table,
  emptied: boolean,
): string[] {
  return compared.flatMap(({ date, metric, report_id, values: [rows, total, difference] }) => {
    const of = (id: string) =>
      sumVersions(sandbox, id, metrics, emptied).map((days) => days.get(date)?.sums[metric] ?? 0n);
    const total_ids = totals.get(report_id);
    // An earlier phase has read it.
    if (total_ids === undefined) return [];
    const isRight =
      of(report_id).includes(rows) && total_ids.flatMap(of).includes(total) && difference === rows - total;
    return isRight ? [] : [`61: ${name} compares ${metric} of ${date}: ${rows} - ${total} = ${difference}`];
  });
}

function curationsIn(events: readonly HistoryEvent[]): Curation[] {
  const ofStep = events.filter(({ state }) => state === 'CurateReport');
  return ofStep.flatMap(({ type, window, input }, index) => {
    if (type !== 'StateEntered') return [];
    const state = input as WindowState;
    const report = state.reports.find(({ id }) => id === state.ready_id);
    if (!report || state.window.content === 'total') return [];
    const after = ofStep.slice(index + 1).filter((event) => event.window === window);
    // Each failed try has events of its own before the end of the state.
    const end = after.find(({ type }) => type !== 'StateFailed' && type !== 'StateRetried');
    const { curated } = ((end?.type === 'StateExited' && end.output) || {}) as Partial<WindowState>;
    const failed = after.slice(0, end && after.indexOf(end)).findLast(({ error }) => error !== undefined);
    const { table, table_problem: problem = failed && `${failed.error} ${failed.cause}` } = curated ?? {};
    const length = daysBetween(state.window.start_date, state.window.end_date);
    const done = table && table.days + table.kept + table.held === length ? table : undefined;
    return [{ ...state.window, report, ...(done && { done }), ...(problem && { problem }) }];
  });
}

/**
 * P7: each day shows the newest report of those that were written, or one as new whose writer was killed, or
 * an older one if those have no rows, and no other day is there. This knows the platform's files, and reads
 * the table by other code than CurateReport's. `check`, which shares its code, compares the table with what
 * is in the bucket: after a kill, they agree only when the next run has ended.
 *
 * @param earlier reports that other executions asked CurateReport to write before
 * @param healthy nothing went wrong, so every report was written
 * @param emptied a fault may have replaced files by `[]`
 */
export function wrongDays(
  sandbox: Sandbox,
  { name, metrics, days, curations, differences }: Table,
  { earlier, healthy, emptied }: { earlier: readonly Curation[]; healthy: boolean; emptied: boolean },
): string[] {
  const ids = [...earlier, ...curations].map(({ report }) => report.id);
  const versions = new Map(ids.map((id) => [id, sumVersions(sandbox, id, metrics, emptied)]));
  const all = [...earlier, ...curations].map((report) => ({ ...report, covers: new Set(daysOf(report)) }));
  const covered = new Set(all.flatMap(({ covers }) => [...covers]));
  const unknown = [...days.keys()].filter((day) => !covered.has(day));
  const wrong = [...covered].flatMap((day) => {
    const covering = all.filter(({ covers }) => covers.has(day)).sort(byAge);
    const newest = covering.findLastIndex(({ done }) => done);
    const shown = days.get(day);
    if (newest < 0 && !shown) return [];
    if (!shown) return [`P7: ${name} has no object of ${day}`];
    const none = { rows: 0, sums: Object.fromEntries(metrics.map((metric) => [metric, 0n])) };
    const offered = covering.map(({ report: { id } }) =>
      (versions.get(id) ?? []).map((sums) => sums.get(day) ?? none),
    );
    // A report without rows is held: the day shows an older one, unless there is none.
    const last = offered.findLastIndex((sums, at) => at <= newest && sums.every(({ rows }) => rows > 0));
    const possible = offered.slice(Math.max(0, last)).flat();
    if (possible.some((sums) => isEqual(sums, shown))) return [];
    return [`P7: ${name} shows ${textOf(shown)} on ${day} instead of ${possible.map(textOf).join(' or ')}`];
  });
  const notDone = curations.filter(({ done }) => healthy && !done);
  // An earlier run could not write the newest report of the day, and this one did not export the day.
  const isLeftBehind = (day: string) => {
    const newest = all
      .filter(({ covers }) => covers.has(day))
      .toSorted(byAge)
      .at(-1);
    return (
      newest !== undefined && !newest.done && !curations.some(({ report }) => report.id === newest.report.id)
    );
  };
  const isExplained = (difference: Difference) =>
    difference.metric === 'report' && daysOf(difference).every(isLeftBehind);
  const unexplained = healthy ? differences.filter((difference) => !isExplained(difference)) : [];
  return [
    ...unknown.map((day) => `P7: ${name} has ${day}, which no report covers`),
    ...wrong,
    ...unexplained.map((difference) => `P7: ${name}: check finds ${JSON.stringify(difference)}`),
    ...notDone.map(({ report, problem }) => `P7: ${name} was not written from ${report.id}: ${problem}`),
  ];
}

function byAge({ report: first }: Curation, { report: second }: Curation): number {
  const age = Date.parse(first.created_at) - Date.parse(second.created_at);
  return age !== 0 ? age : first.id < second.id ? -1 : 1;
}

/** The days of a report, in each version of its file that may have been served. */
function sumVersions(sandbox: Sandbox, id: string, metrics: readonly string[], emptied: boolean) {
  const report = sandbox.reports().find((candidate) => candidate.id === id);
  if (!report) return [];
  const versions = Array.from({ length: report.version + 1 }, (_, number) => report.file.withVersion(number));
  const sums = versions.map((file) => sumFile(sandbox, file, metrics));
  return emptied ? [...sums, new Map()] : sums;
}

/** The number of a report's rows of a day, in each version of its file that may have been served. */
export function rowsOf(
  sandbox: Sandbox,
  id: string,
  day: string,
  { metrics }: Pick<Table, 'metrics'>,
  emptied: boolean,
): number[] {
  return sumVersions(sandbox, id, metrics, emptied).map((days) => days.get(day)?.rows ?? 0);
}

/** By ETag, of a sandbox's files. The run without faults requests the same reports again. */
const summed = new WeakMap<Sandbox, Map<string, ReadonlyMap<string, DaySums>>>();

function sumFile(sandbox: Sandbox, file: ReportFile, metrics: readonly string[]) {
  const known = summed.get(sandbox) ?? new Map<string, ReadonlyMap<string, DaySums>>();
  const key = [file.etag, ...metrics].join();
  const sums = known.get(key) ?? sumDays(Buffer.concat([...file.read()]).toString(), metrics);
  summed.set(sandbox, known.set(key, sums));
  return sums;
}

function isEqual(first: DaySums, second: DaySums): boolean {
  return textOf(first) === textOf(second);
}

function textOf({ rows, sums }: DaySums): string {
  const metrics = Object.entries(sums).map(([metric, sum]) => `${metric} ${sum}`);
  return `${rows} rows ${metrics.join(' ')}`;
}
