import { requestHash } from '../../../functions/decisions/request-hash.ts';
import { requestsIn } from '../../../functions/workflow/request/accounts.ts';
import { hintAt } from '../../../functions/workflow/request/issues.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { tableOf } from '../../../functions/workflow/table.ts';
import { columnNameFaults } from '../../config/export-faults.ts';
import { tableSource, withColumns } from '../../config/exports.ts';
import { openToRead, type ReadableBucket } from '../../knowledge/bucket.ts';
import { loadConfig } from '../../knowledge/config.ts';
import { refuse, UsageError } from '../../knowledge/errors.ts';
import { findExport, type LastRequest, readLastRequests } from '../../knowledge/exports.ts';
import { lastPlatform, type PlatformOptions, targetOf } from '../../knowledge/platform.ts';
import { checkOneAccount, checkRequests } from '../../knowledge/request.ts';
import { platformFaults } from '../options.ts';
import {
  EXAMPLE,
  exampleRequest,
  findGivenRequest,
  futureFaults,
  type RequestOptions,
  withOptions,
} from '../requests/request.ts';

export interface LocalRunOptions extends PlatformOptions, RequestOptions {
  readonly json?: true;
  readonly out: string;
  readonly speed: number;
  /** The name of an export that the folder has. */
  readonly again?: string;
  /** For the sandbox of the run. */
  readonly restatedDays?: number;
  /** Runs, each a day later. */
  readonly daily?: number;
}

interface RunOptions extends LocalRunOptions {
  /** The platform is that of the folder's last run. */
  readonly isLast?: boolean;
}

/**
 * Finds the request and the platform of a local run, and checks them before anything is started.
 *
 * @throws UsageError
 */
export async function checkRun(name: string | undefined, given: LocalRunOptions, now: Date) {
  const options = await withLastPlatform(name, given);
  refuse(await findPlatformFaults(options));
  await using bucket = await openToRead({ local: true, out: options.out });
  const input = withOptions(await findLocalRequest(name, options, bucket, now), options);
  const { requests, warnings } = checkRequests(input, now);
  const faults = requests.flatMap((request) => futureFaults(request, now));
  refuse([...columnFaults(requestsIn(input)[0]), ...new Set(faults)]);
  if (options.baseUrl !== undefined) checkOneAccount(requests[0].name, requests);
  const others = await readLastRequests(options.out, bucket);
  const { account, name: asked } = requests[0];
  const last = others.find(({ request }) => request.account === account && request.name === asked);
  // The same request again is one of the same revision, whatever other exports of the folder have.
  const platform = {
    ...options,
    ...(options.isLast && last?.target && { revision: last.target.revision }),
  };
  refuse([...new Set(requests.flatMap((request) => folderFaults(request, others, platform)))]);
  return { input, options: platform, requests, warnings: [...warnings, ...warnOfAccounts(requests)] };
}

/** A local run may have any account, so a mistyped one would be exported beside the one that was meant. */
function warnOfAccounts(requests: readonly ExportRequest[]): string[] {
  const known = Object.keys(loadConfig().accounts);
  return requests.flatMap(({ account }) => {
    const hint = known.includes(account) ? '' : hintAt(account, known);
    return hint === '' ? [] : [`there is no account ${account} in cdk.json${hint}`];
  });
}

/** Without --base-url, an export has the platform of the folder's last run, and the example has a sandbox. */
async function withLastPlatform(name: string | undefined, options: LocalRunOptions): Promise<RunOptions> {
  if (options.baseUrl !== undefined || isExample(name, options)) return options;
  const last = await lastPlatform(options.out);
  return { ...last, ...options, isLast: last.baseUrl !== undefined && options.revision === undefined };
}

/** A folder has one platform, and one request under a name or for a table. cdk.json may change its own. */
function folderFaults(
  request: ExportRequest,
  others: readonly LastRequest[],
  { out, input, again, ...options }: LocalRunOptions,
): string[] {
  const target = targetOf(options);
  const platforms = new Set(others.flatMap((other) => other.target?.platform ?? []));
  if (platforms.size > 0 && !platforms.has(target.platform))
    return [
      `--out ${out} has the files of ${[...platforms].join(' and ')}, and this run would export from ` +
        `${target.platform}: name that platform with --base-url, or another folder with --out`,
    ];
  if (input === undefined && again === undefined) return [];
  const table = tableOf(request);
  const isReplaced = ({ request: other, target: its }: LastRequest) =>
    other.account === request.account &&
    other.name === request.name &&
    its !== undefined &&
    requestHash(other, its) !== requestHash(request, target);
  return others.filter(isReplaced).map(({ request: { account, name } }) => {
    const what = table === undefined ? 'files' : `days in the table ${table}`;
    return (
      `--out ${out} has ${account}/${name} of another request or revision, and this one would replace its ${what}: ` +
      'give this one another name'
    );
  });
}

/** A local run writes a table that the config may not have checked. */
function columnFaults(input: unknown): string[] {
  const source = tableSource(withColumns(Object(input), loadConfig().exports));
  return source ? columnNameFaults(source) : [];
}

/** Without --base-url, the platform is a sandbox, which has its own credential and revision. */
async function findPlatformFaults(options: LocalRunOptions): Promise<string[]> {
  if (options.baseUrl !== undefined)
    return [
      ...(await platformFaults(options, '--base-url', ['revision', 'credential'])),
      ...(options.restatedDays === undefined
        ? []
        : ['--restated-days changes the sandbox, which --base-url replaces']),
    ];
  return (['credential', 'revision'] as const)
    .filter((name) => options[name] !== undefined)
    .map((name) => `--${name} needs --base-url`);
}

function isExample(
  name: string | undefined,
  { input, again, account = EXAMPLE.account }: LocalRunOptions,
): boolean {
  const isNamed = (name ?? EXAMPLE.name) === EXAMPLE.name && account === EXAMPLE.account;
  const isOther = input !== undefined || again !== undefined;
  return isNamed && !isOther && !loadConfig().exports.some((entry) => entry.name === name);
}

/** The request as it was given; without one, the example. */
async function findLocalRequest(
  name: string | undefined,
  options: LocalRunOptions,
  bucket: ReadableBucket,
  now: Date,
): Promise<unknown> {
  const { again, out, account, baseUrl } = options;
  if (!isExample(name, options) && again === undefined) return findGivenRequest(name, options);
  if (again === undefined && baseUrl !== undefined)
    throw new UsageError(['--base-url needs --input, or the name of an export']);
  if (again === undefined) return exampleRequest(now);
  if (name !== undefined) throw new UsageError(['give the name of an export, or --again with it, not both']);
  const place = { local: true, out, ...(account !== undefined && { account }) } as const;
  return (await findExport(again, place, bucket, now)).input;
}
