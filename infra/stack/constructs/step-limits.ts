import { Duration, Size as StorageSize } from 'aws-cdk-lib';
import { LEASE_SECONDS, MAX_REPORTS } from '../../../functions/decisions/waits.ts';
import { CREATE_TIMEOUTS, TIMEOUTS } from '../../../functions/platform/connection.ts';
import type { Config } from '../config/config.ts';
import type { StepName } from '../config/memory.ts';

/** The time of requests that all time out. The other 30 s are for secrets and a cold start. */
function calls(requests: number, { total }: { readonly total: number } = TIMEOUTS): Duration {
  return Duration.seconds((total / 1000) * requests + 30);
}

/** Calls AWS only. */
const INTERNAL = Duration.seconds(30);

/** Lambda's maximum. */
const LONG = Duration.minutes(15);

/**
 * MB of /tmp that CurateReport needs: the file itself, as much again for the rows that DuckDB moves out of
 * memory, and the 512 MB that every function has. The default of 4 GiB needs 512 + 2 × 4,096 = 8,704 MB. Once
 * the file is read, months take its place: the old object and the new one.
 */
export function curateStorage({ max_curate_bytes }: Config): StorageSize {
  return StorageSize.mebibytes(512 + 2 * Math.ceil(max_curate_bytes / 1024 ** 2));
}

export const STEP_TIMEOUTS: Readonly<Record<StepName, Duration>> = {
  // With `only_missing`, it reads each manifest and the end of each month of the range.
  PlanExport: Duration.minutes(5),
  // Its call is over when its lease is, also by a clock that is 5 s ahead.
  GetToken: Duration.seconds(LEASE_SECONDS - 5),
  ListAdvertisers: LONG,
  // Once more without the advertisers that were refused.
  CreateReport: calls(2, CREATE_TIMEOUTS),
  CheckReport: calls(MAX_REPORTS),
  SaveReport: LONG,
  QueryPurchases: LONG,
  ExportList: LONG,
  CurateReport: LONG,
  PublishWindow: INTERNAL,
  PublishExport: INTERNAL,
  DescribeFailure: INTERNAL,
  // It reads two objects of each window of each account, ten accounts at once.
  CheckReady: Duration.minutes(5),
};

/**
 * Keeps the memory of a function that copies files low: about 130 MB. A young generation of 16 MiB takes
 * 14 MB more and saves no CPU. Less than 2 GiB for the old generation made V8 collect more often while bytes
 * stream; the copy itself fills only 20 MB of it. Both sizes are set, because Lambda sets neither once one of
 * them is set.
 */
export const COPY_ENVIRONMENT = {
  NODE_OPTIONS: '--max-semi-space-size=1 --max-old-space-size=2048',
  MALLOC_ARENA_MAX: '1',
};
