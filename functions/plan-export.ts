import { hash } from 'node:crypto';
import { type Catalog, createCatalog } from './aws/catalog.ts';
import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { type DayStore, type JudgedExport, readDays } from './days/read-days.ts';
import { readRecords } from './days/records.ts';
import { daysIn, daysToRenew, parseRun, type Run, readRuns } from './days/runs.ts';
import { type RequestTarget, requestHash, targetOf } from './decisions/request-hash.ts';
import { ExportError, InvalidInput, readMessage } from './workflow/errors.ts';
import { runKey } from './workflow/keys.ts';
import { AccountsInput, isOfAccounts, parseRequests } from './workflow/request/accounts.ts';
import {
  type ExportRequest,
  type Manner,
  type ParsedRequest,
  parseRequest,
  splitRequest,
} from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import type { Window } from './workflow/state-parts.ts';
import { type ExportPlan, PlanExportInput } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';
import { differenceOf, type TableSchema, tableOf } from './workflow/table.ts';

interface Dependencies extends RequestTarget, Pick<Common, 'log' | 'now'> {
  readonly store: DayStore & Pick<ObjectStore, 'putJson' | 'remove'>;
  /** Undefined if the stack has no tables. */
  readonly catalog: Catalog | undefined;
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
  const { request, manner } = parsed;
  const hash = requestHash(request, dependencies);
  const configured = await findConfigured(request, hash, dependencies.catalog);
  const { schema, unread } = configured;
  const chosen = await chooseWindows({ request, hash, schema, unread }, manner, store, now());
  const key = runKey(request, execution);
  // An execution of several accounts has announced this one.
  const announced = parseRun((await store.getText(key)) ?? '', key, request, now());
  const run: Run = {
    version: '1',
    execution,
    ...(announced?.parent !== undefined && { parent: announced.parent }),
    ...(manner.run !== undefined && { run: manner.run }),
    began_at: manner.scheduledAt ?? started_at,
    request,
    windows: chosen.windows,
    ...chosen.resumed,
  };
  if (run.windows.length > 0) await store.putJson(key, run);
  for (const earlier of chosen.finished) await store.remove(runKey(request, earlier));
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

interface Configured {
  readonly schema?: TableSchema | undefined;
  readonly warnings: readonly string[];
  /** The reason why nobody knows whether the export has a table. */
  readonly unread?: string | undefined;
}

/**
 * A name is one request: another one would replace the configured one's files. An export without a table has
 * nothing to be compared with.
 *
 * @throws InvalidInput
 */
async function findConfigured(
  request: ExportRequest,
  hash: string,
  catalog: Catalog | undefined,
): Promise<Configured> {
  if (catalog === undefined || request.kind === 'purchases') return { warnings: [] };
  try {
    // Whatever `table` of the request says: the file would replace the configured one's.
    const schema = await catalog.getTable(request.name);
    const configured = schema?.requests[request.account];
    if (schema && configured !== undefined && configured !== hash)
      throw new InvalidInput(`The request has a fault, and nothing was exported.`, {
        faults: [
          `name: account ${request.account} has another request under the name ${request.name} in the deployed config; it differs in ${differenceOf(request, schema)}. Give this one another name`,
        ],
      });
    return { schema: tableOf(request) === undefined ? undefined : schema, warnings: [] };
  } catch (error) {
    // What Glue or Lake Formation does not answer concerns the table only. CurateReport looks again.
    if (error instanceof InvalidInput || !(error instanceof ExportError)) throw error;
    const { happened } = readMessage(error.message);
    const reason = happened.replace(/\.$/, '');
    return { warnings: [`the request was not compared with the configured one: ${reason}`], unread: reason };
  }
}

interface ChosenWindows extends Pick<ExportPlan, 'windows' | 'already_delivered'> {
  readonly warnings: readonly string[];
  /** Executions whose run objects this execution takes over. */
  readonly finished: readonly string[];
  /** What the run keeps of the one that it finishes. */
  readonly resumed?: Partial<Pick<Run, 'run' | 'began_at' | 'windows'>>;
}

/** @param judged `unread`: the reason why nobody knows whether it has a table */
async function chooseWindows(
  judged: JudgedExport & Pick<Configured, 'unread'>,
  { onlyMissing, resumes }: Manner,
  store: DayStore,
  now: Date,
): Promise<ChosenWindows> {
  const windows = splitRequest(judged.request);
  if (resumes) return chooseUnfinished(judged.request, windows, resumes, store, now);
  if (!onlyMissing) return { windows, warnings: [], finished: [] };
  const days = windows.flatMap(daysIn).toSorted();
  const read = await readDays(store, judged, days, now);
  const toMend = new Set(
    read.days.flatMap(({ day, state }) => (state === 'missing' || state === 'older' ? [day] : [])),
  );
  const unread = read.unread ?? judged.unread;
  const older = read.days.filter(({ state }) => state === 'older').length;
  const warnings = [
    ...(unread === undefined
      ? []
      : [`the table cannot be read, so only manifests tell what is missing: ${unread}`]),
    ...(older === 0
      ? []
      : [
          `days that the request delivered as it was before the config changed, and that are exported again: ${older}`,
        ]),
  ];
  return { ...leaveOut(windows, toMend), warnings, finished: [] };
}

/** The windows with a day that no report has delivered that was created since the earlier execution began. */
async function chooseUnfinished(
  request: ExportRequest,
  windows: Window[],
  resumes: NonNullable<Manner['resumes']>,
  store: DayStore,
  now: Date,
): Promise<ChosenWindows> {
  const { records: runs } = await readRuns(store, request, now);
  const earlier = runs.filter(
    ({ execution, parent }) => execution === resumes.execution || parent === resumes.execution,
  );
  const [first] = earlier;
  const began_at = first?.began_at ?? resumes.began_at;
  const asked = first?.windows ?? windows;
  // A list is a snapshot of today, whatever day the earlier execution was to bring.
  const isList = request.kind === 'list';
  const { deliveries } = await readRecords(store, request, now, isList ? undefined : request);
  const open = daysToRenew({ began_at, request, windows: asked }, deliveries);
  const wanted = new Set(isList && open.length > 0 ? windows.flatMap(daysIn) : open);
  return {
    ...leaveOut(windows, wanted),
    warnings: [],
    finished: earlier.map(({ execution }) => execution),
    resumed: { began_at, windows: asked, ...(first?.run !== undefined && { run: first.run }) },
  };
}

function leaveOut(windows: Window[], wanted: ReadonlySet<string>) {
  const chosen = windows.filter((window) => daysIn(window).some((day) => wanted.has(day)));
  return { windows: chosen, already_delivered: windows.length - chosen.length };
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
  { store }: Pick<Dependencies, 'store'>,
) {
  const parsed = parseRequests(input, new Date(started_at));
  const { accounts, max_accounts, ...request } = AccountsInput.parse(input);
  const isScheduled =
    request.scheduled_at !== undefined && request.only_missing === undefined && request.resumes === undefined;
  const nameOf = (facts: { readonly account: string }) => {
    const text = JSON.stringify([isScheduled ? '' : execution, request, facts]);
    const suffix = hash('sha256', text).slice(0, 16);
    // A name has up to 80 characters: 30 + 1 + 32 + 1 + 16.
    return `${String(request.name).slice(0, 30)}-${facts.account.slice(0, 32)}-${suffix}`;
  };
  const planned = accounts.map((facts) => ({ account: facts.account, name: nameOf(facts), facts }));
  const names = new Map(planned.map(({ account, name }) => [account, name]));
  await Promise.all(parsed.map((account) => announceRun(account, names, execution, started_at, store)));
  return {
    execution,
    started_at,
    request: { scheduled_at: started_at, ...request },
    max_accounts,
    accounts: planned,
  };
}

/** The account's own PlanExport replaces it, and knows which windows it exports. */
async function announceRun(
  { request, manner }: ParsedRequest,
  names: ReadonlyMap<string, string>,
  parent: string,
  started_at: string,
  store: Pick<Dependencies['store'], 'putJson'>,
): Promise<void> {
  const execution = names.get(request.account);
  // What `resumes` names has its run already, and with `only_missing` there may be nothing to do.
  if (execution === undefined || manner.resumes || manner.onlyMissing) return;
  const run: Run = {
    version: '1',
    execution,
    parent,
    ...(manner.run !== undefined && { run: manner.run }),
    began_at: manner.scheduledAt ?? started_at,
    request,
    windows: splitRequest(request),
  };
  await store.putJson(runKey(request, execution), run);
}

export const handler = createHandler(READS.PlanExport, PlanExportInput, planExport, (settings) => {
  const { GLUE_DATABASE } = settings;
  return {
    store: createObjectStore(settings),
    catalog: GLUE_DATABASE === undefined ? undefined : createCatalog({ GLUE_DATABASE }),
    ...targetOf(settings),
  };
});
