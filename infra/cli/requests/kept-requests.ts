import { glob, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { platformName } from '../../../functions/decisions/platform-request.ts';
import { type RequestTarget, requestHash } from '../../../functions/decisions/request-hash.ts';
import { InvalidInput } from '../../../functions/workflow/errors.ts';
import { parseJson } from '../../../functions/workflow/json.ts';
import { exportPrefix, FAILURE } from '../../../functions/workflow/keys.ts';
import { type ExportRequest, parseRequest } from '../../../functions/workflow/request/request.ts';
import { tableOf } from '../../../functions/workflow/table.ts';
import { EXAMPLE_REVISION } from '../../sandbox/settings.ts';
import { UsageError } from '../errors.ts';
import { PLATFORM_FLAGS, type PlatformOptions } from '../options.ts';

/** In the folder of local runs. */
const FOLDER = 'requests';

/** Beside it. Has a file of the same name with the {@link PlatformOptions} of the run. */
const PLATFORMS = 'platforms';

/** A request that a local run has kept beside its results. It counts as the configured one in this folder. */
export interface KeptRequest {
  /** A path, for --input. */
  readonly file: string;
  /** As the run was given it: a period is still a period. */
  readonly input: unknown;
  readonly request: ExportRequest;
  /** A file of its export was stored. A request that failed before that may be corrected. */
  readonly hasResults: boolean;
  /** Of the run. The credential is a path: nothing of its content is kept. */
  readonly options: PlatformOptions;
}

/** Without --base-url, a run exports from a sandbox. */
export function targetOf({ baseUrl, revision = EXAMPLE_REVISION }: PlatformOptions): RequestTarget {
  return { platform: platformName(baseUrl ?? 'http://127.0.0.1'), revision };
}

/** The platform of an export's last run; a sandbox, if there was none. */
export function lastPlatform(
  kept: readonly KeptRequest[],
  { account, name }: Pick<ExportRequest, 'account' | 'name'>,
): PlatformOptions {
  const last = kept.find(({ request }) => request.account === account && request.name === name);
  return last?.options ?? {};
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
  const options: PlatformOptions = Object(
    parseJson(await readFile(platformFile(file), 'utf8').catch(() => '')),
  );
  try {
    const { request } = parseRequest(input, now);
    return { file, input, request, options, hasResults: await hasResults(out, request) };
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}

async function hasResults(out: string, request: ExportRequest): Promise<boolean> {
  for await (const file of glob(`*/${exportPrefix(request)}*/*/*`, { cwd: out }))
    if (basename(file) !== FAILURE) return true;
  return false;
}

/**
 * The kept requests that ask for other rows, or another platform, and whose results this request would replace.
 *
 * @param platform see platformName; default: the one of the kept request
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
    (platform !== undefined && platform !== targetOf(each.options).platform) ||
    hashOf(each.request) !== hashOf(request);
  return kept.filter((each) => each.hasResults && sharesResults(each) && isOther(each));
}

/** Keeps the request of a run that is about to start, and its platform. @throws UsageError if nobody can write to the folder */
export async function keepRequest(
  out: string,
  { input, request, options }: Pick<KeptRequest, 'input' | 'request' | 'options'>,
  replaced: readonly KeptRequest[],
): Promise<void> {
  const file = keptFile(out, request);
  try {
    for (const { file } of replaced)
      for (const each of [file, platformFile(file)]) await rm(each, { force: true });
    await keepFile(platformFile(file), JSON.stringify(options, Object.keys(PLATFORM_FLAGS), 2));
    await keepFile(file, JSON.stringify(input, null, 2));
  } catch (error) {
    throw new UsageError([`--out ${out} cannot be written (${(error as NodeJS.ErrnoException).code})`]);
  }
}

async function keepFile(file: string, content: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.draft`;
  await writeFile(draft, `${content}\n`);
  await rename(draft, file);
}

/** Neither an account, a name nor a table has a point. */
function keptFile(out: string, request: ExportRequest): string {
  const { account, name } = request;
  const table = tableOf(request) ?? name;
  return join(out, FOLDER, [account, name, ...(table === name ? [] : [table]), 'json'].join('.'));
}

function platformFile(file: string): string {
  return join(dirname(file), '..', PLATFORMS, basename(file));
}
