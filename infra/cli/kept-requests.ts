import { glob, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { requestHash } from '../../functions/decisions/request-hash.ts';
import { InvalidInput } from '../../functions/workflow/errors.ts';
import { parseJson } from '../../functions/workflow/json.ts';
import { exportPrefix, FAILURE, MANIFEST } from '../../functions/workflow/keys.ts';
import { type ExportRequest, parseRequest } from '../../functions/workflow/request/request.ts';
import { tableOf } from '../../functions/workflow/table.ts';

/** In the folder of local runs. */
const FOLDER = 'requests';

/** A request that a local run has kept beside its results. It counts as the configured one in this folder. */
export interface KeptRequest {
  /** A path, for --input. */
  readonly file: string;
  /** As the run was given it: a period is still a period. */
  readonly input: unknown;
  readonly request: ExportRequest;
  /** A file of its export was stored. A request that failed before that may be corrected. */
  readonly hasResults: boolean;
  /** Of a file that was delivered (see platformName). */
  readonly platform: string | undefined;
}

/**
 * The kept requests of a folder, that of the latest run first. A name has one for each table that it has filled. A file that is no
 * request is left out.
 */
export async function readKeptRequests(out: string, now: Date): Promise<KeptRequest[]> {
  const names = await readdir(join(out, FOLDER)).catch(() => []);
  const files = names.filter((name) => name.endsWith('.json')).map((name) => join(out, FOLDER, name));
  const kept = await Promise.all(
    files.map(async (file) => ({ at: (await stat(file)).mtimeMs, found: await readKept(out, file, now) })),
  );
  return kept
    .toSorted((one, other) => other.at - one.at)
    .map(({ found }) => found)
    .filter((found) => found !== undefined);
}

async function readKept(out: string, file: string, now: Date): Promise<KeptRequest | undefined> {
  const input = parseJson(await readFile(file, 'utf8'));
  try {
    const { request } = parseRequest(input, now);
    return { file, input, request, ...(await readResults(out, request)) };
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}

async function readResults(
  out: string,
  request: ExportRequest,
): Promise<Pick<KeptRequest, 'hasResults' | 'platform'>> {
  let hasResults = false;
  for await (const file of glob(`*/${exportPrefix(request)}*/*/*`, { cwd: out })) {
    hasResults ||= basename(file) !== FAILURE;
    if (basename(file) !== MANIFEST) continue;
    const { platform } = Object(parseJson(await readFile(join(out, file), 'utf8')));
    return { hasResults, platform };
  }
  return { hasResults, platform: undefined };
}

/**
 * The kept requests that ask for other rows, or another platform, and whose results this request would replace.
 *
 * @param platform see platformName; default: the one of the results
 */
export function findReplaced(
  out: string,
  { request, platform }: { readonly request: ExportRequest; readonly platform?: string | undefined },
  kept: readonly KeptRequest[],
): KeptRequest[] {
  const own = keptFile(out, request);
  const table = tableOf(request);
  const sharesResults = ({ file, request: other }: KeptRequest) =>
    file === own || (table !== undefined && other.account === request.account && tableOf(other) === table);
  const hashOf = (each: ExportRequest) => requestHash(each, { platform: '', revision: '' });
  const isOther = (each: KeptRequest) =>
    (platform ?? each.platform) !== (each.platform ?? platform) || hashOf(each.request) !== hashOf(request);
  return kept.filter((each) => each.hasResults && sharesResults(each) && isOther(each));
}

/** Keeps the request of a run that is about to start. */
export async function keepRequest(
  out: string,
  { input, request }: Pick<KeptRequest, 'input' | 'request'>,
  replaced: readonly KeptRequest[],
): Promise<void> {
  for (const { file } of replaced) await rm(file, { force: true });
  const file = keptFile(out, request);
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.draft`;
  await writeFile(draft, `${JSON.stringify(input, null, 2)}\n`);
  await rename(draft, file);
}

/** Neither an account, a name nor a table has a point. */
function keptFile(out: string, request: ExportRequest): string {
  const { account, name } = request;
  const table = tableOf(request) ?? name;
  return join(out, FOLDER, [account, name, ...(table === name ? [] : [table]), 'json'].join('.'));
}
