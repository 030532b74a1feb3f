import {
  covers,
  type DayState,
  type Delivery,
  judgeDays,
  NOT_DELIVERED,
} from '../../functions/deliveries/judge.ts';
import { requestOf } from '../../functions/deliveries/manifest.ts';
import type { StoredDelivery } from '../../functions/deliveries/records.ts';
import { type DateRange, dateIn, daysOf, groupDays } from '../../functions/workflow/request/dates.ts';
import { ALL } from '../../functions/workflow/request/report.ts';
import type { ExportRequest, ReportRequest } from '../../functions/workflow/request/request.ts';
import type { ReportVersion } from '../../functions/workflow/shown-days.ts';
import { UsageError } from './errors.ts';
import type { FoundExport } from './exports.ts';
import type { TableReader } from './months.ts';

/** Days that a person asked for, instead of all. */
export interface AskedDays {
  readonly from?: string;
  /** Exclusive. */
  readonly to?: string;
}

export interface Days extends DateRange {
  readonly days: number;
}

/** A range that was asked for, with the state of each day. */
export type JudgedRange = Awaited<ReturnType<typeof judgeRange>>;

/** Days in a row that need the same. */
export interface MissingRange extends Days {
  readonly reason: Exclude<DayState, 'present'>;
  /** The problem of the table, or what an older request left out, if it is known. */
  readonly problem?: string;
}

/** A day lacks one of these. `older_request` is no trouble: its day is shown. */
export const LACK_WORDS = {
  not_delivered: 'not delivered',
  not_in_table: 'not in the table',
  not_renewed: 'delivered, but not again by a newer export',
  held: 'held',
  older_request: 'of an older request',
};
export type Lack = keyof typeof LACK_WORDS;
export const LACKS = Object.keys(LACK_WORDS) as Lack[];

/** The days of an export that lack something, by what they lack. */
export type LackingDays = Readonly<Record<Lack, readonly MissingRange[]>>;

/** The document that `--json` prints. */
export type MissingDays = ReturnType<typeof groupMissing>;

/** The reason why a day lacks something. */
export const REASONS: Readonly<Record<MissingRange['reason'], string>> = {
  absent: 'not delivered',
  failed: 'not delivered: an export of it failed',
  unannounced: 'read by the table, not announced: no manifest of this request names its report',
  unfinished: 'exported before the day was over',
  other_request: 'exported by another request',
  older_request: 'shown as an older request exported it',
  not_in_table: 'exported, but not in the table',
  not_renewed: 'delivered, but a newer export failed, was interrupted or still runs',
  held: 'held: the newest report has no rows, and the table keeps its own',
};

/** @param options their range is for a report only @throws UsageError if there are no such days */
export async function judgeRange(found: FoundExport, readTable: TableReader, options: AskedDays, now: Date) {
  const { request, deliveries, plans, failures, hash, table } = found;
  const { name, kind } = request;
  if (kind === 'purchases') throw new UsageError([`${name} is a query for purchases, so it has no days`]);
  // A snapshot is made during its day.
  const timeZone = kind === 'report' ? (request.time_zone ?? 'UTC') : undefined;
  // A list shows one snapshot only, so no day between two of them is missing.
  const { start_date, end_date } =
    kind === 'report' ? findRange(found, options, now) : (deliveries.toSorted(byNewest)[0] ?? request);
  const days = daysOf({ start_date, end_date });
  const { shown, damaged = [] } = table ? await readTable(table, days) : {};
  const attempts = [...plans, ...failures];
  const states = judgeDays(days, { deliveries, attempts, shown, hash, timeZone });
  const own = deliveries
    .filter(({ lost, request_hash }) => !lost && request_hash === hash)
    .toSorted(byNewest);
  const problemOf = (day: string, state: DayState) => {
    const lost = damaged.find(({ month }) => day.startsWith(month));
    if (state === 'not_in_table' && lost) return `${lost.key} cannot be read`;
    const lacks = shown?.[day]?.lacks;
    if (state === 'not_in_table' && lacks) return `the table shows it without ${lacks.join(', ')}`;
    if (state === 'not_in_table') return own.find((each) => covers(each, day))?.manifest.table_problem;
    if (state !== 'older_request') return undefined;
    const older = deliveryOf(day, shown?.[day], deliveries);
    return older && describeAdded(request, requestOf(older.manifest));
  };
  const judged = days.map((day, at) => {
    const state = states[at] ?? 'absent';
    return {
      day,
      state,
      /** The rows of the table, if it has the day. */
      rows: shown?.[day]?.rows,
      /** The reason why the table could not take the day, or what its older request left out. */
      problem: problemOf(day, state),
    };
  });
  return {
    start_date,
    end_date,
    days: judged,
    /** The keys of objects of the table. */
    damaged: damaged.map(({ key }) => key),
  };
}

/** The delivery of the report that a table shows on a day. */
export function deliveryOf(
  day: string,
  shown: Pick<ReportVersion, 'report_id' | 'created_at'> | undefined,
  deliveries: readonly StoredDelivery[],
): StoredDelivery | undefined {
  const { report_id, created_at } = shown ?? {};
  return deliveries.find(
    (each) => each.manifest.report_id === report_id && each.created_at === created_at && covers(each, day),
  );
}

export function groupMissing(
  { request: { account, name }, damaged }: Pick<FoundExport, 'request' | 'damaged'>,
  { start_date, end_date, days, damaged: damagedMonths }: JudgedRange,
) {
  const alike = Map.groupBy(days, ({ state, problem }) => `${state} ${problem}`);
  const ranges = [...alike.values()].flatMap((each) =>
    groupDays(each.map(({ day }) => day)).map((range) => {
      const { state: reason = 'absent', problem } = each[0] ?? {};
      return { ...range, days: daysOf(range).length, reason, ...(problem !== undefined && { problem }) };
    }),
  );
  ranges.sort((one, other) => one.start_date.localeCompare(other.start_date));
  const forEach = <T>(find: (lack: Lack) => T) =>
    Object.fromEntries(LACKS.map((lack) => [lack, find(lack)])) as Record<Lack, T>;
  const lacking: LackingDays = forEach((lack) =>
    ranges.filter((each): each is MissingRange => lackOf(each.reason) === lack),
  );
  return {
    outcome: 'ok' as const,
    account,
    name,
    start_date,
    end_date,
    days: days.length,
    /** Days. */
    counts: forEach((lack) => lacking[lack].reduce((sum, { days }) => sum + days, 0)),
    ...lacking,
    /** The keys of objects that cannot be read, or tell what cannot be true. */
    damaged: [...damaged, ...damagedMonths],
  };
}

/** Names the metrics and advertisers that a request asks for and its older form did not. */
function describeAdded(request: ExportRequest, older: ExportRequest | undefined): string | undefined {
  if (request.kind !== 'report' || older?.kind !== 'report') return undefined;
  const metrics = request.metrics.filter((name) => !older.metrics.includes(name));
  const added = [...metrics, ...addedAdvertisers(request.advertiser_ids, older.advertiser_ids)];
  return added.length > 0 ? `without ${added.join(', ')}` : undefined;
}

type AdvertiserIds = ReportRequest['advertiser_ids'];

function addedAdvertisers(ids: AdvertiserIds, older: AdvertiserIds): string[] {
  if (older === ALL) return [];
  if (ids === ALL) return ['the other advertisers'];
  const before = new Set(older.map((id) => id.toLowerCase()));
  const added = ids.filter((id) => !before.has(id.toLowerCase())).length;
  return added > 0 ? [`${added} of the advertisers`] : [];
}

/** The one thing that a day in this state lacks. */
export function lackOf(state: DayState): Lack | undefined {
  if (state === 'present') return undefined;
  return NOT_DELIVERED.has(state) ? 'not_delivered' : (state as Lack);
}

/** The days that were asked for, or the known ones of the request, its windows and plans until yesterday. */
function findRange(
  { request, deliveries, plans, oldest, since }: FoundExport,
  { from, to }: AskedDays,
  now: Date,
): DateRange {
  const today = dateIn(request.kind === 'report' ? (request.time_zone ?? 'UTC') : 'UTC', now);
  const named = [request, ...deliveries, ...plans];
  const [first = ''] = [...named.map(({ start_date }) => start_date), oldest ?? request.start_date].sort();
  // A window may begin before the first day that is known.
  const known = first < since ? since : first;
  const last =
    named
      .map(({ end_date }) => end_date)
      .sort()
      .at(-1) ?? today;
  const start_date = from ?? known;
  const end_date = to ?? (start_date < last && last < today ? last : today);
  if (to !== undefined && end_date <= start_date)
    throw new UsageError([`--to ${end_date} is not after ${start_date}: give an earlier --from`]);
  if (from !== undefined && end_date < start_date)
    throw new UsageError([`--from ${start_date} is in the future`]);
  return { start_date, end_date };
}

export function byNewest(one: Delivery, other: Delivery): number {
  return Date.parse(other.created_at) - Date.parse(one.created_at);
}

/** The reason why days lack something, in words. */
export function describeReason({ reason, problem }: MissingRange): string {
  return [REASONS[reason], problem ?? []].flat().join(': ');
}
