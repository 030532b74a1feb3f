import pMap from 'p-map';
import type { StoredFailure } from '../../functions/deliveries/records.ts';
import { addDays } from '../../functions/workflow/request/dates.ts';
import type { Folder, ReadableBucket } from './bucket.ts';
import { loadConfig } from './config.ts';
import { UsageError } from './errors.ts';
import { findLastRun, type LastRun } from './executions/last-run.ts';
import { adviseLocally } from './executions/outcome.ts';
import { type FoundExport, latestFailure, listExports, readExport } from './exports.ts';
import { judgeMonths, type MonthFinality } from './final-days.ts';
import { type AccountLedger, readLedger } from './ledger-days.ts';
import { groupMissing, type JudgedRange, judgeRange, type MissingDays } from './missing-days.ts';
import { shownReader } from './months.ts';
import { findNewcomers, type NewAdvertisers } from './newcomers.ts';
import { lastPlatform } from './platform.ts';
import { suggest } from './request.ts';

/** Exports that are read at the same time. Each reads ten manifests or months at once. */
const PARALLEL = 4;

/** An export, as its records and its running executions describe it. */
export interface ReadExport {
  readonly account: string;
  readonly name: string;
  /** The executions of a stack that run, newest first. Of a folder, nobody knows. */
  readonly running: readonly string[];
  readonly last: LastRun | undefined;
  /** The last day that a manifest covers. */
  readonly newest_day: string | undefined;
  /** Undefined if its request is not known. */
  readonly found: FoundExport | undefined;
  /** Absent for purchases, which have no days, or if the request is not known. */
  readonly days: JudgedRange['days'] | undefined;
  /** As `missing` shows them. */
  readonly missing: MissingDays | undefined;
  readonly ledger: AccountLedger;
  /** The months of a report with a table. */
  readonly months: readonly MonthFinality[];
  /** Undefined also for a request that names its advertisers. */
  readonly newcomers: NewAdvertisers | undefined;
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
  const configured = local && name === undefined ? [] : loadConfig().exports;
  const here = local ? await listExports(out) : [];
  if (local && name === undefined && here.length === 0)
    throw new UsageError([`no run has begun in --out ${out}: repeat its command, or name another folder`]);
  const running = local ? [] : await findRunning();
  const platform = local ? await lastPlatform(out) : {};
  const known = new Set(
    [...configured, ...running, ...here].map(({ account, name }) => `${account}/${name}`),
  );
  const names = [...known].filter((id) => name === undefined || id === name || id.endsWith(`/${name}`));
  if (name !== undefined && names.length === 0)
    throw new UsageError([
      `there is no export ${name}${suggest(name, name.includes('/') ? [...known] : [...known].map((id) => id.replace(/.*\//, '')))}`,
    ]);
  const read = async (id: string) => {
    const [account = '', name = ''] = id.split('/');
    const found = await readExport({ account, name }, { ...folder, account }, bucket, now);
    const end = found?.deliveries
      .map(({ end_date }) => end_date)
      .sort()
      .at(-1);
    const own = running.filter((one) => `${one.account}/${one.name}` === id);
    const executions = own.map(({ execution }) => execution);
    const { kind } = found?.request ?? {};
    const judged =
      found && kind !== 'purchases'
        ? await judgeRange(withoutRunning(found, executions), shownReader(bucket), {}, now)
        : undefined;
    const failure = found && latestFailure(found, kind === 'report' ? judged?.days : undefined);
    return {
      account,
      name,
      running: executions,
      last: found && findLastRun(found, executions),
      newest_day: end && addDays(end, -1),
      found,
      judged,
      missing: found && judged && groupMissing(found, judged),
      newcomers: found && judged && (await findNewcomers(found, judged.days, bucket, folder)),
      failure: failure && local ? adviseLocally(failure, { ...platform, account, out }) : failure,
    };
  };
  const exports = await pMap(names.sort(), read, { concurrency: PARALLEL });
  const config = loadConfig();
  const since = exports.flatMap(({ account, name, found, judged }) =>
    found?.table && judged ? [[`${account}.${name}`, judged.start_date] as const] : [],
  );
  const readDays = await readLedger(bucket, new Map(since), config, now);
  return exports.map(({ judged, ...each }) => {
    const { account, found } = each;
    const ledger = readDays(found?.table?.table ?? '', account);
    const { named } = found ?? {};
    const months =
      named && judged ? judgeMonths(judged, ledger.days, { named, config, account }, folder) : [];
    return { ...each, days: judged?.days, ledger, months };
  });
}

/** The executions that run, with their exports. One of a faulty request has none. */
async function findRunning() {
  const { listRunning } = await import('./executions/deployed.ts');
  return (await listRunning()).flatMap(({ execution, account, export: name }) =>
    account !== undefined && name !== undefined ? [{ execution, account, name }] : [],
  );
}

/** Leaves out the plans of executions that run: their days are no trouble yet. */
function withoutRunning(found: FoundExport, running: readonly string[]): FoundExport {
  return { ...found, plans: found.plans.filter(({ execution }) => !running.includes(execution)) };
}
