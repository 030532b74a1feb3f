import pMap from 'p-map';
import type { StoredFailure } from '../../functions/deliveries/records.ts';
import { addDays } from '../../functions/workflow/request/dates.ts';
import type { Folder, ReadableBucket } from './bucket.ts';
import { loadConfig } from './config.ts';
import { UsageError } from './errors.ts';
import type { ExecutionSummary } from './executions/executions.ts';
import { findExecutions, type KnownExecutions } from './executions/list.ts';
import { adviseLocally } from './executions/outcome.ts';
import { type FoundExport, latestFailure, listExports, readExport } from './exports.ts';
import { groupMissing, type JudgedRange, judgeRange, type MissingDays } from './missing-days.ts';
import { shownReader } from './months.ts';
import { lastPlatform } from './platform.ts';
import { latest } from './recent.ts';
import { suggest } from './request.ts';

/** Exports that are read at the same time. Each reads ten manifests or months at once. */
const PARALLEL = 4;

/** An export, as its objects and executions describe it. */
export interface ReadExport {
  readonly account: string;
  readonly name: string;
  /** Newest first: all of a folder; of a stack those that run, and the last one that has ended. */
  readonly executions: readonly ExecutionSummary[];
  /** The last day that a manifest covers. */
  readonly newest_day: string | undefined;
  /** Undefined if its request is not known. */
  readonly found: FoundExport | undefined;
  /** Absent for purchases, which have no days, or if the request is not known. */
  readonly days: JudgedRange['days'] | undefined;
  /** As `missing` shows them. */
  readonly missing: MissingDays | undefined;
  /** The latest one that later deliveries have not settled. A local run has the advice of this machine. */
  readonly failure: StoredFailure | undefined;
}

/**
 * Reads all exports, or those of one name, in the order of their accounts and names.
 *
 * @throws UsageError if there is no such export
 */
export async function readExports(
  name: string | undefined,
  folder: Folder,
  bucket: ReadableBucket,
  now: Date,
): Promise<ReadExport[]> {
  const { local, out } = folder;
  // An export of the config that never ran in the folder is shown only if it is asked for.
  const executions = await findExecutions(folder).catch((error): KnownExecutions => {
    if (!local || name === undefined) throw error;
    return { listed: [], find: async () => undefined };
  });
  const configured = local && name === undefined ? [] : loadConfig().exports;
  const platform = local ? await lastPlatform(out) : {};
  const known = new Set([
    ...configured.map((each) => `${each.account}/${each.name}`),
    ...executions.listed.flatMap((one) =>
      one.account && one.export ? [`${one.account}/${one.export}`] : [],
    ),
    ...(local ? (await listExports(out)).map(({ account, name }) => `${account}/${name}`) : []),
  ]);
  const names = [...known].filter((id) => name === undefined || id === name || id.endsWith(`/${name}`));
  if (name !== undefined && names.length === 0)
    throw new UsageError([
      `there is no export ${name}${suggest(name, name.includes('/') ? [...known] : [...known].map((id) => id.replace(/.*\//, '')))}`,
    ]);
  const read = async (id: string): Promise<ReadExport> => {
    const [account = '', name = ''] = id.split('/');
    const found = await readExport({ account, name }, { ...folder, account }, bucket, now);
    const end = found?.deliveries
      .map(({ end_date }) => end_date)
      .sort()
      .at(-1);
    const listed = executions.listed.filter((one) => `${one.account}/${one.export}` === id);
    const last = local ? undefined : await findLast(found, listed, executions);
    const { kind } = found?.request ?? {};
    const judged =
      found && kind !== 'purchases'
        ? await judgeRange(withoutRunning(found, listed), shownReader(bucket), {}, now)
        : undefined;
    const failure = found && latestFailure(found, kind === 'report' ? judged?.days : undefined);
    return {
      account,
      name,
      executions: last ? [...listed, last] : listed,
      newest_day: end && addDays(end, -1),
      found,
      days: judged?.days,
      missing: found && judged && groupMissing(found, judged),
      failure: failure && local ? adviseLocally(failure, { ...platform, account, out }) : failure,
    };
  };
  return pMap(names.sort(), read, { concurrency: PARALLEL });
}

/** Leaves out the plans of executions that run: their days are no trouble yet. */
function withoutRunning(found: FoundExport, executions: readonly ExecutionSummary[]): FoundExport {
  const running = executions.filter(({ outcome }) => outcome === 'running');
  const isOver = (plan: { readonly execution: string }) =>
    running.every(({ execution }) => execution !== plan.execution);
  return { ...found, plans: found.plans.filter(isOver) };
}

/** The last execution of a stack that has ended: the newest one that the records name. */
async function findLast(
  { deliveries = [], failures = [], plans = [] }: Partial<FoundExport> = {},
  running: readonly ExecutionSummary[],
  { find }: KnownExecutions,
): Promise<ExecutionSummary | undefined> {
  const delivered = deliveries.map(({ published_at: at, execution }) => ({ at, execution }));
  const asked = plans.map(({ started_at: at, execution }) => ({ at, execution }));
  const last = latest(
    [...delivered, ...failures, ...asked].filter((each) =>
      running.every(({ execution }) => execution !== each.execution),
    ),
  );
  return last && find(last.execution);
}
