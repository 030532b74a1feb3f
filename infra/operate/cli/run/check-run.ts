import { requestHash } from '../../../../functions/decisions/request-hash.ts';
import { requestsIn } from '../../../../functions/workflow/request/accounts.ts';
import { hintAt } from '../../../../functions/workflow/request/issues.ts';
import type { ExportRequest } from '../../../../functions/workflow/request/request.ts';
import { columnNameFaults } from '../../../stack/config/export-faults.ts';
import { tableSource, withColumns } from '../../../stack/config/exports.ts';
import { findExport, findExports, listExports } from '../../days/find-exports.ts';
import type { RecordedExport } from '../../days/read-export.ts';
import { openToRead, type ReadableBucket } from '../../place/bucket.ts';
import { checkRequests } from '../../place/check-request.ts';
import { refuse, UsageError } from '../../place/errors.ts';
import { configName, loadConfig } from '../../place/load-config.ts';
import {
  credentialFile,
  lastPlatform,
  type PlatformOptions,
  targetOfPlatform,
} from '../../place/target-platform.ts';
import { type CommonOptions, platformFaults } from '../options.ts';
import {
  EXAMPLE_EXPORT,
  exampleRequest,
  findUnchangedRequest,
  futureFaults,
  type RequestOptions,
  withOptions,
} from './find-request.ts';

export interface LocalRunOptions extends PlatformOptions, RequestOptions, CommonOptions {
  readonly speed: number;
  /** For the sandbox of the run. */
  readonly restatedDays?: number;
  /** Runs, each a day later. */
  readonly daily?: number;
  /** The whole input, instead of what the other options name. */
  readonly request?: unknown;
}

/**
 * Finds the request and the platform of a local run, and checks them before anything is started. Without
 * --base-url, the platform of the folder's last run is used.
 *
 * @throws UsageError
 */
export async function checkRun(name: string | undefined, runOptions: LocalRunOptions, now: Date) {
  const options =
    runOptions.baseUrl === undefined
      ? { ...(await lastPlatform(runOptions.out)), ...runOptions }
      : runOptions;
  refuse(await findPlatformFaults(options));
  await using bucket = await openToRead({ local: true, out: options.out }, true);
  const input =
    runOptions.request ?? withOptions(await findLocalRequest(name, options, bucket, now), options);
  const { requests, warnings } = checkRequests(input, now);
  const faults = requests.flatMap((request) => futureFaults(request, now));
  refuse([...localColumnFaults(requestsIn(input)[0]), ...new Set(faults)]);
  refuse(await findCredentialFaults(requests, options));
  const others = await findExports(undefined, { local: true, out: options.out }, bucket, now);
  refuse(folderFaults(requests, others, options));
  return { input, options, requests, warnings: [...warnings, ...warnOfAccounts(requests)] };
}

/** A local run may have any account, so a mistyped one would be exported beside the one that was meant. */
function warnOfAccounts(requests: readonly ExportRequest[]): string[] {
  const known = Object.keys(loadConfig().accounts);
  return requests.flatMap(({ account }) => {
    const hint = known.includes(account) ? '' : hintAt(account, known);
    return hint === '' ? [] : [`there is no account ${account} in ${configName()}${hint}`];
  });
}

/** A folder has one platform, and one request under a name. The config may change its own. */
function folderFaults(
  requests: readonly ExportRequest[],
  others: readonly RecordedExport[],
  { out, input, ...options }: LocalRunOptions,
): string[] {
  const target = targetOfPlatform(options);
  const delivered = others.filter(({ records }) => records.deliveries.length > 0);
  const platforms = new Set(
    delivered.flatMap(({ records }) => records.deliveries.map(({ manifest }) => manifest.platform)),
  );
  if (platforms.size > 0 && !platforms.has(target.platform))
    return [
      `--out ${out} has the files of ${[...platforms].join(' and ')}, and this run would export from ` +
        `${target.platform}: name that platform with --base-url, or another folder with --out`,
    ];
  if (input === undefined) return [];
  return requests.flatMap((request) => {
    const { account, name } = request;
    const before = delivered.find(
      (earlier) => earlier.request.account === account && earlier.request.name === name,
    );
    if (!before || before.hash === requestHash(request, target)) return [];
    return [
      `--out ${out} has ${account}/${name} of another request or revision, whose days this one would replace: ` +
        'give this one another name',
    ];
  });
}

/** A local run writes a table that the config may not have checked. */
function localColumnFaults(input: unknown): string[] {
  const source = tableSource(withColumns(Object(input), loadConfig().exports));
  return source ? columnNameFaults(source) : [];
}

/** Without --base-url, the platform is a sandbox, which has its own credential and revision. */
async function findPlatformFaults(options: LocalRunOptions): Promise<string[]> {
  const { baseUrl, restatedDays } = options;
  if (baseUrl === undefined) {
    const misplaced = (['credential', 'revision'] as const).filter((name) => options[name] !== undefined);
    return misplaced.map((name) => `--${name} needs --base-url`);
  }
  const faults = await platformFaults(options, '--base-url', ['revision', 'credential']);
  const sandboxOnly = '--restated-days changes the sandbox, which --base-url replaces';
  return restatedDays === undefined ? faults : [...faults, sandboxOnly];
}

/** The faults of files that each account has for itself. One file for all was checked before. */
async function findCredentialFaults(
  requests: readonly ExportRequest[],
  { credential }: LocalRunOptions,
): Promise<string[]> {
  if (credential === undefined) return [];
  const files = new Set(requests.map(({ account }) => credentialFile(credential, account)));
  const ofAccounts = [...files].filter((file) => file !== credential);
  const faults = ofAccounts.map((file) => platformFaults({ credential: file }, '--base-url', []));
  return (await Promise.all(faults)).flat();
}

/** The request of --input or the config, or else the folder's last one of this name, or else the example. */
async function findLocalRequest(
  name: string | undefined,
  options: LocalRunOptions,
  bucket: ReadableBucket,
  now: Date,
): Promise<unknown> {
  const { input, out, account, baseUrl } = options;
  const isConfigured = loadConfig().exports.some(
    (id) => id.name === name && id.account === (account ?? id.account),
  );
  if (input !== undefined || isConfigured) return findUnchangedRequest(name, options);
  const isAsked = (await listExports(out)).some((id) => id.name === name);
  if (!isAsked && (name ?? EXAMPLE_EXPORT.name) === EXAMPLE_EXPORT.name) {
    if (baseUrl === undefined) return exampleRequest(now);
    throw new UsageError(['the example is for a sandbox: give --input or the name of an export']);
  }
  const place = { local: true, out, ...(account !== undefined && { account }) } as const;
  return (await findExport(name ?? '', place, bucket, now)).input;
}
