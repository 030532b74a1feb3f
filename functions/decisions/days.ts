import { type DateRange, dateIn } from '../workflow/request/dates.ts';
import type { ShownDays } from '../workflow/shown-days.ts';

/** A window that has a manifest. */
export interface Delivery extends DateRange {
  /** See requestHash. */
  readonly request_hash: string;
  /** When its report was created, in ISO 8601. */
  readonly created_at: string;
  /**
   * The window does not count as delivered any more. `replaced`: the manifest's object is gone, or another one is there ·
   * `failed`: a later run of the window failed
   */
  readonly lost?: 'replaced' | 'failed';
}

/**
 * The state of a day of an export. The first reason that holds counts.
 *
 * - `failed`: it was delivered, and a later run of its window failed
 * - `unannounced`: no manifest covers it, but the table shows it: a run ended between the two
 * - `other_request`: only another request delivered it · `absent`: none did
 * - `unfinished`: its report was created before the day was over
 * - `not_in_table`: it was delivered, and the table does not show that report or a newer one
 * - `held`: the table keeps rows that the newest report does not have
 */
export type DayState =
  | 'present'
  | 'failed'
  | 'unannounced'
  | 'other_request'
  | 'absent'
  | 'unfinished'
  | 'not_in_table'
  | 'held';

/** States in which an export of the day is missing. `not_in_table` needs `curate`, and `held` a decision. */
export const TO_EXPORT: ReadonlySet<DayState> = new Set([
  'failed',
  'unannounced',
  'other_request',
  'absent',
  'unfinished',
]);

export interface DayFacts {
  /** Of the export, whatever their requests. */
  readonly deliveries: readonly Delivery[];
  /** The days of the export's table; undefined if it has none, or if they are not known. */
  readonly shown?: ShownDays | undefined;
  /** Of the request. */
  readonly hash: string;
  /** If set, a day is unfinished if it was not over in this time zone when its report was created. */
  readonly timeZone?: string | undefined;
}

/** Judges days for `missing`, `status`, `plan`, `curate` and `only_missing`: none of them decides on its own. */
export function judgeDays(days: readonly string[], { timeZone, ...facts }: DayFacts): DayState[] {
  // A report covers many days, and the date of an instant takes 50 µs.
  const dates = new Map<string, string>();
  const isUnfinished = (day: string, created: string) => {
    if (timeZone === undefined) return false;
    const date = dates.get(created) ?? dateIn(timeZone, new Date(created));
    dates.set(created, date);
    return date <= day;
  };
  return days.map((day) => judgeDay(day, facts, isUnfinished));
}

function judgeDay(
  day: string,
  { deliveries, shown, hash }: DayFacts,
  isUnfinished: (day: string, created: string) => boolean,
): DayState {
  const covering = deliveries.filter((each) => covers(each, day));
  const own = covering.filter(({ request_hash }) => request_hash === hash);
  const entry = shown?.[day];
  const there = entry?.request_hash === hash ? entry : undefined;
  // The rows that are kept may be those of another request.
  const held = entry?.held?.request_hash === hash ? entry.held : undefined;
  const newest = own.flatMap(({ created_at, lost }) => (lost ? [] : [created_at])).reduce(later, '');
  if (newest === '') {
    if (own.some(({ lost }) => lost === 'failed')) return 'failed';
    if (there) return 'unannounced';
    return covering.length > own.length ? 'other_request' : 'absent';
  }
  if (isUnfinished(day, newest)) return 'unfinished';
  if (!shown) return 'present';
  // The report that the table has read last.
  const read = held ?? there;
  if (!read || Date.parse(read.created_at) < Date.parse(newest)) return 'not_in_table';
  return held ? 'held' : 'present';
}

/** A window without days, which a query for purchases may have, covers its start. */
export function covers({ start_date, end_date }: DateRange, day: string): boolean {
  return start_date <= day && (day < end_date || day === start_date);
}

function later(one: string, other: string): string {
  return one === '' || Date.parse(other) > Date.parse(one) ? other : one;
}
