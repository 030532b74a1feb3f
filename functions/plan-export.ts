import { createCatalog } from './aws/catalog.ts';
import { createHandler } from './aws/handler.ts';
import { createObjectStore } from './aws/objects.ts';
import { findAdoptable } from './decisions/adopt.ts';
import { type DeliveredObjects, findMissing, type TablePartitions } from './decisions/missing.ts';
import { platformName } from './decisions/platform-request.ts';
import type { RequestTarget } from './decisions/request-hash.ts';
import { InvalidInput } from './workflow/errors.ts';
import { splitIntoWindows } from './workflow/request/dates.ts';
import { type ExportRequest, parseRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import type { Window } from './workflow/state-parts.ts';
import { type ExportPlan, PlanExportInput } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

interface Dependencies extends RequestTarget, Pick<Common, 'log'> {
  /** The accounts of this deployment. */
  readonly accounts: readonly string[];
  readonly store: DeliveredObjects;
  /** Undefined if the stack has no tables. */
  readonly catalog: TablePartitions | undefined;
}

/**
 * Checks the whole request before the platform is called, and splits its range into windows of at most 45 days (contract
 * 8). With `only_missing`, leaves out the windows that were already delivered for the same request. An execution that resumes another
 * one gets the reports that it may adopt.
 *
 * @throws InvalidInput with every fault
 * @throws AccessRefused, ServiceUnavailable
 */
export async function planExport(
  { request: input, execution, started_at }: PlanExportInput,
  { accounts, log, ...deployment }: Dependencies,
): Promise<ExportPlan> {
  const { request, warnings, onlyMissingSince: since, timeZone } = parseRequest(input, new Date(started_at));
  if (!accounts.includes(request.account)) {
    const fault = `account: ${request.account} is not one of this deployment's (${accounts.join(', ')})`;
    throw new InvalidInput(`The request has a fault, and nothing was exported: ${fault}.`, {
      faults: [fault],
    });
  }
  const windows = splitRequest(request);
  const plan = since
    ? await findMissing(request, windows, { ...deployment, since, ...(timeZone && { timeZone }) })
    : { windows, warnings: [] };
  const allWarnings = [...warnings, ...plan.warnings];
  for (const warning of allWarnings) log.warn(warning, { execution });
  const planned = await findAdoptable(request, plan.windows, { ...deployment, execution });
  return { execution, started_at, request, ...plan, windows: planned, warnings: allWarnings };
}

/** Only a report's range has a limit. Purchases take one query, and a list is one snapshot. */
function splitRequest(request: ExportRequest): Window[] {
  if (request.kind === 'report') return splitIntoWindows(request);
  return [{ start_date: request.start_date, end_date: request.end_date }];
}

export const handler = createHandler(READS.PlanExport, PlanExportInput, planExport, (settings) => {
  const { ACCOUNTS, BUCKET, GLUE_DATABASE, PLATFORM_BASE_URL, PLATFORM_REVISION } = settings;
  return {
    accounts: ACCOUNTS.split(','),
    store: createObjectStore(settings),
    catalog: GLUE_DATABASE === undefined ? undefined : createCatalog({ BUCKET, GLUE_DATABASE }),
    platform: platformName(PLATFORM_BASE_URL),
    revision: PLATFORM_REVISION,
  };
});
