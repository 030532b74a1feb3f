import { earliest, wasOver } from '../workflow/request/dates.ts';
import { findMetric } from '../workflow/request/dictionary.ts';
import {
  counts,
  isNewer,
  isSameReport,
  type ReportId,
  type ReportVersion,
  type ShownDay,
} from '../workflow/shown-days.ts';
import type { TableSchema } from '../workflow/table.ts';
import type { DeliveredReport } from './ledger.ts';
import type { DayFacts, Sums } from './report.ts';

/** A report, and the table that it goes into. */
export interface TableReport extends DeliveredReport {
  readonly schema: TableSchema;
  readonly account: string;
  /** In ISO 8601. */
  readonly acceptedAt: AcceptedAt;
  /** Default: the table lost no day. */
  readonly lost?: LostReport | undefined;
  /** See `warn_below` of a request. */
  readonly warnBelow?: number | undefined;
  /** See ShownDay. Default: none. */
  readonly lacks?: readonly string[] | undefined;
}

/** @returns when somebody accepted that a report has no rows of the day; undefined if nobody did */
export type AcceptedAt = (day: string) => string | undefined;

/**
 * @returns the newest report of a day that the ledger has rows of, if the table lost it and its file is gone
 */
export type LostReport = (day: string) => ReportId | undefined;

/** The facts of a report about a day, with what is known besides its rows. */
interface KnownFacts extends DayFacts {
  readonly day_over: boolean;
  /** See {@link TableReport}. */
  readonly accepted_at: string | undefined;
}

/** The outcome of one day of a report. */
export interface MergedDay extends KnownFacts {
  /** `shown` · `kept`: the table has a newer report · `held`: no rows, so the table keeps its own */
  readonly outcome: 'shown' | 'kept' | 'held';
  /** The table showed other rows or sums before. A retry finds this in the object. */
  readonly restated: boolean;
  /** See ShownDay. */
  readonly fell?: ShownDay['fell'];
  /** The day's entry in the new object, if it changes. With the outcome `shown`, its rows change too. */
  readonly entry?: ShownDay;
}

/** A day of a report, before it is compared with what the object shows. */
interface ReportedDay {
  readonly facts: KnownFacts;
  /** See {@link counts}. */
  readonly counts: boolean;
  /** The day's entry in the object, if it shows this report. */
  readonly entry: Omit<ShownDay, 'restated' | 'fell' | 'held'>;
}

/**
 * Decides what becomes of a report's day, and how the object shows it then. A report counts if it has rows of
 * the day, or if somebody accepted that it has none. A day shows the newest report that counts, or else the
 * newest one. It is held if the newest report does not count, and another one is shown. So the order in which
 * reports and accepts arrive does not matter.
 *
 * @param before the sums of the rows that the object shows
 */
export function decideDay(
  dayFacts: DayFacts,
  shown: ShownDay | undefined,
  report: TableReport,
  before: Sums = {},
): MergedDay {
  const { version } = report;
  const reported = describeDay(dayFacts, report);
  const { facts, entry } = reported;
  const unchanged = { ...facts, restated: false };
  const lostReport = report.lost?.(facts.day);
  if (lostReport && !takesPlaceOf(reported, lostReport))
    return { ...unchanged, outcome: reported.counts ? 'kept' : 'held' };
  if (!shown) return { ...unchanged, outcome: 'shown', entry: { ...entry, restated: false } };
  if (isSameReport(version, shown)) return showAgain(reported, shown);
  if (isBetter(reported, shown)) return showInstead(reported, shown, report, before);
  if (!isNewer(version, shown)) return { ...unchanged, outcome: 'kept' };
  return { ...unchanged, outcome: 'held', ...holdReport(reported, shown) };
}

function describeDay(dayFacts: DayFacts, report: TableReport): ReportedDay {
  const { day, rows, sums } = dayFacts;
  const { version, window, lacks = [], copied_at, execution } = report;
  const { start_date, end_date } = window;
  const day_over = wasOver(day, version.created_at, report.time_zone);
  const accepted_at = rows > 0 ? undefined : report.acceptedAt(day);
  const ledger = { start_date, end_date, copied_at, execution, day_over, sums };
  return {
    facts: { ...dayFacts, day_over, accepted_at },
    counts: counts({ rows, accepted_at }),
    entry: { ...version, rows, accepted_at, ledger, lacks: lacks.length > 0 ? lacks : undefined },
  };
}

/** The rows of the newest report that counts are lost. Only a newer report that counts replaces them. */
function takesPlaceOf(reported: ReportedDay, lostReport: ReportId): boolean {
  return reported.counts && isNewer(reported.entry, lostReport);
}

/** True if the day should show the report instead of the one that it shows. */
function isBetter(reported: ReportedDay, shown: ShownDay): boolean {
  return reported.counts === counts(shown) ? isNewer(reported.entry, shown) : reported.counts;
}

/** The report is shown already. A retry may know of an accept, or of columns, that it lacked before. */
function showAgain({ facts, entry }: ReportedDay, shown: ShownDay): MergedDay {
  const { restated, fell, lacks = [] } = shown;
  const accepts = [shown.accepted_at, facts.accepted_at].filter((time) => time !== undefined);
  const accepted_at = earliest(accepts);
  const hasMoreColumns = lacks.some((name) => !entry.lacks?.includes(name));
  const isChanged = hasMoreColumns || accepted_at !== shown.accepted_at;
  const next = { ...shown, ...entry, accepted_at };
  return { ...facts, outcome: 'shown', restated, fell, ...(isChanged && { entry: next }) };
}

/** The report takes the place of another one. */
function showInstead(
  { facts, entry }: ReportedDay,
  shown: ShownDay,
  { version, warnBelow = 0 }: TableReport,
  before: Sums,
): MergedDay {
  const isSameRequest = shown.request_hash === version.request_hash;
  const earlier = { ...before, rows: String(shown.rows) };
  const fell = isSameRequest ? findFall(earlier, facts, warnBelow) : undefined;
  const restated = shown.rows !== facts.rows || hasOtherSums(before, facts.sums, shown);
  const held = heldBeside(version, shown);
  return { ...facts, outcome: 'shown', restated, fell, entry: { ...entry, restated, fell, held } };
}

/** @returns the newest report without rows, if it is newer than the one that the day shows from now on */
function heldBeside(version: ReportVersion, shown: ShownDay): ShownDay['held'] {
  const newestEmpty = counts(shown) ? shown.held : { ...pickVersion(shown), ledger: shown.ledger };
  return newestEmpty && isNewer(newestEmpty, version) ? newestEmpty : undefined;
}

function pickVersion({ report_id, created_at, request_hash }: ReportVersion): ReportVersion {
  return { report_id, created_at, request_hash };
}

/** The report is newer and does not count. The entry changes unless it holds a still newer one. */
function holdReport({ entry }: ReportedDay, shown: ShownDay): Pick<MergedDay, 'entry'> {
  if (shown.held && !isNewer(entry, shown.held)) return {};
  return { entry: { ...shown, held: { ...pickVersion(entry), ledger: entry.ledger } } };
}

/** A metric that the shown report does not have is NULL in all its rows, which says nothing. */
function hasOtherSums(before: Sums, sums: Sums, { ledger }: ShownDay): boolean {
  return Object.entries(before).some(([name, sum]) => {
    const isKnown = sum !== null || Object.hasOwn(ledger.sums, name);
    return isKnown && (sums[name] ?? null) !== sum;
  });
}

/** Compares only rows and metrics that add up. Another request may have other rows for good reasons. */
function findFall(before: Sums, { rows, sums }: DayFacts, share: number): ShownDay['fell'] {
  const values = Object.entries({ ...sums, rows: `${rows}` }).map(([metric, now]) => {
    return { metric, before: Number(before[metric]), now: Number(now) };
  });
  const addsUp = (metric: string) => metric === 'rows' || findMetric(metric)?.adds_up;
  const fallen = values.filter(({ metric, before, now }) => addsUp(metric) && now < share * before);
  return furthestFall(fallen);
}

/** The fall to the smallest share of what was there before. */
export function furthestFall<T extends NonNullable<ShownDay['fell']>>(falls: readonly T[]): T | undefined {
  const shareOf = ({ before, now }: T) => now / before;
  return falls.toSorted((first, second) => shareOf(first) - shareOf(second)).at(0);
}
