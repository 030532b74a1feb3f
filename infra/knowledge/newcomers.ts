import { nameNewcomers } from '../../functions/decisions/newcomers.ts';
import { AdvertiserList } from '../../functions/deliveries/advertisers.ts';
import { covers } from '../../functions/deliveries/judge.ts';
import type { RecordStore } from '../../functions/deliveries/records.ts';
import { count } from '../../functions/workflow/count.ts';
import { parseJson } from '../../functions/workflow/json.ts';
import { daysOf, groupDays } from '../../functions/workflow/request/dates.ts';
import type { Folder } from './bucket.ts';
import type { FoundExport } from './exports.ts';
import { byNewest, type JudgedRange } from './missing-days.ts';
import { exportDaysCommand } from './next-command.ts';
import type { Remedy } from './remedies.ts';

/** Ids that the words name. */
const MAX_NAMED = 5;

/**
 * Finds the advertisers of the newest list that the reports of some days are without. If all days have the
 * same list, as is usual, none is read.
 */
export async function findNewcomers(
  { deliveries, hash, request }: FoundExport,
  days: JudgedRange['days'],
  store: Pick<RecordStore, 'getText'>,
  folder: Folder,
): Promise<(Remedy & { readonly advertiser_ids: readonly string[]; readonly words: string }) | undefined> {
  const own = deliveries.filter((each) => each.request_hash === hash && !each.lost).toSorted(byNewest);
  const byList = Map.groupBy(days, ({ day }) => {
    return own.find((each) => covers(each, day))?.manifest.advertisers?.key;
  });
  const [newest, ...older] = [...byList.keys()]
    .filter((key) => key !== undefined)
    .sort()
    .toReversed();
  if (newest === undefined || older.length === 0) return undefined;
  // Undefined if somebody removed it.
  const read = async (key: string) =>
    AdvertiserList.safeParse(parseJson((await store.getText(key)) ?? '')).data;
  const { advertiser_ids: ids = [], newcomers } = (await read(newest)) ?? {};
  const compared = older.map(async (key) => {
    const known = new Set((await read(key))?.advertiser_ids ?? ids);
    const lacked = ids.filter((id) => !known.has(id));
    return { lacked, days: lacked.length > 0 ? (byList.get(key) ?? []).map(({ day }) => day) : [] };
  });
  const lacking = await Promise.all(compared);
  const nameAll = (all: readonly string[]) =>
    nameNewcomers({ count: all.length, advertiser_ids: all.slice(0, MAX_NAMED) });
  const ranges = lacking
    .flatMap(({ lacked, days }) => groupDays(days).map((range) => ({ ...range, lacked })))
    .sort((one, other) => one.start_date.localeCompare(other.start_date));
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (!first || !last) return undefined;
  const advertiser_ids = [...new Set(lacking.flatMap(({ lacked }) => lacked))].sort();
  const isPart = ranges.some(({ lacked }) => lacked.length < advertiser_ids.length);
  // There may be days before the judged ones.
  const [start_date = ''] = [first.start_date, newcomers?.history?.start_date ?? '9999'].sort();
  // With --local, plan knows only the exports of the config.
  const cost = folder.local ? '' : ' (plan with the same options says what it costs)';
  const many = lacking.reduce((sum, each) => sum + each.days.length, 0);
  return {
    advertiser_ids,
    words: `${count(many, 'day')} ${many === 1 ? 'is' : 'are'} without ${isPart ? 'some of ' : ''}${nameAll(advertiser_ids)}`,
    aim: `To export them with the new advertisers${cost}:`,
    ranges: ranges.map(({ lacked, ...range }) => {
      return { ...range, days: daysOf(range).length, reason: `without ${nameAll(lacked)}` };
    }),
    command: exportDaysCommand(request, { start_date, end_date: last.end_date }, folder, false),
  };
}
