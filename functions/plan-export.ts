import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { findMissing } from './decisions/missing.ts';
import { platformName } from './decisions/platform-request.ts';
import { InvalidInput } from './workflow/errors.ts';
import { splitIntoWindows } from './workflow/request/dates.ts';
import { type ExportRequest, parseRequest } from './workflow/request/request.ts';
import { type ExportPlan, PlanExportInput, type Window } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

interface Dependencies {
  /** The accounts that this deployment has secrets for. */
  readonly accounts: readonly string[];
  readonly store: Pick<ObjectStore, 'getText' | 'head'>;
  /** See {@link platformName}. */
  readonly platform: string;
  /** X-Service-Revision where the request names none. */
  readonly revision: string;
}

/**
 * Checks the whole request before anything is asked of the platform, and splits its range into windows of at most 45
 * days (contract 8). With `only_missing`, those that were delivered before for the same request are left out.
 *
 * @throws InvalidInput with every fault
 * @throws AccessRefused, ServiceUnavailable
 */
export async function planExport(
  { request: input, execution, started_at }: PlanExportInput,
  { accounts, log, ...former }: Dependencies & Pick<Common, 'log'>,
): Promise<ExportPlan> {
  const { request, warnings, onlyMissingSince: since, timeZone } = parseRequest(input, new Date(started_at));
  if (!accounts.includes(request.account)) {
    const faults = [`account: ${request.account} is not one of this deployment's (${accounts.join(', ')})`];
    throw new InvalidInput(`The request has a fault, and nothing was exported: ${faults.join()}.`, {
      faults,
    });
  }
  const windows = windowsOf(request);
  const plan = since
    ? await findMissing(request, windows, { ...former, since, ...(timeZone && { timeZone }) })
    : { windows, warnings: [] };
  const planned = { execution, started_at, request, ...plan, warnings: [...warnings, ...plan.warnings] };
  for (const warning of planned.warnings) log.warn(warning, { execution });
  return planned;
}

/** Only a report's range has a limit that it must be split at; the others are one query, or one snapshot. */
function windowsOf(request: ExportRequest): Window[] {
  if (request.kind === 'report') return splitIntoWindows(request);
  return [{ start_date: request.start_date, end_date: request.end_date }];
}

export const handler = createHandler(PlanExportInput, planExport, (settings) => ({
  accounts: settings.ACCOUNTS.split(','),
  store: createObjectStore(settings),
  platform: platformName(settings.PLATFORM_BASE_URL),
  revision: settings.PLATFORM_REVISION,
}));
