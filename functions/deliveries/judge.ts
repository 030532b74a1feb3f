import { type DateRange, dateIn, daysBetween } from '../workflow/request/dates.ts';
import type { ShownDay, ShownDays } from '../workflow/shown-days.ts';

/** A window that has a manifest. */
export interface Delivery extends DateRange {
  /** See requestHash. */
  readonly request_hash: string;
  /** When its report was created, in ISO 8601. */
  readonly created_at: string;
  readonly published_at: string;
  readonly execution: string;
  /** The range of the export that delivered the window. Default: the window. */
  readonly asked?: DateRange;
  /** The object has a checksum that is not the manifest's, or is unknown. Only if no version is named. */
  readonly lost?: true;
}

/** An export or a window that failed, or the plan of an export that no run of its range has delivered. */
export interface Attempt extends DateRange {
  /** When it failed, or since when its days are wanted, in ISO 8601. */
  readonly at: string;
  readonly execution: string;
  /** A failure report names no request, and counts for each. */
  readonly request_hash?: string;
  /** It has a failure report. Otherwise it is a plan. */
  readonly failed?: true;
}

/**
 * The state of a day of an export. The first reason that holds counts. Own is what has the request's hash.
 *
 * - `unannounced`: the table has read an own report, and the day is not delivered, or by older reports only
 * - `other_request`: not delivered, and a manifest of another request covers it; the day has no entry
 * - `older_request`: the same, but the table has an entry of the day; or it is delivered, and the table has
 *   read a newer report of another form of the request
 * - `failed`: no manifest delivers it, but a failure report, of whatever request, covers it
 * - `absent`: no manifest delivers it, and no failure report covers it
 * - `unfinished`: it is delivered, and its newest report was created before the day was over
 * - `not_in_table`: it is delivered, and the table has not read its newest report, or lacked a column of the
 *   request when it did
 * - `held`: the table's entry names an own report as held
 * - `not_renewed`: an own plan still asks for it
 * - `present`: it is delivered, and in the table if there is one
 */
export type DayState =
  | 'unannounced'
  | 'other_request'
  | 'older_request'
  | 'failed'
  | 'absent'
  | 'unfinished'
  | 'not_in_table'
  | 'held'
  | 'not_renewed'
  | 'present';

/** States of days that count as not delivered. */
export const NOT_DELIVERED: ReadonlySet<DayState> = new Set([
  'unannounced',
  'other_request',
  'failed',
  'absent',
  'unfinished',
]);

/** States that only an export mends. `not_in_table` may need the file read again, and `held` a decision. */
export const TO_EXPORT: ReadonlySet<DayState> = new Set([...NOT_DELIVERED, 'older_request', 'not_renewed']);

export interface DayFacts {
  /** All deliveries of the export, whatever their requests. */
  readonly deliveries: readonly Delivery[];
  /** All attempts of the export. Default: none. */
  readonly attempts?: readonly Attempt[];
  /** The days of the export's table; undefined if it has none, or if they are not known. */
  readonly shown?: ShownDays | undefined;
  /** The hash of the request. */
  readonly hash: string;
  /** If set, a day is unfinished if it was not over in this time zone when its report was created. */
  readonly timeZone?: string | undefined;
}

/**
 * Judges days for every command and step, except a list's for CheckReady. Only the deliveries that the caller
 * looks at count: for CheckReady those of reports since its run was due, for `only_missing` those since an
 * instant.
 */
export function judgeDays(days: readonly string[], facts: DayFacts): DayState[] {
  const { deliveries, shown, hash, timeZone } = facts;
  const attempts = (facts.attempts ?? []).filter(({ request_hash = hash }) => request_hash === hash);
  const own = deliveries.filter((each) => each.request_hash === hash);
  // The table keeps the rows of a file that was replaced.
  const delivers = (each: Delivery, day: string) =>
    covers(each, day) && (!each.lost || readOf(shown?.[day], hash)?.created_at === each.created_at);
  const newest = new Map(days.map((day) => [day, newestOf(own.filter((each) => delivers(each, day)))]));
  const plans = attempts.filter(({ failed }) => !failed);
  const unmet = findUnmet(newest, own, plans);
  const hasFailed = (day: string) => attempts.some((each) => each.failed && covers(each, day));
  const isOthers = (day: string) =>
    deliveries.some((each) => each.request_hash !== hash && covers(each, day));
  return days.map((day) => {
    const delivery = newest.get(day);
    const read = readOf(shown?.[day], hash);
    if (read && (!delivery || isNewer(read, delivery))) return 'unannounced';
    if (!delivery && isOthers(day)) return shown?.[day] ? 'older_request' : 'other_request';
    if (!delivery) return hasFailed(day) ? 'failed' : 'absent';
    if (timeZone && dateIn(timeZone, new Date(delivery.created_at)) <= day) return 'unfinished';
    if (!read && isShownNewer(shown?.[day], delivery)) return 'older_request';
    if (shown && (!read || isNewer(delivery, read) || lacksColumns(shown[day], hash))) return 'not_in_table';
    if (shown?.[day]?.held?.request_hash === hash) return 'held';
    return unmet.has(day) ? 'not_renewed' : 'present';
  });
}

/** A window without days, which a query for purchases may have, covers its start. */
export function covers({ start_date, end_date }: DateRange, day: string): boolean {
  return start_date <= day && (day < end_date || day === start_date);
}

/** The own report that the table has read last. If it is held, the rows may come from another request. */
function readOf(entry: ShownDay | undefined, hash: string): Pick<Delivery, 'created_at'> | undefined {
  if (entry?.held?.request_hash === hash) return entry.held;
  return entry?.request_hash === hash ? entry : undefined;
}

/** The table has read a newer report of the day, of whatever request. */
function isShownNewer(entry: ShownDay | undefined, delivery: Delivery): boolean {
  return [entry, entry?.held].some((read) => read !== undefined && isNewer(read, delivery));
}

/** The day shows an own report, without a column of its request. */
function lacksColumns(entry: ShownDay | undefined, hash: string): boolean {
  return entry?.request_hash === hash && entry.lacks !== undefined;
}

function newestOf(deliveries: readonly Delivery[]): Delivery | undefined {
  return deliveries.toSorted((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at))[0];
}

function isNewer(one: Pick<Delivery, 'created_at'>, other: Pick<Delivery, 'created_at'>): boolean {
  return Date.parse(one.created_at) > Date.parse(other.created_at);
}

/**
 * Finds the days that a plan still asks for. A failure names days that `only_missing` left out too, so it
 * asks for nothing. A rolling look-back never exports the same range again, so a plan is settled once each
 * day of it that is judged has a file that was not replaced, and a later run, as long and going beyond it,
 * delivered a window.
 *
 * @param newest the newest delivery of each day
 */
function findUnmet(
  newest: ReadonlyMap<string, Delivery | undefined>,
  own: readonly Delivery[],
  plans: readonly Attempt[],
): ReadonlySet<string> {
  const unmet = new Set<string>();
  for (const { at, execution, ...range } of plans) {
    const later = own.filter(({ published_at }) => Date.parse(published_at) > Date.parse(at));
    const days = [...newest.keys()].filter((day) => covers(range, day));
    const isComplete = days.map((day) => newest.get(day)).every((each) => each && !each.lost);
    const isBeyond = ({ asked, ...window }: Delivery) => {
      const { start_date, end_date } = asked ?? window;
      const isLong = daysBetween(start_date, end_date) >= daysBetween(range.start_date, range.end_date);
      return isLong && start_date < range.end_date && end_date > range.end_date;
    };
    if (isComplete && later.some(isBeyond)) continue;
    // An export may fail after it has delivered some of its windows.
    const cures = [...later, ...own.filter((each) => each.execution === execution)];
    for (const day of days) if (!cures.some((each) => covers(each, day))) unmet.add(day);
  }
  return unmet;
}
