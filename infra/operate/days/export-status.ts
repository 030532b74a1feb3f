import pMap from 'p-map';
import { addDays, latestDate } from '../../../functions/workflow/request/dates.ts';
import { findLastRun } from '../executions/last-run.ts';
import type { Folder, ReadableBucket } from '../place/bucket.ts';
import { createNoRunsError } from '../place/has-runs.ts';
import { loadConfig } from '../place/load-config.ts';
import { lastPlatform } from '../place/target-platform.ts';
import { findAdvertiserGaps } from './advertiser-gaps.ts';
import { judgeMonths, type MonthFinality } from './final-days.ts';
import { findAllExports, PARALLEL_EXPORTS } from './find-exports.ts';
import { judgeExport } from './judge-export.ts';
import { readLedger } from './ledger-days.ts';
import { describeDaysOf } from './missing-days.ts';
import { adviseOnFailure, openFailure } from './open-failure.ts';
import { findUnfinished, runningOf } from './open-runs.ts';
import type { RecordedExport } from './read-export.ts';

/** An export, as its records and its running executions describe it. */
export type ExportStatus = Awaited<ReturnType<typeof readExportStatus>>['exports'][number];

/**
 * Reads all exports, or the exports of one name, in the order of their accounts and names. An export of the
 * config that never ran in a folder is read only if it is named. Exports whose request nobody knows, because
 * their records are damaged, are apart.
 *
 * @param name may have the account before it: `acme/daily`
 * @throws UsageError if there is no such export
 */
export async function readExportStatus(
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
  const running = local ? [] : await (await import('../executions/deployed.ts')).listRunning();
  const platform = local ? await lastPlatform(out) : {};
  const place = { folder, bucket, running, platform, now };
  const read = (recordedExport: RecordedExport) => readRecordsOf(recordedExport, place);
  const exports = await pMap(all, read, { concurrency: PARALLEL_EXPORTS });
  const config = loadConfig();
  const since = exports.flatMap(({ account, name, recordedExport, judged }) =>
    recordedExport.table && judged ? [[`${account}.${name}`, judged.start_date] as const] : [],
  );
  const readDays = await readLedger(bucket, new Map(since), config, now);
  const described = exports.map(({ judged, gaps, ...exported }) => {
    const ledger = readDays(exported.recordedExport.table?.table ?? '', exported.account);
    const isReport = exported.recordedExport.table?.kind === 'report';
    /** The months of a report with a table. */
    const months: readonly MonthFinality[] =
      judged && isReport ? judgeMonths(judged, ledger.days, exported, config, folder) : [];
    const records = exported.missing?.damaged ?? exported.recordedExport.records.damaged;
    /** The keys of objects that cannot be read, or tell what cannot be true. */
    const damaged: readonly string[] = [...records, ...(gaps?.damaged ?? []), ...ledger.damaged];
    return { ...exported, days: judged?.days, ledger, months, damaged };
  });
  return { exports: described, unreadable };
}

/** Where exports are looked for, and what of it is the same for all of them. */
interface StatusPlace {
  readonly folder: Folder;
  readonly bucket: ReadableBucket;
  /** The executions of a stack that run. */
  readonly running: Parameters<typeof runningOf>[1];
  /** The platform of a folder's last run. */
  readonly platform: Partial<Awaited<ReturnType<typeof lastPlatform>>>;
  readonly now: Date;
}

/** Reads an export without its ledger, which is read for all exports at once. */
async function readRecordsOf(
  recordedExport: RecordedExport,
  { folder, bucket, running, platform, now }: StatusPlace,
) {
  const { request, records } = recordedExport;
  const { account, name, kind } = request;
  const executions = runningOf(recordedExport, running);
  const judged = kind === 'purchases' ? undefined : await judgeExport(bucket, recordedExport, executions);
  const unfinished = findUnfinished(recordedExport, executions, folder, now);
  const end_date = latestDate(records.deliveries.map((delivery) => delivery.end_date));
  const failure = openFailure(recordedExport, judged, unfinished);
  const gaps = judged && (await findAdvertiserGaps(recordedExport, judged.days, bucket, folder));
  return {
    account,
    name,
    recordedExport,
    /** The executions of a stack that run, newest first. Of a folder, nobody knows. */
    running: executions as readonly string[],
    last: findLastRun(records, executions),
    /** The last day that a manifest covers. */
    newest_day: end_date === undefined ? undefined : addDays(end_date, -1),
    judged,
    /** As `missing` shows them. */
    missing: judged && describeDaysOf(recordedExport, judged, unfinished),
    /** Nothing for a request that names its advertisers. */
    newcomers: gaps?.newcomers,
    refused: gaps?.refused,
    gaps,
    /** The latest one that matters still. A local run has the advice of this machine. */
    failure: failure && folder.local ? adviseOnFailure(failure, account, platform, folder) : failure,
  };
}
