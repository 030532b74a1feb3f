import { type DateRange, dateIn } from '../workflow/request/dates.ts';
import type { ShownDays } from '../workflow/shown-days.ts';

/** A window whose manifest names an object that is still there. */
export interface Delivery extends DateRange {
  /** See requestHash. */
  readonly request_hash: string;
  /** When its report was created, in ISO 8601. */
  readonly created_at: string;
}

/**
 * What became of a day. The first reason that holds counts.
 *
 * - `unannounced`: no manifest covers it, but the table shows it: a run ended between the two
 * - `other_request`: only another request delivered it · `absent`: none did
 * - `unfinished`: its report was created before the day was over
 * - `not_in_table`: it was delivered, and the table does not show that report or a newer one
 * - `held`: the table keeps rows that the newest report does not have
 */
export type DayState =
  | 'present'
  | 'absent'
  | 'unannounced'
  | 'other_request'
  | 'unfinished'
  | 'not_in_table'
  | 'held';

/** States in which an export of the day is missing. `not_in_table` needs `curate`, and `held` a decision. */
export const TO_EXPORT: ReadonlySet<DayState> = new Set([
  'absent',
  'unannounced',
  'other_request',
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
export function judgeDays(days: readonly string[], facts: DayFacts): DayState[] {
  return days.map((day) => judgeDay(day, facts));
}

function judgeDay(day: string, { deliveries, shown, hash, timeZone }: DayFacts): DayState {
  const covering = deliveries.filter(({ start_date, end_date }) => start_date <= day && day < end_date);
  const own = covering.filter(({ request_hash }) => request_hash === hash);
  const there = shown?.[day]?.request_hash === hash ? shown[day] : undefined;
  const newest = own.map(({ created_at }) => created_at).reduce(later, '');
  if (newest === '') {
    if (there) return 'unannounced';
    return covering.length > 0 ? 'other_request' : 'absent';
  }
  if (timeZone !== undefined && dateIn(timeZone, new Date(newest)) <= day) return 'unfinished';
  if (!shown) return 'present';
  if (there?.held) return 'held';
  return there && Date.parse(there.created_at) >= Date.parse(newest) ? 'present' : 'not_in_table';
}

function later(one: string, other: string): string {
  return one === '' || Date.parse(other) > Date.parse(one) ? other : one;
}
