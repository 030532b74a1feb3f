import pMap from 'p-map';
import { platformName, type RequestTarget, requestHash } from '../../functions/decisions/request-hash.ts';
import { covers, type DayState, TO_EXPORT } from '../../functions/deliveries/judge.ts';
import type {
  ExportRecords,
  RecordStore,
  StoredDelivery,
  StoredFailure,
} from '../../functions/deliveries/records.ts';
import { EXPORTS_PREFIX } from '../../functions/workflow/keys.ts';
import { type DateRange, describeDays } from '../../functions/workflow/request/dates.ts';
import { hintAt } from '../../functions/workflow/request/issues.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import { tableOf } from '../../functions/workflow/table.ts';
import { requestOf } from '../config/exports.ts';
import type { Folder } from './bucket.ts';
import { loadConfig } from './config.ts';
import type { AccountTable } from './months.ts';
import type { NamedExport } from './next-command.ts';
import { lastPlatform, targetOf } from './platform.ts';
import { type ExportId, lastAsked, type RecentRecords, readRecent } from './recent.ts';
import { checkOneAccount, checkRequest, inputOf } from './request.ts';

/** An export of cdk.json or of a local run, and its records. */
export interface FoundExport extends RecentRecords {
  readonly request: ExportRequest;
  /** The input of an execution: see {@link requestOf} and {@link inputOf}. */
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
}

/**
 * Finds an export: in cdk.json, or else among those that a folder's runs have asked for or delivered.
 *
 * @param from the first day that a person asked for. Default: see {@link readRecent}
 * @returns undefined if there is none
 * @throws UsageError if several accounts have it
 */
export async function findExport(
  name: string,
  place: ExportPlace,
  bucket: RecordStore,
  now: Date,
  from?: string,
): Promise<FoundExport | undefined> {
  const accounts = await findAccounts(name, place, bucket);
  checkOneAccount(name, accounts);
  const [account] = accounts;
  return account === undefined ? undefined : readExport({ account, name }, place, bucket, now, from);
}

/** The export of each account that has it, with all of its records. */
export async function findExports(
  name: string,
  place: ExportPlace,
  bucket: RecordStore,
  now: Date,
): Promise<FoundExport[]> {
  const accounts = await findAccounts(name, place, bucket);
  const found = await Promise.all(
    accounts.map((account) => readExport({ account, name }, place, bucket, now, '')),
  );
  return found.filter((each) => each !== undefined);
}

/** The accounts of a folder's exports of this name, or else those that cdk.json has. */
async function findAccounts(
  name: string,
  { account, local }: ExportPlace,
  bucket: RecordStore,
): Promise<string[]> {
  const isWanted = (each: ExportId) =>
    each.name === name && (account === undefined || each.account === account);
  const here = local ? (await listExports(bucket)).filter(isWanted) : [];
  return (here.length > 0 ? here : loadConfig().exports.filter(isWanted)).map(({ account }) => account);
}

async function readExport(
  { account, name }: ExportId,
  place: ExportPlace,
  bucket: RecordStore,
  now: Date,
  from?: string,
): Promise<FoundExport | undefined> {
  const { exports, base_url, revision, tables } = loadConfig();
  const { local, out } = place;
  const entry = exports.find((each) => each.account === account && each.name === name);
  const configured = entry && checkRequest(requestOf(entry), now).request;
  const records = await readRecent(bucket, { account, name }, configured, from);
  const request = configured ?? (local ? lastAsked(records) : undefined);
  if (!request) return undefined;
  const target = local
    ? (lastTarget(records) ?? targetOf(await lastPlatform(out)))
    : { platform: platformName(base_url), revision };
  const { kind } = request;
  const table = tables ? tableOf(request) : undefined;
  return {
    ...records,
    request,
    input: entry ? requestOf(entry) : inputOf(request),
    target,
    hash: requestHash(request, target),
    table: table === undefined || kind === 'purchases' ? undefined : { table, account, kind },
    named: { name, account: place.account, again: !entry },
  };
}

/** The exports that have objects in a folder. */
export async function listExports(bucket: Pick<RecordStore, 'list'>): Promise<ExportId[]> {
  return [...namesIn(await bucket.list(EXPORTS_PREFIX))].map((id) => {
    const [account = '', name = ''] = id.split('/');
    return { account, name };
  });
}

/** Exports that are read at the same time. Each reads ten manifests at once. */
const PARALLEL = 4;

/** A request of a folder, and where the last of its deliveries is from. */
export interface LastRequest {
  readonly request: ExportRequest;
  /** Undefined if nothing was delivered yet. */
  readonly target: RequestTarget | undefined;
}

/** The last request of each export of a folder. @param isWanted default: all */
export async function readLastRequests(
  bucket: RecordStore,
  isWanted: (id: ExportId) => boolean = () => true,
): Promise<LastRequest[]> {
  const read = async (id: ExportId): Promise<LastRequest[]> => {
    const records = await readRecent(bucket, id);
    const request = lastAsked(records);
    return request ? [{ request, target: lastTarget(records) }] : [];
  };
  return (await pMap((await listExports(bucket)).filter(isWanted), read, { concurrency: PARALLEL })).flat();
}

function lastTarget({ deliveries }: ExportRecords): RequestTarget | undefined {
  const isLater = (one: StoredDelivery, other: StoredDelivery) =>
    Date.parse(one.published_at) - Date.parse(other.published_at);
  return deliveries.toSorted(isLater).at(-1)?.manifest;
}

/** The message if {@link findExport} finds none. */
export function describeUnknown(name: string, { account, local, out }: ExportPlace): string {
  const nameOf = (one: { readonly name: string; readonly account?: string | undefined }) =>
    account === undefined ? one.name : `${one.account}/${one.name}`;
  const wanted = nameOf({ name, account });
  const hint = hintAt(wanted, loadConfig().exports.map(nameOf));
  return `there is no export ${wanted}${hint} in cdk.json${local ? `, and no run of it in ${out}` : ''}`;
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
