import { type Run, readRuns } from '../../../functions/days/runs.ts';
import { openToRead } from '../place/bucket.ts';
import { listExports } from './find-exports.ts';

/**
 * The runs of a folder that an execution began, one for each account, and did not finish. An execution that
 * ended before PlanExport wrote its run has none.
 */
export async function findLocalRuns(execution: string, out: string): Promise<Run[]> {
  await using bucket = await openToRead({ local: true, out }, true);
  const now = new Date();
  const all = await Promise.all((await listExports(out)).map((id) => readRuns(bucket, id, now)));
  return all
    .flatMap(({ records }) => records)
    .filter((run) => run.execution === execution || run.parent === execution);
}
