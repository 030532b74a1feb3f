import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { platformName, type RequestTarget, requestHash } from './decisions/request-hash.ts';
import { findMissing } from './deliveries/missing.ts';
import type { Plan, RecordStore } from './deliveries/records.ts';
import { InvalidInput } from './workflow/errors.ts';
import { planKey } from './workflow/keys.ts';
import { parseRequest, splitRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import { type ExportPlan, PlanExportInput } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

interface Dependencies extends RequestTarget, Pick<Common, 'log'> {
  /** The accounts of this deployment. */
  readonly accounts: readonly string[];
  readonly store: RecordStore & Pick<ObjectStore, 'putJson'>;
}

/**
 * Checks the whole request before the platform is called, and splits its range into windows of at most 45
 * days (contract 8). With `only_missing`, leaves out the windows whose days were all delivered for the same
 * request. Writes a plan, which says what was asked for until all of it is delivered.
 *
 * @throws InvalidInput with every fault
 * @throws AccessRefused, ServiceUnavailable
 */
export async function planExport(
  { request: input, execution, started_at }: PlanExportInput,
  { accounts, log, ...deployment }: Dependencies,
): Promise<ExportPlan> {
  const { request, warnings, onlyMissing } = parseRequest(input, new Date(started_at));
  if (!accounts.includes(request.account)) {
    const fault = `account: ${request.account} is not one of this deployment's (${accounts.join(', ')})`;
    throw new InvalidInput(`The request has a fault, and nothing was exported: ${fault}.`, {
      faults: [fault],
    });
  }
  const windows = splitRequest(request);
  const plan = onlyMissing
    ? await findMissing(request, windows, { ...deployment, ...onlyMissing })
    : { windows, warnings: [] };
  const request_hash = requestHash(request, deployment);
  const since = onlyMissing?.since.toISOString() ?? started_at;
  const asked: Plan = { version: '1', execution, since, started_at, request_hash, request };
  // With `only_missing`, the plan of the export that it continues stays.
  await deployment.store.putJson(planKey(request, request), asked, onlyMissing && 'absent');
  const allWarnings = [...warnings, ...plan.warnings];
  for (const warning of allWarnings) log.warn(warning, { execution });
  return { execution, started_at, request, ...plan, warnings: allWarnings, advertisers: null };
}

export const handler = createHandler(READS.PlanExport, PlanExportInput, planExport, (settings) => {
  const { ACCOUNTS, PLATFORM_BASE_URL, PLATFORM_REVISION } = settings;
  return {
    accounts: ACCOUNTS.split(','),
    store: createObjectStore(settings),
    platform: platformName(PLATFORM_BASE_URL),
    revision: PLATFORM_REVISION,
  };
});
