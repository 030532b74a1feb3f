import type { Run } from '../../../functions/days/runs.ts';
import { parseCron } from '../../../functions/decisions/cron.ts';
import { FAILURE, MANIFEST, windowOf } from '../../../functions/workflow/keys.ts';
import {
  addDays,
  type DateRange,
  dateIn,
  daysBetween,
  earliest,
  latestDate,
} from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { ConfiguredExport } from '../../stack/config/exports.ts';
import { checkRequest } from '../place/check-request.ts';
import { UsageError } from '../place/errors.ts';

/** Days that are looked at, unless the longest run of the export has more. */
const LOOK_DAYS = 62;

/** Days that a person asked for, instead of the ones that are looked at. */
export interface AskedDays {
  readonly from?: string;
  /** Exclusive. */
  readonly to?: string;
  /** Every day since the first one that was delivered. */
  readonly all?: true;
}

/** The newest run of an export that was due, and the last day that any of its runs was due to bring. */
export interface DueRun extends DateRange {
  readonly at: Date;
}

/** @returns undefined if no run of the export has a schedule, or if none was due yet */
export function readDue(entry: ConfiguredExport, now: Date): DueRun | undefined {
  const starts = entry.runs.flatMap(({ request, schedule }) => {
    if (schedule?.enabled !== true) return [];
    const at = lastStart(schedule.expression, schedule.time_zone ?? 'UTC', now);
    if (!at) return [];
    const { start_date, end_date } = checkRequest(
      { ...request, scheduled_at: at.toISOString() },
      now,
    ).request;
    return [{ at, start_date, end_date }];
  });
  const newest = starts.toSorted((first, second) => second.at.getTime() - first.at.getTime())[0];
  const end_date = latestDate(starts.map((start) => start.end_date));
  return newest && { ...newest, end_date: end_date ?? newest.end_date };
}

/** A schedule with rate(…) may start at any time. */
function lastStart(expression: string, timeZone: string, now: Date): Date | undefined {
  return expression.startsWith('cron') ? parseCron(expression, timeZone).previousRuns(1, now)[0] : now;
}

interface Looking {
  /** Its dates are those of the longest run. */
  readonly request: ExportRequest;
  readonly due: DueRun | undefined;
  /** The keys of the export's windows, in their order. */
  readonly keys: readonly string[];
  readonly runs: readonly Run[];
  readonly asked: AskedDays;
  readonly now: Date;
}

/**
 * The days of a report that `missing`, `status` and the page look at: the last 62, or as many as its longest
 * run has, from the first day that was delivered to the last one that a run was due to bring. Without a
 * schedule, they end with the last day that was asked for. Today is never one of them.
 *
 * @throws UsageError if a person asked for no day
 */
export function daysToLookAt({ request, due, keys, runs, asked, now }: Looking): DateRange {
  const today = dateIn(request.kind === 'report' ? (request.time_zone ?? 'UTC') : 'UTC', now);
  const lastAsked = latestDate([
    ...keys.flatMap((key) => windowOf(key)?.end_date ?? []),
    ...runs.map((run) => run.request.end_date),
  ]);
  const wanted = due?.end_date ?? lastAsked ?? request.end_date;
  const end_date =
    asked.to ?? (asked.from !== undefined && wanted <= asked.from ? today : earlier(wanted, today));
  const start_date = asked.from ?? findStart({ request, due, keys, runs, asked, now }, end_date);
  if (asked.to !== undefined && end_date <= start_date)
    throw new UsageError([`--to ${end_date} is not after ${start_date}: give an earlier --from`]);
  if (asked.from !== undefined && end_date < start_date)
    throw new UsageError([`--from ${start_date} is in the future`]);
  return { start_date, end_date };
}

function findStart({ request, due, keys, runs, asked }: Looking, end_date: string): string {
  const delivered = keys.find((key) => key.endsWith(`/${MANIFEST}`));
  const failed = keys.findLast((key) => key.endsWith(`/${FAILURE}`));
  const newestRun = due?.start_date ?? runs.at(-1)?.request.start_date ?? windowOf(failed ?? '')?.start_date;
  const first = windowOf(delivered ?? '')?.start_date ?? newestRun ?? request.start_date;
  const days = Math.max(LOOK_DAYS, daysBetween(request.start_date, request.end_date));
  const bound = addDays(end_date, -days);
  const start_date = first < bound && !asked.all ? bound : first;
  return earlier(start_date, end_date);
}

function earlier(first: string, second: string): string {
  return earliest([first, second]) ?? first;
}
