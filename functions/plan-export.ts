import { hash } from 'node:crypto';
import pMap from 'p-map';
import { catalogOf } from './aws/catalog.ts';
import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { beginRun } from './days/begin-run.ts';
import { type ConfigAccess, compareWithConfigured, judgingOf } from './days/configured-request.ts';
import { PARALLEL_READS } from './days/read-all.ts';
import type { DayStore } from './days/read-days.ts';
import { targetOf } from './decisions/request-hash.ts';
import { AccountsInput, isOfAccounts, parseRequests } from './workflow/request/accounts.ts';
import { type ExportRequest, parseRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import type { Window } from './workflow/state-parts.ts';
import { type ExportPlan, PlanExportInput } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

interface Dependencies extends ConfigAccess, Pick<Common, 'log' | 'now'> {
  readonly store: DayStore & Pick<ObjectStore, 'putJson' | 'remove'>;
}

/**
 * Checks the whole request before the platform is called, and splits its range into windows of at most as
 * many days as a report may have. With `only_missing`, leaves out the windows without a day to mend; with
 * `resumes`, the windows that the earlier execution has finished. Writes the run, which says what was asked
 * for until all of it is delivered.
 *
 * @throws InvalidInput with every fault, or if the config has another request under the export's name
 * @throws AccessRefused, ServiceUnavailable
 */
export async function planExport(
  { request: input, execution, started_at }: PlanExportInput,
  dependencies: Dependencies,
): Promise<ExportPlan | AccountsPlan> {
  if (isOfAccounts(input)) return planAccounts(input, execution, started_at, dependencies);
  const { log, now, store } = dependencies;
  const parsed = parseRequest(input, new Date(started_at));
  const { request } = parsed;
  const configured = await compareWithConfigured([request], dependencies);
  const judged = judgingOf(request, configured, dependencies);
  const chosen = await beginRun({ parsed, execution, started_at }, judged, store, now());
  const warnings = [...parsed.warnings, ...configured.warnings, ...chosen.warnings];
  for (const warning of warnings) log.warn(warning, { execution });
  const { windows, already_delivered } = chosen;
  return {
    execution,
    started_at,
    request,
    windows: withTotals(windows, request),
    ...(already_delivered !== undefined && { already_delivered }),
    warnings,
    advertisers: null,
  };
}

/** The platform's own total of a window is a window beside it. */
function withTotals(windows: readonly Window[], request: ExportRequest): Window[] {
  if (request.kind !== 'report' || request.reconcile !== true) return [...windows];
  return windows.flatMap((window) => [window, { ...window, content: 'total' as const }]);
}

/** Each account becomes an execution, whose input joins its facts and the request. */
export type AccountsPlan = Awaited<ReturnType<typeof planAccounts>>;

/**
 * All accounts export the same days, however late they start. EventBridge Scheduler may start a run twice, so
 * the executions of a scheduled run have the same names each time, and Step Functions starts a name once. A
 * person who starts or resumes an export means it: then the names depend on the execution's own.
 *
 * Writes the run of each account before the first one starts: an execution that cannot be started leaves a
 * trace.
 */
async function planAccounts(
  input: unknown,
  execution: string,
  started_at: string,
  dependencies: Dependencies,
) {
  const { store, now } = dependencies;
  const parsed = parseRequests(input, new Date(started_at));
  const { accounts, max_accounts, ...request } = AccountsInput.parse(input);
  const isScheduled =
    request.scheduled_at !== undefined && request.only_missing === undefined && request.resumes === undefined;
  const nameOf = (facts: { readonly account: string }) => {
    const text = JSON.stringify([isScheduled ? request.scheduled_at : execution, request, facts]);
    const suffix = hash('sha256', text).slice(0, 16);
    // A name has up to 80 characters: 30 + 1 + 32 + 1 + 16.
    return `${String(request.name).slice(0, 30)}-${facts.account.slice(0, 32)}-${suffix}`;
  };
  const planned = accounts.map((facts) => ({ account: facts.account, name: nameOf(facts), facts }));
  const configured = await compareWithConfigured(
    parsed.map((child) => child.request),
    dependencies,
  );
  const byAccount = new Map(parsed.map((child) => [child.request.account, child]));
  const announce = async ({ account, name }: (typeof planned)[number]) => {
    const child = byAccount.get(account);
    if (!child) throw new Error(`The input has no request of account ${account}`);
    const beginning = { parsed: child, execution: name, parent: execution, started_at };
    await beginRun(beginning, judgingOf(child.request, configured, dependencies), store, now());
  };
  await pMap(planned, announce, { concurrency: PARALLEL_READS });
  return {
    execution,
    started_at,
    request: { scheduled_at: started_at, ...request },
    max_accounts,
    accounts: planned,
  };
}

export const handler = createHandler(READS.PlanExport, PlanExportInput, planExport, (settings) => ({
  store: createObjectStore(settings),
  catalog: catalogOf(settings),
  ...targetOf(settings),
}));
