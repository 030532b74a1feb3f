import { parseAdvertisers } from '../../../functions/days/advertisers.ts';
import { listWindows, oldestDay, type RecordStore } from '../../../functions/days/records.ts';
import { nameNewcomers, nameRefused } from '../../../functions/decisions/newcomers.ts';
import { count } from '../../../functions/workflow/count.ts';
import { daysOf, groupDays } from '../../../functions/workflow/request/dates.ts';
import type { Advertisers, CountedAdvertisers } from '../../../functions/workflow/state-parts.ts';
import type { Folder } from '../place/bucket.ts';
import type { JudgedRange } from './judge-export.ts';
import { exportDaysCommand } from './next-command.ts';
import type { RecordedExport } from './read-export.ts';
import type { Remedy } from './remedies.ts';

/** Ids that the words name. */
const MAX_NAMED = 5;

/** Advertisers that the reports of some days are without, and the command that exports these days again. */
export interface LackedAdvertisers extends Remedy {
  readonly advertiser_ids: readonly string[];
  readonly words: string;
}

/** Advertisers that the newest reports of an export's days are without. */
export interface AdvertiserGaps {
  /** The newest list that a manifest names has them, and the lists of other reports have not. */
  readonly newcomers?: LackedAdvertisers;
  /** The platform refused to report about them. */
  readonly refused?: LackedAdvertisers;
  /** The keys of lists that cannot be read. */
  readonly damaged: readonly string[];
}

/** Days whose reports lack the same advertisers. */
interface Gap {
  readonly lacked: CountedAdvertisers;
  readonly days: readonly string[];
}

/** Finds the advertisers that the newest reports of these days are without. */
export async function findAdvertiserGaps(
  { request }: RecordedExport,
  days: JudgedRange['days'],
  store: Pick<RecordStore, 'list' | 'getText'>,
  folder: Folder,
): Promise<AdvertiserGaps> {
  const reports = days.map(({ day, delivery }) => {
    return { day, advertisers: delivery?.manifest.advertisers };
  });
  const { gaps, damaged } = await findNewcomers(reports, store);
  // There may be days before the judged ones.
  const oldest = gaps.length > 0 ? oldestDay(await listWindows(store, request)) : undefined;
  // With --local, plan knows only the exports of the config.
  const cost = folder.local ? '' : ' (plan with the same options says what it costs)';
  const describe = (some: readonly Gap[], name: typeof nameNewcomers, aim: string, first?: string) => {
    const described = describeGaps(some, name);
    if (!described) return undefined;
    const { start_date, end_date, ...words } = described;
    const range = { start_date: first !== undefined && first < start_date ? first : start_date, end_date };
    return { ...words, aim: `${aim}${cost}:`, command: exportDaysCommand(request, range, folder, false) };
  };
  const newcomers = describe(gaps, nameNewcomers, 'To export them with the new advertisers', oldest);
  const aim = 'To export them again, once the platform grants these advertisers';
  const refused = describe(findRefused(reports), nameRefused, aim);
  return { ...(newcomers && { newcomers }), ...(refused && { refused }), damaged };
}

type DayReport = { readonly day: string; readonly advertisers: Advertisers | undefined };

/** If all days have the same list, as is usual, none is read. */
async function findNewcomers(
  reports: readonly DayReport[],
  store: Pick<RecordStore, 'getText'>,
): Promise<{ readonly gaps: readonly Gap[]; readonly damaged: readonly string[] }> {
  const byList = Map.groupBy(reports, ({ advertisers }) => advertisers?.key);
  const keys = [...byList.keys()].filter((key) => key !== undefined).sort();
  if (keys.length < 2) return { gaps: [], damaged: [] };
  const read = async (key: string) => {
    const text = await store.getText(key);
    return { key, ids: parseAdvertisers(text), isDamaged: text !== undefined && !parseAdvertisers(text) };
  };
  const lists = await Promise.all(keys.map(read));
  const newest = lists.findLast(({ ids }) => ids)?.ids ?? [];
  const gaps = lists.flatMap(({ key, ids = newest }) => {
    const known = new Set(ids);
    const lacked = newest.filter((id) => !known.has(id));
    const days = (byList.get(key) ?? []).map(({ day }) => day);
    return lacked.length > 0 ? [{ lacked: { count: lacked.length, advertiser_ids: lacked }, days }] : [];
  });
  return { gaps, damaged: lists.filter(({ isDamaged }) => isDamaged).map(({ key }) => key) };
}

function findRefused(reports: readonly DayReport[]): Gap[] {
  const refusing = reports.flatMap(({ day, advertisers: { refused } = { key: '', count: 0 } }) =>
    refused ? [{ day, refused }] : [],
  );
  const alike = Map.groupBy(refusing, ({ refused }) => JSON.stringify(refused));
  return [...alike.values()].flatMap((sameAdvertisers) => {
    const [first] = sameAdvertisers;
    return first ? [{ lacked: first.refused, days: sameAdvertisers.map(({ day }) => day) }] : [];
  });
}

/** @returns undefined if there is no gap, or else its words, and the days from the first to the last one */
function describeGaps(gaps: readonly Gap[], name: (lacked: CountedAdvertisers) => string) {
  const nameFirst = ({ advertiser_ids, ...counted }: CountedAdvertisers) =>
    name({ ...counted, advertiser_ids: advertiser_ids.slice(0, MAX_NAMED) });
  const ranges = gaps
    .flatMap(({ lacked, days }) => groupDays(days).map((range) => ({ ...range, lacked })))
    .sort((first, second) => first.start_date.localeCompare(second.start_date));
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (!first || !last) return undefined;
  const advertiser_ids = [...new Set(gaps.flatMap(({ lacked }) => lacked.advertiser_ids))].sort();
  // A manifest names the first refused advertisers only.
  const named = Math.max(advertiser_ids.length, ...gaps.map(({ lacked }) => lacked.count));
  const isPart = gaps.some(({ lacked }) => lacked.count < named);
  const days = gaps.reduce((sum, gap) => sum + gap.days.length, 0);
  const without = `${isPart ? 'some of ' : ''}${nameFirst({ count: named, advertiser_ids })}`;
  return {
    start_date: first.start_date,
    end_date: last.end_date,
    advertiser_ids,
    words: `${count(days, 'day')} ${days === 1 ? 'is' : 'are'} without ${without}`,
    ranges: ranges.map(({ lacked, ...range }) => {
      return { ...range, days: daysOf(range).length, reason: `without ${nameFirst(lacked)}` };
    }),
  };
}
