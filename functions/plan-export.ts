import { hash } from 'node:crypto';
import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { type RequestTarget, requestHash, targetOf } from './decisions/request-hash.ts';
import { findMissing } from './deliveries/missing.ts';
import type { Plan, RecordStore } from './deliveries/records.ts';
import { planKey } from './workflow/keys.ts';
import { AccountsInput, isOfAccounts, parseRequests } from './workflow/request/accounts.ts';
import { type ExportRequest, parseRequest, splitRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import type { Window } from './workflow/state-parts.ts';
import { type ExportPlan, PlanExportInput } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

interface Dependencies extends RequestTarget, Pick<Common, 'log' | 'now'> {
  readonly store: RecordStore & Pick<ObjectStore, 'putJson'>;
}

/**
 * Checks the whole request before the platform is called, and splits its range into windows of at most 45
 * days (contract 8). With `only_missing`, leaves out the windows that have no day to export. Writes a plan,
 * which says what was asked for until a run of the range has delivered all that it was to export.
 *
 * @throws InvalidInput with every fault
 * @throws AccessRefused, ServiceUnavailable
 */
export async function planExport(
  { request: input, execution, started_at }: PlanExportInput,
  { log, ...deployment }: Dependencies,
): Promise<ExportPlan | AccountsPlan> {
  if (isOfAccounts(input)) return planAccounts(input, execution, started_at);
  const { request, warnings, onlyMissing } = parseRequest(input, new Date(started_at));
  const windows = splitRequest(request);
  const plan = onlyMissing
    ? await findMissing(request, windows, { ...deployment, ...onlyMissing })
    : { windows };
  const request_hash = requestHash(request, deployment);
  const since = onlyMissing?.since.toISOString() ?? started_at;
  const asked: Plan = { version: '1', execution, since, started_at, request_hash, request };
  // With `only_missing`, the plan of the export that it continues stays.
  await deployment.store.putJson(planKey(request, request), asked, onlyMissing && 'absent');
  for (const warning of warnings) log.warn(warning, { execution });
  const all = withTotals(plan.windows, request);
  return { execution, started_at, request, ...plan, windows: all, warnings, advertisers: null };
}

/** The platform's own total of a window is a window beside it. */
function withTotals(windows: readonly Window[], request: ExportRequest): Window[] {
  if (request.kind !== 'report' || request.reconcile !== true) return [...windows];
  return windows.flatMap((window) => [window, { ...window, content: 'total' as const }]);
}

/** Each account becomes an execution, whose input joins its facts and the request. */
export type AccountsPlan = ReturnType<typeof planAccounts>;

/**
 * All accounts export the same days, however late they start. EventBridge Scheduler may start a run twice, so
 * the executions of a scheduled run have the same names each time, and Step Functions starts a name once. A
 * person who starts or resumes an export means it: then the names depend on the execution's own.
 */
function planAccounts(input: unknown, execution: string, started_at: string) {
  parseRequests(input, new Date(started_at));
  const { accounts, max_accounts, ...request } = AccountsInput.parse(input);
  const isScheduled = request.scheduled_at !== undefined && request.only_missing === undefined;
  const nameOf = (facts: { readonly account: string }) => {
    const text = JSON.stringify([isScheduled ? '' : execution, request, facts]);
    const suffix = hash('sha256', text).slice(0, 16);
    // A name has up to 80 characters: 30 + 1 + 32 + 1 + 16.
    return `${String(request.name).slice(0, 30)}-${facts.account.slice(0, 32)}-${suffix}`;
  };
  return {
    execution,
    started_at,
    request: { scheduled_at: started_at, ...request },
    max_accounts,
    accounts: accounts.map((facts) => ({ account: facts.account, name: nameOf(facts), facts })),
  };
}

export const handler = createHandler(READS.PlanExport, PlanExportInput, planExport, (settings) => ({
  store: createObjectStore(settings),
  ...targetOf(settings),
}));
