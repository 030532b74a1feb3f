import type { DeliveredReport } from '../tables/ledger.ts';
import type { DayFacts } from '../tables/report.ts';
import type { DateRange } from '../workflow/request/dates.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import { counts, isNewer, isSameReport, type ReportId, type ShownDay } from '../workflow/shown-days.ts';
import { tableOf } from '../workflow/table.ts';
import type { ExportRecords, StoredDelivery } from './records.ts';

/** An export whose table can be written again, and what its runs have delivered. */
export interface TableExport {
  readonly request: ExportRequest;
  /** The hash of the configured request. */
  readonly hash: string;
  readonly records: ExportRecords;
}

/**
 * Consecutive days whose rows no file has: the file of the report that they showed last was removed, or
 * another run replaced it.
 */
export interface DaysWithoutFile extends DateRange {
  readonly account: string;
  /** The table shows that report. False also if its month cannot be read. */
  readonly in_table: boolean;
}

/** A report without rows of some days. The ledger has all of it, so it needs no file. */
export interface EmptyReport extends Omit<DeliveredReport, 'time_zone'> {
  readonly days: readonly DayFacts[];
}

/** Facts about an export's days that only the ledger has. */
export interface LedgerKnowledge {
  /** Days that cannot be written again as they are, or as they were last. */
  readonly without_file: readonly DaysWithoutFile[];
  /** The newest report that counts, which has rows, of each day that neither the table nor a file has. */
  readonly lost: ReadonlyMap<string, ReportId>;
  /** When somebody accepted that a report has no rows of a day; undefined if nobody did. */
  readonly acceptedAt: (day: string, report: ReportId) => string | undefined;
  /** The rows that a report has of a day; undefined if the table never took it. */
  readonly rowsOf: (day: string, report: ReportId) => number | undefined;
  /** Reports without rows and without a file that days show, or that are held. */
  readonly empty: readonly EmptyReport[];
}

/**
 * The request of a delivery that may be written again: the configured one, or an earlier form of it. A name
 * is one request, so each delivery under it is one of both. Undefined if that form had no table.
 */
export function requestToWrite(
  { request, hash }: TableExport,
  { request_hash, manifest }: StoredDelivery,
): ExportRequest | undefined {
  if (request_hash === hash) return request;
  const earlier = manifest.export_request;
  const table = tableOf(request);
  return table !== undefined && earlier.kind === request.kind && tableOf(earlier) === table
    ? earlier
    : undefined;
}

/** Facts about a day that a report itself does not have. */
interface DayKnowledge {
  /** See {@link LedgerKnowledge}. */
  readonly lost: ReportId | undefined;
  readonly accepted_at: string | undefined;
  /** The report has rows of the day, or nobody knows yet. */
  readonly mayHaveRows: boolean;
}

/** True if the table has not read a report of a day, or did not have all of its columns then. */
export function isLacking(
  report: ReportId,
  shown: ShownDay | undefined,
  { lost, accepted_at, mayHaveRows }: DayKnowledge,
): boolean {
  if (lost && !isNewer(report, lost)) return false;
  if (!shown) return true;
  const isShown = isSameReport(report, shown);
  const isAccepted = accepted_at !== undefined;
  // A report that counts takes the place of an older one, and of any that does not count, whatever is held.
  const mayCount = mayHaveRows || isAccepted;
  if (mayCount && !isShown && (isNewer(report, shown) || !counts(shown))) return true;
  const newestRead = shown.held ?? shown;
  if (isNewer(report, newestRead)) return true;
  // The table has read it. The day changes if the table has more of its columns now, or by a new accept.
  if (isShown) return shown.lacks !== undefined || (isAccepted && !counts(shown));
  return isAccepted && isSameReport(report, newestRead);
}
