import { covers } from '../../functions/deliveries/judge.ts';
import { requestOf } from '../../functions/deliveries/manifest.ts';
import {
  type ExportRecords,
  listWindows,
  parsePlan,
  type RecordStore,
  readRecords,
} from '../../functions/deliveries/records.ts';
import {
  type ExportId,
  FAILURE,
  plannedRange,
  plansPrefix,
  windowOf,
} from '../../functions/workflow/keys.ts';
import { addDays, type DateRange, dateIn, daysOf } from '../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';

/** Days before the newest window, and before what was asked for, that are looked at too. */
const MARGIN_DAYS = 31;

/**
 * Reads the records since the month that is a month before the newest window, the request and what is still
 * asked for: their number does not grow with the history.
 *
 * @param request default: the last one that the records have
 * @param from an earlier day to begin with
 * @returns the records since a day. Earlier days are not known
 */
export async function readRecent(
  store: RecordStore,
  id: ExportId,
  now: Date,
  request?: ExportRequest,
  from = '9999',
): Promise<ExportRecords & { readonly since: string }> {
  const since = [await findRecent(store, id, now, request), from].sort()[0] ?? '';
  const records = await readRecords(store, id, now, { start_date: since, end_date: '9999' });
  const asked = request ?? lastAsked(records);
  const isEarlier = asked !== undefined && addDays(asked.start_date, -MARGIN_DAYS) < since;
  return isEarlier ? readRecent(store, id, now, asked, from) : { ...records, since };
}

/** @returns empty if nothing was exported yet */
async function findRecent(
  store: Pick<RecordStore, 'list' | 'getText'>,
  id: ExportId,
  now: Date,
  request: DateRange | undefined,
): Promise<string> {
  const plans = (await store.list(plansPrefix(id))).flatMap((key) => {
    const range = plannedRange(key);
    return range ? [{ key, ...range }] : [];
  });
  // Nearly all exports have a window of the last month, whatever the clock of their runs.
  const lately = addDays(dateIn('UTC', now), -MARGIN_DAYS);
  const [asked = lately] = [request, ...plans].flatMap((range) => range?.start_date ?? []).sort();
  const listed = windowsOf(await listWindows(store, id, { start_date: asked }));
  const windows = listed.length > 0 ? listed : windowsOf(await listWindows(store, id));
  const newest = windows.at(-1);
  const open = await Promise.all(
    plans.map(async (plan) => ((await isOpen(store, plan, now, windows)) ? [plan] : [])),
  );
  const [first] = [newest, request, ...open.flat()].flatMap((range) => range?.start_date ?? []).sort();
  // Whole months, because a month is judged by all of its days.
  return first === undefined ? '' : `${addDays(first, -MARGIN_DAYS).slice(0, 'YYYY-MM'.length)}-01`;
}

/** The windows that have a file or a manifest, by their start. */
function windowsOf(keys: readonly string[]): DateRange[] {
  return keys.filter((key) => !key.endsWith(`/${FAILURE}`)).flatMap((key) => windowOf(key) ?? []);
}

/**
 * A look-back that failed leaves its plan for ever. Later look-backs that passed its days settle it, by their
 * dates: judgeDays then looks closer. A plan of days that were long over when it was made stays open, because
 * a person asked for the days again.
 */
async function isOpen(
  store: Pick<RecordStore, 'getText'>,
  { key, ...plan }: DateRange & { readonly key: string },
  now: Date,
  windows: readonly DateRange[],
): Promise<boolean> {
  const isBeyond = ({ start_date, end_date }: DateRange) =>
    start_date < plan.end_date && end_date > plan.end_date;
  const isPassed = (day: string) => windows.some((window) => covers(window, day));
  if (!windows.some(isBeyond) || !daysOf(plan).every(isPassed)) return true;
  const { started_at = '' } = parsePlan((await store.getText(key)) ?? '', key, now) ?? {};
  return started_at > addDays(plan.end_date, MARGIN_DAYS);
}

/** The request of the newest plan or manifest. */
export function lastAsked({ plans, deliveries }: ExportRecords): ExportRequest | undefined {
  const delivered = deliveries.map(({ published_at: at, manifest }) => {
    return { at, request: requestOf(manifest) };
  });
  const asked = plans.map(({ started_at: at, request }) => ({ at, request }));
  return latest([...delivered, ...asked].filter(({ request }) => request))?.request;
}

/** The one with the last instant. */
export function latest<T extends { readonly at: string }>(all: readonly T[]): T | undefined {
  return all.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at)).at(-1);
}
