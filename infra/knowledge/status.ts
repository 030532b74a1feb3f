import pMap from 'p-map';
import { addDays } from '../../functions/workflow/request/dates.ts';
import { findAdvertiserGaps } from './advertisers.ts';
import type { Folder, ReadableBucket } from './bucket.ts';
import { loadConfig } from './config.ts';
import { findLastRun } from './executions/last-run.ts';
import { adviseLocally } from './executions/outcome.ts';
import { type FoundExport, findAllExports, latestFailure, PARALLEL } from './exports.ts';
import { judgeMonths, type MonthFinality } from './final-days.ts';
import { readLedger } from './ledger-days.ts';
import { createNoRunsError } from './local-runs.ts';
import { groupMissing, judgeRange } from './missing-days.ts';
import { tableReader } from './months.ts';
import { lastPlatform } from './platform.ts';

/** An export, as its records and its running executions describe it. */
export type ReadExport = Awaited<ReturnType<typeof readExports>>['exports'][number];

/**
 * Reads all exports, or the exports of one name, in the order of their accounts and names. An export of the
 * config that never ran in a folder is read only if it is named. Exports whose request nobody knows, because
 * their records are damaged, are apart.
 *
 * @param name may have the account before it: `acme/daily`
 * @throws UsageError if there is no such export
 */
export async function readExports(
  name: string | undefined,
  folder: Folder,
  bucket: ReadableBucket,
  now: Date,
) {
  const { local, out } = folder;
  const [wanted, account] = name?.split('/').reverse() ?? [];
  const { exports: all, unreadable } = await findAllExports(
    wanted,
    { ...folder, ...(account && { account }) },
    bucket,
    now,
  );
  if (local && all.length + unreadable.length === 0) throw createNoRunsError(out);
  const running = local ? [] : await (await import('./executions/deployed.ts')).listRunning();
  const platform = local ? await lastPlatform(out) : {};
  const read = async (found: FoundExport) => {
    const { account, name, kind } = found.request;
    const own = running.filter((one) => one.account === account && one.export === name);
    const executions = own.map(({ execution }) => execution);
    const judged =
      kind === 'purchases'
        ? undefined
        : await judgeRange(withoutRunning(found, executions), tableReader(bucket), {}, now);
    const gaps = judged && (await findAdvertiserGaps(found, judged.days, bucket, folder));
    const end = found.deliveries.map(({ end_date }) => end_date).sort();
    const failure = latestFailure(found, kind === 'report' ? judged?.days : undefined);
    return {
      account,
      name,
      found,
      /** The executions of a stack that run, newest first. Of a folder, nobody knows. */
      running: executions as readonly string[],
      last: findLastRun(found, executions),
      /** The last day that a manifest covers. */
      newest_day: end.length > 0 ? addDays(end.at(-1) ?? '', -1) : undefined,
      judged,
      /** As `missing` shows them, without the plans of executions that run. */
      missing: judged && groupMissing(found, judged),
      /** Nothing for a request that names its advertisers. */
      newcomers: gaps?.newcomers,
      refused: gaps?.refused,
      gaps,
      /** The latest one that is not settled. A local run has the advice of this machine. */
      failure: failure && local ? adviseLocally(failure, { ...platform, account, out }) : failure,
    };
  };
  const exports = await pMap(all, read, { concurrency: PARALLEL });
  const config = loadConfig();
  const since = exports.flatMap(({ account, name, found, judged }) =>
    found.table && judged ? [[`${account}.${name}`, judged.start_date] as const] : [],
  );
  const readDays = await readLedger(bucket, new Map(since), config, now);
  const described = exports.map(({ judged, gaps, ...each }) => {
    const ledger = readDays(each.found.table?.table ?? '', each.account);
    const isReport = each.found.table?.kind === 'report';
    /** The months of a report with a table. */
    const months: readonly MonthFinality[] =
      judged && isReport ? judgeMonths(judged, ledger.days, each, config, folder) : [];
    const records = each.missing?.damaged ?? each.found.damaged;
    /** The keys of objects that cannot be read, or tell what cannot be true. */
    const damaged: readonly string[] = [...records, ...(gaps?.damaged ?? []), ...ledger.damaged];
    return { ...each, days: judged?.days, ledger, months, damaged };
  });
  return { exports: described, unreadable };
}

/** Leaves out the plans of executions that run: their days are no trouble yet. */
function withoutRunning(found: FoundExport, running: readonly string[]): FoundExport {
  return { ...found, plans: found.plans.filter(({ execution }) => !running.includes(execution)) };
}
