import { type DateRange, wasOver } from '../workflow/request/dates.ts';
import {
  compareReports,
  isNewer,
  isSameReport,
  type ReportVersion,
  type ShownDay,
  type ShownDays,
} from '../workflow/shown-days.ts';

/** A report that a manifest names. It counts for each day of its window. */
export interface Delivery extends DateRange, ReportVersion {
  /** The reason why the table could not take the report. */
  readonly table_problem?: string | undefined;
  /** The object that the manifest names has another checksum. Such a delivery counts for nothing. */
  readonly lost?: true;
  /** The object that the manifest names was removed. The delivery still counts. */
  readonly removed?: true;
}

/** A failed export or window, or a run that did not finish: the reasons why days are missing. */
export interface Attempt extends DateRange {
  /** When it failed or began, in ISO 8601. */
  readonly at: string;
  /** The error of a failure report, and what happened. Absent for a run that did not finish. */
  readonly error?: string;
}

/**
 * The state of a day of an export. The first one that holds counts, in this order:
 *
 * - `missing`: no run has delivered it, or its report was created before the day was over
 * - `behind`: it is delivered, and the table does not show its newest report, or lacks a column of its
 *   request
 * - `held`: its newest report has no rows of it, and the table keeps the rows that it had
 * - `older`: it was delivered by the request as it was before the config changed
 * - `there`: everything else. It may have no rows
 *
 * `daysView` in infra/stack/catalog/queries.ts says the same in SQL.
 */
export const DAY_STATES = ['missing', 'behind', 'held', 'older', 'there'] as const;
export type DayState = (typeof DAY_STATES)[number];

/**
 * The reason why a day is missing. It is for the reader: no code decides by it.
 *
 * - `failed`: a run of it failed · `interrupted`: a run of it did not finish
 * - `partial`: it was exported before the day was over · `never`: no run is known that should export it
 */
export type MissingReason = 'never' | 'failed' | 'interrupted' | 'partial';

/** The facts that decide the states of an export's days. */
export interface DayEvidence<D extends Delivery = Delivery> {
  /** The reports of the export's name. An earlier form of the request may have asked for some of them. */
  readonly deliveries: readonly D[];
  /** Undefined if the export has no table, or if the table cannot be read. */
  readonly shown?: ShownDays | undefined;
  /** The hash of the configured request. */
  readonly hash: string;
  /**
   * The time zone in which the days of a report end. Absent for a list: a snapshot is made during its day.
   */
  readonly timeZone?: string | undefined;
  readonly attempts?: readonly Attempt[];
}

export interface JudgedDay<D extends Delivery = Delivery> {
  readonly day: string;
  readonly state: DayState;
  /** Present if the day is missing. */
  readonly reason?: MissingReason;
  /** The error of the failed run, or the reason why the table could not take the day. */
  readonly problem?: string | undefined;
  /** The newest report of the day. */
  readonly delivery?: D;
  readonly shown?: ShownDay;
}

/** Judges each day, for every command and every step. */
export function judgeDays<D extends Delivery>(
  days: readonly string[],
  evidence: DayEvidence<D>,
): JudgedDay<D>[] {
  const newestFirst = evidence.deliveries
    .filter(({ lost }) => !lost)
    .toSorted((first, second) => compareReports(second, first));
  return days.map((day) => judgeDay(day, newestFirst, evidence));
}

function judgeDay<D extends Delivery>(
  day: string,
  newestFirst: readonly D[],
  { shown: table, hash, timeZone, attempts = [] }: DayEvidence<D>,
): JudgedDay<D> {
  const delivery = newestFirst.find((candidate) => covers(candidate, day));
  const shown = table?.[day];
  const known = { day, ...(delivery && { delivery }), ...(shown && { shown }) };
  if (!delivery) return { ...known, state: 'missing', ...findReason(day, attempts) };
  if (!wasOver(day, delivery.created_at, timeZone)) return { ...known, state: 'missing', reason: 'partial' };
  if (table && isBehind(delivery, shown, hash)) {
    const lacks = shown?.lacks && `the table shows it without ${shown.lacks.join(', ')}`;
    return { ...known, state: 'behind', problem: delivery.table_problem ?? lacks };
  }
  if (shown && isHeldBy(delivery, shown)) return { ...known, state: 'held' };
  return { ...known, state: delivery.request_hash === hash ? 'there' : 'older' };
}

/** A window without days, which a query for purchases may have, covers its start. */
export function covers({ start_date, end_date }: DateRange, day: string): boolean {
  return start_date <= day && (day < end_date || day === start_date);
}

/**
 * The report that is held: the newest one of the day, which has no rows of it. The table keeps the rows of an
 * older one.
 */
function findHeld(shown: ShownDay): ShownDay['held'] {
  return shown.held && isNewer(shown.held, shown) ? shown.held : undefined;
}

/**
 * True if the report that is held is the newest one that was delivered. If no manifest names the held report,
 * the day does not count as held, because `rebuild` finds no report to accept.
 */
function isHeldBy(delivery: Delivery, shown: ShownDay): boolean {
  const held = findHeld(shown);
  return held !== undefined && isSameReport(held, delivery);
}

/**
 * True if the table has not read the newest report, or lacked a column of its request when it did. The table
 * does not need columns that the config has dropped.
 */
function isBehind(delivery: Delivery, entry: ShownDay | undefined, hash: string): boolean {
  if (!entry) return true;
  const newestRead = findHeld(entry) ?? entry;
  const age = compareReports(delivery, newestRead);
  const lacks = entry.lacks !== undefined && newestRead === entry && delivery.request_hash === hash;
  return age > 0 || (age === 0 && lacks);
}

function latestAttempt(attempts: readonly Attempt[]): Attempt | undefined {
  return attempts.toSorted((first, second) => Date.parse(second.at) - Date.parse(first.at)).at(0);
}

function findReason(
  day: string,
  attempts: readonly Attempt[],
): Pick<JudgedDay, 'reason' | 'problem'> & { readonly reason: MissingReason } {
  const latest = latestAttempt(attempts.filter((attempt) => covers(attempt, day)));
  if (!latest) return { reason: 'never' };
  return latest.error === undefined ? { reason: 'interrupted' } : { reason: 'failed', problem: latest.error };
}
