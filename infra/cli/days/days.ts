import { platformName } from '../../../functions/decisions/platform-request.ts';
import { type RequestTarget, requestHash } from '../../../functions/decisions/request-hash.ts';
import { covers, type DayState, judgeDays, TO_EXPORT } from '../../../functions/deliveries/judge.ts';
import {
  type ExportRecords,
  type RecordStore,
  readRecords,
  type StoredFailure,
} from '../../../functions/deliveries/records.ts';
import { type DateRange, describeDays } from '../../../functions/workflow/request/dates.ts';
import { hintAt } from '../../../functions/workflow/request/issues.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { tableOf } from '../../../functions/workflow/table.ts';
import { requestOf } from '../../config/exports.ts';
import type { Folder } from '../bucket.ts';
import type { NamedExport } from '../next-command.ts';
import { loadConfig } from '../options.ts';
import {
  findReplaced,
  type KeptRequest,
  lastPlatform,
  readKeptRequests,
  targetOf,
} from '../requests/kept-requests.ts';
import { checkOneAccount, checkRequest } from '../requests/request.ts';
import type { AccountTable, ShownReader } from './months.ts';

/** An export of cdk.json or of a local run, and its records. */
export interface FoundExport extends ExportRecords {
  readonly request: ExportRequest;
  /** As it was given: see {@link requestOf}. */
  readonly input: unknown;
  readonly target: RequestTarget;
  /** Of the request. */
  readonly hash: string;
  /** The part of its table that it fills; undefined if it has none. */
  readonly table: AccountTable | undefined;
  readonly named: NamedExport;
}

/** An export of one name, and where to look for it. */
export interface ExportPlace extends Folder {
  readonly account?: string;
  /** The kept requests of the folder, for a command that has read them. */
  readonly kept?: readonly KeptRequest[];
}

/**
 * Finds an export: in cdk.json, or else among the requests that local runs have kept.
 *
 * @param range of the records; default: all
 * @returns undefined if there is none
 * @throws UsageError if several accounts have it
 */
export async function findExport(
  name: string,
  place: ExportPlace,
  bucket: RecordStore,
  now: Date,
  range?: DateRange,
): Promise<FoundExport | undefined> {
  const found = await findRequests(name, place, now);
  checkOneAccount(
    name,
    found.map(({ request }) => request.account),
  );
  return found[0] && readExport(found[0], place, bucket, range);
}

/** The export of each account that has it. */
export async function findExports(
  name: string,
  place: ExportPlace,
  bucket: RecordStore,
  now: Date,
): Promise<FoundExport[]> {
  const found = await findRequests(name, place, now);
  return Promise.all(found.map((each) => readExport(each, place, bucket)));
}

type FoundRequest = Pick<FoundExport, 'request' | 'input' | 'target' | 'table' | 'named'>;

async function findRequests(name: string, place: ExportPlace, now: Date): Promise<FoundRequest[]> {
  const { account, local, out } = place;
  const all = place.kept ?? (local ? await readKeptRequests(out, now) : []);
  const isWanted = (each: { readonly name: string; readonly account: string }) =>
    each.name === name && (account === undefined || each.account === account);
  const { exports, base_url, revision, tables } = loadConfig();
  const configured = exports.filter(isWanted);
  const kept = all.filter(({ request }) => isWanted(request));
  const accounts = new Set(
    kept.length > 0 ? kept.map(({ request }) => request.account) : configured.map((entry) => entry.account),
  );
  return [...accounts].map((account) => {
    const entry = configured.find((each) => each.account === account);
    const latest = kept.find(({ request }) => request.account === account);
    const input = entry ? requestOf(entry) : latest?.input;
    const { request } = checkRequest(input, now);
    const { kind } = request;
    const table = tables ? tableOf(request) : undefined;
    const target = local
      ? targetOf(lastPlatform(all, request))
      : { platform: platformName(base_url), revision };
    const named = {
      name,
      account: place.account,
      input: entry ? undefined : latest?.file,
      options: latest?.options,
      takesOver: findReplaced(out, { request, platform: target.platform }, all).length > 0,
    };
    const filled = table === undefined || kind === 'purchases' ? undefined : { table, account, kind };
    return { request, input, target, table: filled, named };
  });
}

async function readExport(
  found: FoundRequest,
  { local }: ExportPlace,
  bucket: RecordStore,
  range?: DateRange,
): Promise<FoundExport> {
  const records = await readRecords(bucket, found.request, local ? undefined : range);
  return { ...found, ...records, hash: requestHash(found.request, found.target) };
}

/** The message if {@link findExport} finds none. */
export function describeUnknown(name: string, { account, local, out }: ExportPlace): string {
  const nameOf = (one: { readonly name: string; readonly account?: string | undefined }) =>
    account === undefined ? one.name : `${one.account}/${one.name}`;
  const wanted = nameOf({ name, account });
  const hint = hintAt(wanted, loadConfig().exports.map(nameOf));
  return `there is no export ${wanted}${hint} in cdk.json${local ? `, and no run of it in ${out}` : ''}`;
}

/** Judges days of an export by its deliveries and by what its table shows. */
export async function judgeExport(
  { deliveries, plans, failures, hash, table }: FoundExport,
  days: readonly string[],
  readShown: ShownReader,
  timeZone?: string,
): Promise<DayState[]> {
  const shown = table && (await readShown(table, days));
  return judgeDays(days, { deliveries, attempts: [...plans, ...failures], shown, hash, timeZone });
}

/** The last ranges of days, in words. @param max how many are named */
export function describeRanges(ranges: readonly DateRange[], max: number): string {
  const more = ranges.length > max ? `${ranges.length - max} earlier ranges and ` : '';
  return more + ranges.slice(-max).map(describeDays).join(', ');
}

/** The exports that have objects, as `account/name`. */
export function namesIn(keys: readonly string[]): Set<string> {
  const found = keys.map((key) => /^exports\/account=([^/]+)\/export=([^/]+)\//.exec(key));
  return new Set(found.flatMap((parts) => (parts ? [`${parts[1]}/${parts[2]}`] : [])));
}

/**
 * The latest failure that is not settled: a day of its range still has to be exported. A list or a query for purchases settles it with
 * its next delivery.
 *
 * @param days of a report, judged
 */
export function latestFailure(
  { failures, deliveries }: ExportRecords,
  days?: readonly { readonly day: string; readonly state: DayState }[],
): StoredFailure | undefined {
  const isOpen = (failure: StoredFailure) =>
    days
      ? days.some(({ day, state }) => TO_EXPORT.has(state) && covers(failure, day))
      : deliveries.every(({ published_at }) => Date.parse(published_at) < Date.parse(failure.at));
  return failures
    .filter(isOpen)
    .toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))
    .at(-1);
}
