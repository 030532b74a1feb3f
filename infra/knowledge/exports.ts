import { glob } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import pMap, { pMapSkip } from 'p-map';
import { platformName, type RequestTarget, requestHash } from '../../functions/decisions/request-hash.ts';
import { covers, type DayState, type Delivery, TO_EXPORT } from '../../functions/deliveries/judge.ts';
import type { ExportRecords, RecordStore, StoredFailure } from '../../functions/deliveries/records.ts';
import { EXPORTS_PREFIX, type ExportId } from '../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import { tableOf } from '../../functions/workflow/table.ts';
import { type ConfiguredExport, requestOf } from '../config/exports.ts';
import type { Folder } from './bucket.ts';
import { configName, loadConfig } from './config.ts';
import { describeDamage } from './damage.ts';
import { hintAtLocal } from './deployment.ts';
import { UsageError } from './errors.ts';
import type { AccountTable } from './months.ts';
import { lastPlatform, targetOf } from './platform.ts';
import { lastAsked, latest, readRecent } from './recent.ts';
import { checkOneAccount, checkRequest, inputOf, suggest } from './request.ts';

/** Exports that are read at the same time. Each reads ten manifests or months at once. */
export const PARALLEL = 4;

/** An export of the config or of a local run, and its records. */
export type FoundExport = Extract<
  Awaited<ReturnType<typeof readExport>>,
  { readonly request: ExportRequest }
>;

/** An export of one name, and where to look for it. */
export interface ExportPlace extends Folder {
  readonly account?: string;
}

/**
 * Finds an export: in the config, or else among the exports that a folder's runs have asked for or delivered.
 *
 * @param from the first day that a person asked for. Default: see {@link readRecent}
 * @throws UsageError if there is none, if several accounts have it, or if its request is not known
 */
export async function findExport(
  name: string,
  place: ExportPlace,
  bucket: RecordStore,
  now: Date,
  from?: string,
): Promise<FoundExport> {
  const found = await findExports(name, place, bucket, now, from);
  const [first] = found;
  if (!first) throw new UsageError([`no manifest of ${name} can be read: run it with --input`]);
  const requests = found.map(({ request }) => request);
  checkOneAccount(name, requests);
  return first;
}

/**
 * The exports of this name: one for each account that has it. Without a name, all of the config, or all that
 * runs of a folder have asked for or delivered. Sorted by account and name. Leaves out exports whose request
 * is not known.
 *
 * @throws UsageError if there is none of this name, or if damaged records hide the request of each
 */
export async function findExports(
  name: string | undefined,
  place: ExportPlace,
  bucket: RecordStore,
  now: Date,
  from?: string,
): Promise<FoundExport[]> {
  const { exports, unreadable } = await findAllExports(name, place, bucket, now, from);
  if (name !== undefined && exports.length === 0 && unreadable.length > 0)
    throw new UsageError([
      `no manifest of ${name} can be read: run it with --input`,
      ...unreadable.flatMap(({ damaged }) => damaged.map(describeDamage)),
    ]);
  return exports;
}

/** An export of a folder whose request nobody knows, because all records that name it are damaged. */
export interface UnreadableExport extends ExportId {
  /** The keys of its damaged records. */
  readonly damaged: readonly string[];
}

/** Like {@link findExports}, with the exports that it leaves out because their records are damaged. */
export async function findAllExports(
  name: string | undefined,
  place: ExportPlace,
  bucket: RecordStore,
  now: Date,
  from?: string,
): Promise<{ readonly exports: FoundExport[]; readonly unreadable: readonly UnreadableExport[] }> {
  const { account, local, out } = place;
  const isWanted = (each: ExportId) =>
    (name ?? each.name) === each.name && (account ?? each.account) === each.account;
  const all = local ? await listExports(out) : [];
  const here = all.filter(isWanted);
  const configured = () =>
    name === undefined ? loadConfig().exports.filter(isWanted) : findConfigured(name, place, all);
  const ids = here.length > 0 || (local && name === undefined) ? here : configured();
  const idOf = (each: ExportId) => `${each.account}/${each.name}`;
  const unreadable: UnreadableExport[] = [];
  const read = async ({ account, name }: ExportId) => {
    const records = await readExport({ account, name }, place, bucket, now, from);
    if ('request' in records) return records;
    const { damaged } = records;
    if (damaged.length > 0) unreadable.push({ account, name, damaged });
    return pMapSkip;
  };
  const sorted = ids.toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1));
  return { exports: await pMap(sorted, read, { concurrency: PARALLEL }), unreadable };
}

/** The exports of this name in the config. @throws UsageError if there is none, before AWS is asked */
export function findConfigured(
  name: string,
  { account, local, out }: Partial<ExportPlace>,
  others: readonly ExportId[] = [],
) {
  const { exports } = loadConfig();
  const isIt = (each: ExportId) => each.name === name && (account ?? each.account) === each.account;
  const found = exports.filter(isIt);
  if (found.length > 0) return found;
  const nameOf = (each: ExportId) => (account === undefined ? each.name : `${each.account}/${each.name}`);
  const wanted = nameOf({ name, account: account ?? '' });
  const known = [...new Set([...exports, ...others].map(nameOf))];
  const places = `${configName()}${local ? `, and no run of it in ${out}` : ''}`;
  throw new UsageError([
    `there is no export ${wanted} in ${places}${suggest(wanted, known)}${local ? '' : hintAtLocal(name)}`,
  ]);
}

/** @returns only the keys of damaged records if its request is not known */
async function readExport(
  { account, name }: ExportId,
  place: ExportPlace,
  bucket: RecordStore,
  now: Date,
  from?: string,
) {
  const { exports, base_url, revision, tables } = loadConfig();
  const { local, out } = place;
  const entry = exports.find((each) => each.account === account && each.name === name);
  const configured = entry && requestOfLongestRun(entry, now);
  const records = await readRecent(bucket, { account, name }, now, configured, from);
  const request = configured ?? (local ? lastAsked(records) : undefined);
  if (!request) return { damaged: records.damaged };
  const target = local
    ? (lastTarget(records) ?? targetOf(await lastPlatform(out)))
    : { platform: platformName(base_url), revision };
  const { kind } = request;
  const table = tables ? tableOf(request) : undefined;
  return {
    ...records,
    request,
    /** The input of an execution: see {@link requestOf} and {@link inputOf}. */
    input: entry ? requestOf(entry) : inputOf(request),
    target,
    /** The hash of the request. */
    hash: requestHash(request, target),
    /** The part of its table that it fills; undefined if it has none. */
    table: kind === 'purchases' || !table ? undefined : ({ table, account, kind } satisfies AccountTable),
  };
}

/** All runs of an export have the same request but for their days. */
function requestOfLongestRun(entry: ConfiguredExport, now: Date): ExportRequest {
  const inputs = [requestOf(entry), ...entry.runs.map(({ request }) => request)];
  const requests = inputs.map((input) => checkRequest(input, now).request);
  return requests.reduce((one, other) => (other.start_date < one.start_date ? other : one));
}

/** The exports of a folder. Their windows, of which each has a folder, are not listed. */
export async function listExports(out: string): Promise<ExportId[]> {
  const folders = await Array.fromAsync(glob(`*/${EXPORTS_PREFIX}account=*/export=*`, { cwd: out }));
  const nameOf = (folder: string) => basename(folder).replace(/^(account|export)=/, '');
  return folders.map((folder) => ({ account: nameOf(dirname(folder)), name: nameOf(folder) }));
}

function lastTarget({ deliveries }: ExportRecords): RequestTarget | undefined {
  return latest(deliveries.map(({ published_at: at, manifest }) => ({ at, manifest })))?.manifest;
}

/**
 * The latest failure that is not settled: a day of its range still has to be exported, and nobody has
 * delivered it since. A list or a query for purchases settles it with its next delivery. A failure report
 * does not name its request, so a delivery of any request settles it.
 *
 * @param days of a report, judged
 */
export function latestFailure(
  { failures, deliveries }: Pick<ExportRecords, 'failures'> & { readonly deliveries: readonly Delivery[] },
  days?: readonly { readonly day: string; readonly state: DayState }[],
): StoredFailure | undefined {
  const isOpen = (failure: StoredFailure) => {
    const since = ({ published_at, lost }: Delivery) =>
      !lost && Date.parse(published_at) >= Date.parse(failure.at);
    const later = deliveries.filter(since);
    if (!days) return later.length === 0;
    const own = days.filter(({ day, state }) => TO_EXPORT.has(state) && covers(failure, day));
    return own.some(({ day }) => later.every((each) => !covers(each, day)));
  };
  return latest(failures.filter(isOpen));
}
