import pMap from 'p-map';
import { type Catalog, catalogOf } from './aws/catalog.ts';
import { createHandler } from './aws/handler.ts';
import { createObjectStore } from './aws/objects.ts';
import { type DayStore, readDays, type StoredDay } from './days/read-days.ts';
import { daysIn } from './days/runs.ts';
import {
  type CheckedAccount,
  describeLate,
  describeReady,
  laterStart,
  notificationOf,
  startOf,
} from './decisions/readiness.ts';
import { type RequestTarget, requestHash, targetOf } from './decisions/request-hash.ts';
import { reasonOf } from './tables/report.ts';
import { type CheckedRun, type Readiness, ReadyCheck } from './workflow/ready.ts';
import { requestsIn } from './workflow/request/accounts.ts';
import { addDays, daysOf } from './workflow/request/dates.ts';
import { type ExportRequest, parseRequest, splitRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import type { Common } from './workflow/step.ts';
import { tableOf } from './workflow/table.ts';

/** Accounts that are read at the same time. */
const PARALLEL_ACCOUNTS = 10;

/** Seconds. */
export const BETWEEN_CHECKS = 15 * 60;

/**
 * Seven days: by then somebody has decided to leave it. Each check has about ten events, so a history has
 * 6,720 of the 25,000 that it may have.
 */
export const MAX_CHECKS = (7 * 24 * 3600) / BETWEEN_CHECKS;

interface Dependencies extends RequestTarget, Pick<Common, 'now' | 'log'> {
  readonly store: DayStore;
  /** Undefined if the stack has no tables. */
  readonly catalog: Catalog | undefined;
  readonly program: string;
}

/**
 * Checks that the days of a run are there, or held, by reports that were created since the run was due.
 *
 * @throws InvalidInput, AccessRefused, ServiceUnavailable
 */
export async function checkReady(run: ReadyCheck, dependencies: Dependencies): Promise<CheckedRun> {
  const read = (input: unknown) => readAccount(run, input, dependencies);
  const accounts = await pMap(run.requests.flatMap(requestsIn), read, { concurrency: PARALLEL_ACCOUNTS });
  const { checks = 0, told } = run.checked ?? {};
  const withStatus = (status: CheckedAccount['status']) =>
    accounts.filter((account) => account.status === status);
  const late = withStatus('late');
  const unknown = withStatus('unknown');
  const ready = withStatus('ready');
  const result = (status: CheckedRun['status'], readiness: Readiness, tell = told): CheckedRun => ({
    checks: checks + 1,
    late: late.length + unknown.length,
    status,
    ...(tell && { told: tell }),
    readiness,
    notification: notificationOf(readiness),
  });
  if (late.length + unknown.length === 0) {
    const isNews = ready.length > 0 && (checks > 0 || run.tell);
    return result(isNews ? 'ready' : 'done', describeReady(run, ready));
  }
  const readiness = describeLate(run, { late, unknown, all: accounts }, dependencies.program);
  // A person who was told that nobody knows is told again that it is late.
  const tell = late.length > 0 ? 'late' : 'unknown';
  if (told === undefined || (told === 'unknown' && tell === 'late')) return result('late', readiness, tell);
  return result(checks < MAX_CHECKS ? 'waiting' : 'done', readiness);
}

async function readAccount(
  run: ReadyCheck,
  input: unknown,
  dependencies: Dependencies,
): Promise<CheckedAccount> {
  const { now, log } = dependencies;
  const start = startOf(run);
  const checked = await readStart(input, start, dependencies);
  if (checked.status !== 'late') return checked;
  const later = laterStart(run, start, now());
  const passed = later && (await readStart(input, later, dependencies));
  if (passed?.status !== 'ready') return checked;
  log.info('a later start of the run is there', { account: checked.request.account });
  return { ...checked, status: 'passed' };
}

/** The days of one start of the run, by reports that were created since then. */
async function readStart(
  input: unknown,
  start: Date,
  { store, catalog, now, log, ...target }: Dependencies,
): Promise<CheckedAccount> {
  const { request } = parseRequest({ ...Object(input), scheduled_at: start.toISOString() }, now());
  const unknown = (reason: string): CheckedAccount => {
    log.warn('the days of an account are not known', { account: request.account, reason });
    return { request, status: 'unknown', late: [], reason };
  };
  try {
    const table = tableOf(request);
    const schema = table === undefined ? undefined : await catalog?.getTable(table);
    const judged = { request, hash: requestHash(request, target), schema };
    const { days, unread } = await readDays(store, judged, daysToRead(request, now()), now(), start);
    if (unread !== undefined) return unknown(unread);
    const late = lateDays(request, days);
    return { request, status: late.length > 0 ? 'late' : 'ready', late };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return unknown(reason);
  }
}

/** Any later snapshot of a list will do, so all days until now are read. A time zone may be a day ahead. */
function daysToRead(request: ExportRequest, now: Date): string[] {
  const days = splitRequest(request).flatMap(daysIn).toSorted();
  if (request.kind !== 'list') return days;
  const today = now.toISOString().slice(0, 'YYYY-MM-DD'.length);
  return [...new Set([...days, ...daysOf({ start_date: request.start_date, end_date: addDays(today, 2) })])];
}

/** The days of the request that are not there. Of a list, its own day, unless there is a later snapshot. */
function lateDays(request: ExportRequest, days: readonly StoredDay[]): string[] {
  const late = days.filter(({ state }) => state !== 'there' && state !== 'held').map(({ day }) => day);
  if (request.kind !== 'list') return late;
  return late.length < days.length ? [] : [request.start_date];
}

export const handler = createHandler(READS.CheckReady, ReadyCheck, checkReady, (settings) => ({
  store: createObjectStore(settings),
  catalog: catalogOf(settings),
  ...targetOf(settings),
  program: settings.PROGRAM,
}));
