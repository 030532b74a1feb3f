import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { isObject } from '../../../../functions/workflow/json.ts';
import { joinRequests, withoutFacts } from '../../../../functions/workflow/request/accounts.ts';
import { addDays, describeDays } from '../../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../../functions/workflow/request/request.ts';
import { EXAMPLE_ADVERTISERS } from '../../../lab/sandbox/sandbox-options.ts';
import { requestOf } from '../../../stack/config/exports.ts';
import { findConfigured } from '../../days/find-exports.ts';
import { checkOneAccount } from '../../place/check-request.ts';
import { UsageError } from '../../place/errors.ts';
import { configName, loadConfig } from '../../place/load-config.ts';

/** The length that Step Functions allows for an execution's name. */
const MAX_NAME_LENGTH = 80;

/**
 * Reads a request from a JSON file, or from standard input if `file` is `-`. A dead letter of EventBridge
 * Scheduler is the call that failed, whose input is the request as text.
 *
 * @throws UsageError
 */
async function readRequest(file: string): Promise<unknown> {
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch((error) => {
    throw new UsageError([`--input ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  });
  try {
    const parsed = JSON.parse(content.replace(/^\uFEFF/, ''));
    // The AWS CLI prints the body of a message as a text.
    const body = typeof parsed === 'string' ? JSON.parse(parsed) : parsed;
    const { Input, input = Input } = Object(body);
    return typeof input === 'string' ? JSON.parse(input) : body;
  } catch (error) {
    throw new UsageError([`--input ${file} is not JSON: ${(error as Error).message}`]);
  }
}

/** The request of an export in the config, for all its accounts or for one. @throws UsageError */
function findConfiguredRequest(name: string, account?: string): unknown {
  const configured = findConfigured(name, account === undefined ? {} : { account });
  const requests = configured.map(requestOf);
  // Several entries may have one name.
  const distinct = new Set(requests.map((request) => JSON.stringify(withoutFacts(request))));
  if (distinct.size > 1) checkOneAccount(name, configured);
  return requests.length === 1 ? requests[0] : joinRequests(requests, loadConfig().max_accounts);
}

/** The options that say what to export. */
export interface RequestOptions {
  readonly input?: string;
  readonly account?: string;
  readonly from?: string;
  /** Exclusive. */
  readonly to?: string;
  readonly period?: string;
  readonly onlyMissing?: true;
}

/** The request that the options name. @throws UsageError */
export async function findRequest(name: string | undefined, options: RequestOptions): Promise<unknown> {
  return withOptions(await findUnchangedRequest(name, options), options);
}

/** The request before {@link withOptions}. @throws UsageError */
export async function findUnchangedRequest(
  name: string | undefined,
  { input, account }: Pick<RequestOptions, 'input' | 'account'>,
): Promise<unknown> {
  if ((name === undefined) === (input === undefined))
    throw new UsageError([`give the name of an export in ${configName()}, or its request with --input`]);
  return input === undefined ? findConfiguredRequest(name ?? '', account) : readRequest(input);
}

/**
 * Replaces the dates of a request, and sets `only_missing`. Anything but an object stays unchanged, and is
 * refused later.
 *
 * @throws UsageError
 */
export function withOptions(request: unknown, { from, to, period, onlyMissing }: RequestOptions): unknown {
  if ((from === undefined) !== (to === undefined)) throw new UsageError(['give --from and --to together']);
  if (!isObject(request)) return request;
  const { period: _, start_date, end_date, ...undated } = request;
  const range = period === undefined ? from && { start_date: from, end_date: to } : { period };
  return { ...(range ? { ...undated, ...range } : request), ...(onlyMissing && { only_missing: true }) };
}

/** The export of `npm start`, which a local run knows by its name too. */
export const EXAMPLE_EXPORT = { name: 'example', account: 'sandbox' } as const;

/** The request of `npm start`: the last week of the sandbox's advertisers, by campaign. */
export function exampleRequest(now: Date): unknown {
  const today = now.toISOString().slice(0, 10);
  return {
    ...EXAMPLE_EXPORT,
    kind: 'report',
    start_date: addDays(today, -7),
    end_date: today,
    advertiser_ids: EXAMPLE_ADVERTISERS,
    metrics: ['spend', 'impressions', 'number_of_purchases'],
    dimensions: ['campaign_id', 'campaign_name'],
    reconcile: true,
  };
}

/** A person who starts an export of days that are all to come mistyped the year. */
export function futureFaults({ kind, start_date, end_date }: ExportRequest, now: Date): string[] {
  // Days begin up to 14 hours before the days of UTC.
  const tomorrow = addDays(now.toISOString().slice(0, 10), 1);
  if (kind === 'list' || start_date <= tomorrow) return [];
  return [`start_date: all days ${describeDays({ start_date, end_date })} are still to come`];
}

/**
 * The name of an execution: export, range and start, such as
 * `daily-campaigns-20261001-20261101-20261121T041500123Z`. The start makes it unique, because Step Functions
 * refuses a name that was used in the last 90 days.
 */
export function executionName(
  { name, start_date, end_date }: Pick<ExportRequest, 'name' | 'start_date' | 'end_date'>,
  now: Date,
): string {
  const end = [start_date, end_date, now.toISOString()]
    .map((part) => part.replaceAll(/[-:.]/g, ''))
    .join('-');
  return `${name.slice(0, MAX_NAME_LENGTH - end.length - 1)}-${end}`;
}
