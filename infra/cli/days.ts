import { type DayState, judgeDays } from '../../functions/decisions/days.ts';
import { readDeliveries, type StoredDelivery } from '../../functions/decisions/deliveries.ts';
import { platformName } from '../../functions/decisions/platform-request.ts';
import { type RequestTarget, requestHash } from '../../functions/decisions/request-hash.ts';
import { parseJson } from '../../functions/workflow/json.ts';
import { addDays, type DateRange } from '../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import type { FailureReport } from '../../functions/workflow/states.ts';
import { tableOf } from '../../functions/workflow/table.ts';
import { requestOf } from '../config/exports.ts';
import { EXAMPLE_REVISION } from '../sandbox/settings.ts';
import type { Folder, ReadableBucket } from './bucket.ts';
import { findReplaced, readKeptRequests } from './kept-requests.ts';
import { readMonths, shownDays } from './months.ts';
import type { NamedExport } from './next-command.ts';
import { loadConfig } from './options.ts';
import { checkOneAccount, checkRequest } from './request.ts';

/** An export of cdk.json or of a local run, and its deliveries. */
export interface FoundExport {
  readonly request: ExportRequest;
  /** As it was given: see {@link requestOf}. */
  readonly input: unknown;
  readonly target: RequestTarget;
  /** Of the request. */
  readonly hash: string;
  readonly deliveries: readonly StoredDelivery[];
  readonly named: NamedExport;
}

/** The target of a run without --base-url. */
const SANDBOX_TARGET: RequestTarget = {
  platform: platformName('http://127.0.0.1'),
  revision: EXAMPLE_REVISION,
};

/**
 * Finds an export: in cdk.json, or else among the requests that local runs have kept.
 *
 * @param range of the deliveries; default: all
 * @returns undefined if there is none
 * @throws UsageError if several accounts have it
 */
export async function findExport(
  name: string,
  { account: named, ...folder }: Folder & { readonly account?: string },
  bucket: ReadableBucket,
  now: Date,
  range?: DateRange,
): Promise<FoundExport | undefined> {
  const { base_url, revision, exports } = loadConfig();
  const all = folder.local ? await readKeptRequests(folder.out, now) : [];
  const isWanted = (each: { name: string; account: string }) =>
    each.name === name && (named === undefined || each.account === named);
  const configured = exports.filter(isWanted);
  const kept = all.filter(({ request }) => isWanted(request));
  const accounts = kept.length > 0 ? kept.map(({ request }) => request.account) : configured.map(accountOf);
  checkOneAccount(name, accounts);
  const entry = configured.find(({ account }) => account === accounts[0]);
  const input = entry ? requestOf(entry) : kept[0]?.input;
  if (input === undefined) return undefined;
  const { request } = checkRequest(input, now);
  const deliveries = await readDeliveries(bucket, request, folder.local ? undefined : range);
  const target = folder.local ? lastTarget(deliveries) : { platform: platformName(base_url), revision };
  return {
    request,
    input,
    target,
    hash: requestHash(request, target),
    deliveries,
    named: {
      name,
      account: named,
      ...(!entry && { input: kept[0]?.file }),
      takesOver: findReplaced(folder.out, request, all).length > 0,
    },
  };
}

function accountOf({ account }: { readonly account: string }): string {
  return account;
}

/** Where the last local run that delivered something sent its request. */
export function lastTarget(deliveries: readonly StoredDelivery[]): RequestTarget {
  const manifests = deliveries.map(({ manifest }) => manifest);
  return (
    manifests
      .toSorted((one, other) => one.published_at.localeCompare(other.published_at))
      .map(({ platform, revision }) => ({ platform, revision }))
      .at(-1) ?? SANDBOX_TARGET
  );
}

/** Judges days of an export by its deliveries and by what its table shows. */
export async function judgeExport(
  { request, deliveries, hash }: FoundExport,
  days: readonly string[],
  bucket: ReadableBucket,
  timeZone?: string,
): Promise<DayState[]> {
  const table = loadConfig().tables ? tableOf(request) : undefined;
  const months = new Set(days.map((day) => day.slice(0, 'YYYY-MM'.length)));
  const shown =
    table === undefined
      ? undefined
      : shownDays(
          await readMonths(bucket, { table, account: request.account }, (month) => months.has(month)),
        );
  return judgeDays(days, { deliveries, shown, hash, timeZone });
}

/** A failure report that is still there. */
export interface RemainingFailure {
  readonly at: string;
  readonly error: string;
  readonly happened: string;
  readonly todo: string;
  readonly execution: string;
  readonly key: string;
}

/** Failure reports that are read to find the latest. */
const MAX_FAILURES = 20;

/** A range of days in words, such as `2026-10-01 to 2026-10-07`: the last one is named too. */
export function describeDays({ start_date, end_date }: DateRange): string {
  const last = addDays(end_date, -1);
  return last === start_date ? last : `${start_date} to ${last}`;
}

/** The exports that have objects, as `account/name`. */
export function namesIn(keys: readonly string[]): Set<string> {
  const found = keys.map((key) => /^exports\/account=([^/]+)\/export=([^/]+)\//.exec(key));
  return new Set(found.flatMap((parts) => (parts ? [`${parts[1]}/${parts[2]}`] : [])));
}

/** The latest of the failure reports that can be read. A later delivery deletes them. */
export async function findLatestFailure(
  objects: Pick<ReadableBucket, 'getText'>,
  keys: readonly string[],
): Promise<RemainingFailure | undefined> {
  const reports = await Promise.all(
    keys.slice(-MAX_FAILURES).map(async (key) => {
      const report: Partial<FailureReport> = Object(parseJson((await objects.getText(key)) ?? ''));
      const { error = '', happened = '', todo = '', execution = '', failed_at: at = '' } = report;
      return { at, error, happened, todo, execution, key };
    }),
  );
  return reports.sort((one, other) => one.at.localeCompare(other.at)).at(-1);
}
