import { glob } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import pMap, { pMapSkip } from 'p-map';
import type { DayStore } from '../../../functions/days/read-days.ts';
import { EXPORTS_PREFIX, type ExportId } from '../../../functions/workflow/keys.ts';
import type { Folder } from '../place/bucket.ts';
import { checkOneAccount, suggest } from '../place/check-request.ts';
import { hintAtLocal } from '../place/deployment.ts';
import { UsageError } from '../place/errors.ts';
import { configName, loadConfig } from '../place/load-config.ts';
import { describeDamage } from './damage.ts';
import type { AskedDays } from './days-to-look-at.ts';
import { type RecordedExport, readExport } from './read-export.ts';

/** Exports that are read at the same time. Each reads ten manifests or months at once. */
export const PARALLEL_EXPORTS = 4;

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
): Promise<RecordedExport> {
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
): Promise<RecordedExport[]> {
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
): Promise<{ readonly exports: RecordedExport[]; readonly unreadable: readonly UnreadableExport[] }> {
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
  const sorted = ids.toSorted((first, second) => (idOf(first) < idOf(second) ? -1 : 1));
  return { exports: await pMap(sorted, read, { concurrency: PARALLEL_EXPORTS }), unreadable };
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

/** The exports of a folder. Their windows, of which each has a folder, are not listed. */
export async function listExports(out: string): Promise<ExportId[]> {
  const folders = await Array.fromAsync(glob(`*/${EXPORTS_PREFIX}account=*/export=*`, { cwd: out }));
  const nameOf = (folder: string) => basename(folder).replace(/^(account|export)=/, '');
  return folders.map((folder) => ({ account: nameOf(dirname(folder)), name: nameOf(folder) }));
}
