import { covers } from '../../../functions/days/judge.ts';
import type { StoredFailure } from '../../../functions/days/records.ts';
import type { JudgedRange, UnfinishedRun } from './days.ts';
import { latest } from './latest.ts';
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
