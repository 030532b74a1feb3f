import { glob } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import pMap, { pMapSkip } from 'p-map';
import type { DayStore, JudgedExport } from '../../../functions/days/read-days.ts';
import { type ExportRecords, listWindows, readRecords } from '../../../functions/days/records.ts';
import { type Run, readRuns } from '../../../functions/days/runs.ts';
import { type RequestTarget, requestHash } from '../../../functions/decisions/request-hash.ts';
import type { AccountTable } from '../../../functions/tables/month-entries.ts';
import { EXPORTS_PREFIX, type ExportId } from '../../../functions/workflow/keys.ts';
import { type DateRange, earliest, latestDate } from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { type TableSchema, tableOf } from '../../../functions/workflow/table.ts';
import { type ConfiguredExport, requestOf, tablesOf, withColumns } from '../../stack/config/exports.ts';
import type { Folder } from '../place/bucket.ts';
import { configName, loadConfig } from '../place/config.ts';
import { hintAtLocal } from '../place/deployment.ts';
import { UsageError } from '../place/errors.ts';
import { readTarget } from '../place/platform.ts';
import { checkOneAccount, checkRequest, inputOf, suggest } from '../place/request.ts';
import { describeDamage } from './damage.ts';
import { type AskedDays, daysToLookAt, readDue } from './days-to-look-at.ts';

/** Exports that are read at the same time. Each reads ten manifests or months at once. */
export const PARALLEL = 4;

/** An export of the config or of a local run, the days that are looked at, and their records. */
export interface FoundExport extends JudgedExport {
  /** Its dates are those of its longest run. */
  readonly request: ExportRequest;
  /** The input of an execution: see {@link requestOf} and {@link inputOf}. */
  readonly input: unknown;
  readonly target: RequestTarget;
  readonly schema: TableSchema | undefined;
  /** The part of its table that it fills; undefined if it has none. */
  readonly table: AccountTable | undefined;
  /** The days that are looked at. Of a query for purchases, none are. */
  readonly range: DateRange;
  /** When its newest run was due, by the schedules of the config. */
  readonly due: Date | undefined;
  readonly records: ExportRecords;
}

/** An export of one name, and where to look for it. */
export interface ExportPlace extends Folder {
  readonly account?: string;
}

/**
 * Finds an export: in the config, or else among the exports that a folder's runs have asked for or delivered.
 *
 * @param days that a person asked for. Default: see {@link daysToLookAt}
 * @throws UsageError if there is none, if several accounts have it, or if its request is not known
 */
export async function findExport(
  name: string,
  place: ExportPlace,
  bucket: DayStore,
  now: Date,
  days: AskedDays = {},
): Promise<FoundExport> {
  const exports = await findExports(name, place, bucket, now, days);
  const [first] = exports;
  if (!first) throw new UsageError([`no manifest of ${name} can be read: run it with --input`]);
  const requests = exports.map(({ request }) => request);
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
  bucket: DayStore,
  now: Date,
  days: AskedDays = {},
): Promise<FoundExport[]> {
  const { exports, unreadable } = await findAllExports(name, place, bucket, now, days);
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
  bucket: DayStore,
  now: Date,
  days: AskedDays = {},
): Promise<{ readonly exports: FoundExport[]; readonly unreadable: readonly UnreadableExport[] }> {
  const { account, local, out } = place;
  const isWanted = (id: ExportId) => (name ?? id.name) === id.name && (account ?? id.account) === id.account;
  const all = local ? await listExports(out) : [];
  const here = all.filter(isWanted);
  const configured = () =>
    name === undefined ? loadConfig().exports.filter(isWanted) : findConfigured(name, place, all);
  const ids = here.length > 0 || (local && name === undefined) ? here : configured();
  const idOf = (id: ExportId) => `${id.account}/${id.name}`;
  const unreadable: UnreadableExport[] = [];
  const read = async ({ account, name }: ExportId) => {
    const records = await readExport({ account, name }, place, bucket, now, days);
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
  const isIt = (id: ExportId) => id.name === name && (account ?? id.account) === id.account;
  const configured = exports.filter(isIt);
  if (configured.length > 0) return configured;
  const nameOf = (id: ExportId) => (account === undefined ? id.name : `${id.account}/${id.name}`);
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
  { local, out }: ExportPlace,
  bucket: DayStore,
  now: Date,
  days: AskedDays,
): Promise<FoundExport | { readonly damaged: readonly string[] }> {
  const config = loadConfig();
  const entry = config.exports.find((id) => id.account === account && id.name === name);
  const configured = entry && requestOfLongestRun(entry, now);
  const keys = await listWindows(bucket, { account, name });
  const asked = configured || !local ? undefined : await readLastAsked(bucket, { account, name }, keys, now);
  const request = configured ?? asked?.request;
  if (!request) return { damaged: asked?.damaged ?? [] };
  // Nothing starts the runs of a folder.
  const due = local ? undefined : entry && readDue(entry, now);
  const { records: runs } = await readRuns(bucket, request, now);
  const range = daysToLookAt({ request, due, keys, runs, asked: days, now });
  const records = await readRecords(bucket, request, now, widen(range, runs), keys);
  const target = await readTarget({ local, out });
  const input = entry ? requestOf(entry) : inputOf(request);
  const table = config.tables ? tableOf(request) : undefined;
  const { kind } = request;
  const isTable = kind !== 'purchases' && table !== undefined;
  const [schema] = isTable ? tablesOf([withColumns(Object(input), config.exports)], target, config) : [];
  return {
    request,
    input,
    target,
    /** The hash of the request. */
    hash: requestHash(request, target),
    schema,
    table: isTable ? { table, account, kind } : undefined,
    range,
    due: due?.at,
    records,
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

/**
 * The request of the newest run or manifest, for an export of a folder that no config has. It reads all
 * manifests: no key tells which one was published last.
 */
async function readLastAsked(
  bucket: DayStore,
  id: ExportId,
  keys: readonly string[],
  now: Date,
): Promise<{ readonly request: ExportRequest | undefined; readonly damaged: readonly string[] }> {
  const { deliveries, runs, damaged } = await readRecords(bucket, id, now, undefined, keys);
  const delivered = deliveries.map(({ manifest }) => {
    return { at: manifest.published_at, request: manifest.export_request };
  });
  const asked = runs.map(({ began_at: at, request }) => ({ at, request }));
  return { request: latest([...delivered, ...asked])?.request, damaged };
}

/** A run that did not finish may have asked for days that are not looked at. */
function widen(range: DateRange, runs: readonly Run[]): DateRange {
  const ranges = [range, ...runs.map(({ request }) => request)];
  return {
    start_date: earliest(ranges.map(({ start_date }) => start_date)) ?? range.start_date,
    end_date: latestDate(ranges.map(({ end_date }) => end_date)) ?? range.end_date,
  };
}

/** The one with the last instant. */
export function latest<T extends { readonly at: string }>(all: readonly T[]): T | undefined {
  return all.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at)).at(-1);
}
