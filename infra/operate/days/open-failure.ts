import { covers } from '../../../functions/days/judge.ts';
import type { StoredFailure } from '../../../functions/days/records.ts';
import { adviseLocally } from '../executions/outcome.ts';
import type { Folder } from '../place/bucket.ts';
import type { PlatformOptions } from '../place/target-platform.ts';
import type { JudgedRange } from './judge-export.ts';
import { latest } from './latest.ts';
import type { UnfinishedRun } from './open-runs.ts';
import type { RecordedExport } from './read-export.ts';

/** The latest failure of a day that is missing, or of a run that did not finish. */
export function openFailure(
  { records: { failures, deliveries } }: RecordedExport,
  judged: JudgedRange | undefined,
  unfinished: readonly UnfinishedRun[],
): StoredFailure | undefined {
  const missing = judged?.days.filter(({ state }) => state === 'missing') ?? [];
  const isOpen = (failure: StoredFailure) =>
    unfinished.some(({ execution }) => execution === failure.execution) ||
    missing.some(({ day }) => covers(failure, day)) ||
    // A query for purchases has no days: its next delivery settles a failure.
    (judged === undefined &&
      deliveries.every(({ manifest }) => Date.parse(manifest.published_at) < Date.parse(failure.at)));
  return latest(failures.filter(isOpen));
}

/** The failure of a run of this machine, with what to do on it. */
export function adviseOnFailure(
  failure: StoredFailure,
  account: string,
  platform: PlatformOptions,
  { out }: Folder,
): StoredFailure {
  return adviseLocally(failure, { ...platform, account, out });
}
