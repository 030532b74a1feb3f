import { LIMITS } from '../contract.ts';
import { type DateRange, daysBetween, isCalendarDate, isTimeZone } from './request/dates.ts';
import { isInstant } from './request/fields.ts';
import type { ExportRequest } from './request/request.ts';

/** These checks refuse values that would make a reader freeze or invent days. No record of ours has them. */

/**
 * Milliseconds that a time may lie ahead of the reader's clock: a month. A laptop's clock may be days slow.
 */
const MAX_AHEAD = 31 * 24 * 60 * 60 * 1000;

/** @param time in ISO 8601 */
export function isPossibleTime(time: string, now: Date): boolean {
  return isInstant(time) && Date.parse(time) <= latestTime(now).getTime();
}

export function latestTime(now: Date): Date {
  return new Date(now.getTime() + MAX_AHEAD);
}

/** Only a query for purchases may have no days, or more than a report. */
export function isPossibleRange(
  { start_date, end_date }: DateRange,
  kind: ExportRequest['kind'],
  maxDays = LIMITS.days,
): boolean {
  if (!isCalendarDate(start_date) || !isCalendarDate(end_date)) return false;
  const days = daysBetween(start_date, end_date);
  return kind === 'purchases' ? days >= 0 : days > 0 && days <= maxDays;
}

export function isPossibleRequest(request: ExportRequest): boolean {
  const timeZone = request.kind === 'report' ? request.time_zone : undefined;
  return (
    isPossibleRange(request, request.kind, Number.POSITIVE_INFINITY) &&
    (timeZone === undefined || isTimeZone(timeZone))
  );
}
