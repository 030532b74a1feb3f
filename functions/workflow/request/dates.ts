import { LIMITS } from '../../contract.ts';

/** Calendar dates, YYYY-MM-DD, with an exclusive end of a range. */

export const DAY_MS = 24 * 60 * 60 * 1000;

/** `end_date` is exclusive. */
export interface DateRange {
  readonly start_date: string;
  readonly end_date: string;
}

/** All days that {@link isCalendarDate} accepts. */
export const ALL_DAYS: DateRange = { start_date: '1900-01-01', end_date: '2200-01-01' };

/** Accepts dates that exist, from 1900 to 2199. */
export function isCalendarDate(text: string): boolean {
  // Dates are compared as text, so each year needs four digits.
  if (!/^(19|2[01])\d{2}-\d{2}-\d{2}$/.test(text)) return false;
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text);
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The first of some dates, or of times in UTC; undefined of none. */
export function earliest(dates: readonly string[]): string | undefined {
  return dates.toSorted().at(0);
}

/** The last of some dates; undefined of none. */
export function latestDate(dates: readonly string[]): string | undefined {
  return dates.toSorted().at(-1);
}

export function daysBetween(start: string, end: string): number {
  return (Date.parse(end) - Date.parse(start)) / DAY_MS;
}

/** Accepts IANA time zones. JavaScript would also accept an offset such as +05:30. */
export function isTimeZone(text: string): boolean {
  try {
    return !/^[+-]/.test(text) && Boolean(new Intl.DateTimeFormat('en', { timeZone: text }));
  } catch {
    return false;
  }
}

export function daysOf({ start_date, end_date }: DateRange): string[] {
  const days: string[] = [];
  for (let day = start_date; day < end_date; day = addDays(day, 1)) days.push(day);
  return days;
}

/** True if two ranges have a day in common. */
export function overlap(first: DateRange, second: DateRange): boolean {
  return first.start_date < second.end_date && first.end_date > second.start_date;
}

/** @returns YYYY-MM */
export function monthOf(day: string): string {
  return day.slice(0, 'YYYY-MM'.length);
}

/** @param month YYYY-MM */
export function monthRange(month: string): DateRange {
  const start_date = `${month}-01`;
  return { start_date, end_date: `${monthOf(addDays(start_date, 31))}-01` };
}

/** A range for a person, such as `2026-10-01 to 2026-10-07`: its first and its last day. */
export function describeDays({ start_date, end_date }: DateRange): string {
  const last = addDays(end_date, -1);
  return last <= start_date ? start_date : `${start_date} to ${last}`;
}

/** Joins adjacent days to ranges. @param days in ascending order */
export function groupDays(days: readonly string[]): DateRange[] {
  const ranges: DateRange[] = [];
  for (const day of days) {
    const end_date = addDays(day, 1);
    const last = ranges.at(-1);
    if (last?.end_date === day) ranges[ranges.length - 1] = { start_date: last.start_date, end_date };
    else ranges.push({ start_date: day, end_date });
  }
  return ranges;
}

/**
 * @param timeZone of IANA; undefined for a snapshot, which is made during its day
 * @returns true if a day was over at an instant
 */
export function wasOver(day: string, instant: string, timeZone: string | undefined): boolean {
  return timeZone === undefined || day < dateIn(timeZone, new Date(instant));
}

/** @param timeZone of IANA */
export function dateIn(timeZone: string, instant: Date): string {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  const part = Object.fromEntries(parts.formatToParts(instant).map(({ type, value }) => [type, value]));
  return `${part.year}-${part.month}-${part.day}`;
}

/**
 * Splits a range into adjacent windows, the newest first. Each but the newest has as many days as a report
 * may have, and the newest has the rest.
 */
export function splitIntoWindows({ start_date, end_date }: DateRange): DateRange[] {
  const windows: DateRange[] = [];
  for (let start = start_date; start < end_date; ) {
    const limit = addDays(start, LIMITS.days);
    const end = limit < end_date ? limit : end_date;
    windows.unshift({ start_date: start, end_date: end });
    start = end;
  }
  return windows;
}

/** A schedule's input never changes, so it names a period instead of dates. */
const PERIOD = /^(?:yesterday|previous_month|month_to_date|last_([1-9]\d{0,2})_days)$/;

export function isPeriod(text: string): boolean {
  return PERIOD.test(text);
}

/**
 * Turns a period into dates. Today is never part of it, because the platform still counts today. On the first
 * of a month, `month_to_date` is therefore the whole month before.
 */
export function resolvePeriod(period: string, today: string): DateRange {
  const [, days] = period === 'yesterday' ? [period, '1'] : (PERIOD.exec(period) ?? []);
  if (days !== undefined) return { start_date: addDays(today, -Number(days)), end_date: today };
  const firstOfMonth = `${today.slice(0, 8)}01`;
  if (period === 'month_to_date' && today > firstOfMonth) {
    return { start_date: firstOfMonth, end_date: today };
  }
  return { start_date: `${addDays(firstOfMonth, -1).slice(0, 8)}01`, end_date: firstOfMonth };
}
