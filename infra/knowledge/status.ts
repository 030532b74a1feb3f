import pMap from 'p-map';
import type { StoredFailure } from '../../functions/deliveries/records.ts';
import { EXPORTS_PREFIX, exportPrefix, MANIFEST, windowOf } from '../../functions/workflow/keys.ts';
import { addDays } from '../../functions/workflow/request/dates.ts';
import { hintAt } from '../../functions/workflow/request/issues.ts';
import type { Folder, ReadableBucket } from './bucket.ts';
import { loadConfig } from './config.ts';
import { UsageError } from './errors.ts';
import type { ExecutionSummary } from './executions/executions.ts';
import { listExecutions } from './executions/list.ts';
import { adviseLocally } from './executions/outcome.ts';
import { type FoundExport, findExport, latestFailure, namesIn } from './exports.ts';
import type { JudgedRange } from './missing-days.ts';
import { lastPlatform } from './platform.ts';

/** The last executions that are looked at. Each is one call, of which AWS allows 250 at once. */
const RECENT = 100;

/** Exports that are read at the same time. Each reads ten manifests or months at once. */
export const PARALLEL = 4;

/** The failure that counts, with the advice of this machine for a local run. */
export function failureOf(
  { found, place }: ReadExport,
  days: JudgedRange['days'] | undefined,
): StoredFailure | undefined {
  const failure = found && latestFailure(found, found.request.kind === 'report' ? days : undefined);
  return failure && place ? adviseLocally(failure, place) : failure;
}

export function isRunning({ outcome }: ExecutionSummary): boolean {
  return outcome === 'running';
}

/** An export, as its objects and executions describe it. */
export interface ReadExport {
  readonly account: string;
  readonly name: string;
  /** Newest first. */
  readonly executions: readonly ExecutionSummary[];
  /** The last day that a manifest covers. */
  readonly newest_day: string | undefined;
  /** Undefined if its request is not known. */
  readonly found: FoundExport | undefined;
  /** The platform and folder of its last local run. */
  readonly place: Parameters<typeof adviseLocally>[1] | undefined;
}

/**
 * Reads all exports, or those of one name, in the order of their accounts and names.
 *
 * @throws UsageError if there is no such export
 */
export async function readExports(
  name: string | undefined,
  folder: Folder,
  bucket: ReadableBucket,
  now: Date,
): Promise<ReadExport[]> {
  const { local, out } = folder;
  // An export of the config that never ran in the folder is shown only if it is asked for.
  const executions = await listExecutions(folder, RECENT).catch((error) => {
    if (!local || name === undefined) throw error;
    return [];
  });
  const configured = local && name === undefined ? [] : loadConfig().exports;
  const platform = local ? await lastPlatform(out) : {};
  const known = new Set([
    ...configured.map((each) => `${each.account}/${each.name}`),
    ...executions.flatMap((one) => (one.account && one.export ? [`${one.account}/${one.export}`] : [])),
    ...(local ? namesIn(await bucket.list(EXPORTS_PREFIX)) : []),
  ]);
  const names = [...known].filter((id) => name === undefined || id === name || id.endsWith(`/${name}`));
  if (name !== undefined && names.length === 0)
    throw new UsageError([`there is no export ${name}${nameKnown(name, [...known])}`]);
  const read = async (id: string): Promise<ReadExport> => {
    const [account = '', name = ''] = id.split('/');
    const keys = await bucket.list(exportPrefix({ account, name }));
    const end = keys
      .flatMap((key) => (key.endsWith(`/${MANIFEST}`) ? [windowOf(key)?.end_date ?? ''] : []))
      .sort()
      .at(-1);
    return {
      account,
      name,
      executions: executions.filter((one) => `${one.account}/${one.export}` === id),
      newest_day: end && addDays(end, -1),
      found: await findExport(name, { ...folder, account }, bucket, now),
      place: local ? { ...platform, account, out } : undefined,
    };
  };
  return pMap(names.sort(), read, { concurrency: PARALLEL });
}

/** @param ids `account/name` of each export */
function nameKnown(name: string, ids: readonly string[]): string {
  const names = ids.flatMap((id) => [id, id.replace(/.*\//, '')]);
  return hintAt(name, names) || ` (there are ${ids.join(', ') || 'none'})`;
}
