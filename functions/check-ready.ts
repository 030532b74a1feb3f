import pMap from 'p-map';
import { createHandler } from './aws/handler.ts';
import { createObjectStore } from './aws/objects.ts';
import { platformName, type RequestTarget, requestHash } from './decisions/request-hash.ts';
import { judgeDays, NOT_DELIVERED } from './deliveries/judge.ts';
import { daysIn } from './deliveries/missing.ts';
import { type RecordStore, readRecords, readWindows, type StoredDelivery } from './deliveries/records.ts';
import { type CheckedRun, type Readiness, ReadyCheck } from './workflow/ready.ts';
import { dateIn, describeDays, groupDays } from './workflow/request/dates.ts';
import { type ExportRequest, parseRequest, splitRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import type { Common } from './workflow/step.ts';

/** Accounts that are read at the same time. */
const PARALLEL = 10;

/** Seconds. */
export const BETWEEN_CHECKS = 15 * 60;

/**
 * Seven days: by then somebody has decided to leave it. Each check has about ten events, so a history has
 * 6,720 of the 25,000 that it may have.
 */
export const MAX_CHECKS = (7 * 24 * 3600) / BETWEEN_CHECKS;

interface Dependencies extends RequestTarget, Pick<Common, 'now'> {
  readonly store: RecordStore;
}

/**
 * Checks that the windows which a run had to deliver are there. Their keys are known, so it reads a few
 * objects of each account, however long the history is.
 *
 * @throws InvalidInput, AccessRefused, ServiceUnavailable
 */
export async function checkReady(run: ReadyCheck, dependencies: Dependencies): Promise<CheckedRun> {
  const scheduled_at = startOf(run).toISOString();
  const read = (input: object) => readAccount({ ...input, scheduled_at }, dependencies);
  const accounts = await pMap(run.requests, read, { concurrency: PARALLEL });
  const late = accounts.filter(({ missing }) => missing.length > 0);
  const checked = { ...run, checks: run.checks + 1, late: late.length };
  if (late.length === 0) {
    const isNews = run.checks > 0 || run.tell;
    return { ...checked, status: isNews ? 'ready' : 'done', readiness: describeReady(run, accounts) };
  }
  const status = run.checks === 0 ? 'late' : run.checks < MAX_CHECKS ? 'waiting' : 'done';
  return { ...checked, status, readiness: describeLate(run, late, accounts.length) };
}

/** When the run was due. */
function startOf({ checked_at, minutes_after_start }: ReadyCheck): Date {
  return new Date(Date.parse(checked_at) - minutes_after_start * 60_000);
}

interface CheckedAccount {
  readonly account: string;
  /** Days that were not delivered. */
  readonly missing: readonly string[];
  readonly deliveries: readonly StoredDelivery[];
}

async function readAccount(input: unknown, { store, now, ...target }: Dependencies): Promise<CheckedAccount> {
  const { request } = parseRequest(input, now());
  const windows = splitRequest(request);
  const own = await readWindows(store, request, windows);
  const missing = judge(request, own, target);
  if (missing.length === 0) return { account: request.account, missing, deliveries: own };
  // Windows of another run may have brought the days.
  const { deliveries } = await readRecords(store, request, request);
  return { account: request.account, missing: judge(request, deliveries, target), deliveries };
}

/** The days that `missing` would count as not delivered. */
function judge(
  request: ExportRequest,
  deliveries: readonly StoredDelivery[],
  target: RequestTarget,
): string[] {
  const timeZone = request.kind === 'report' ? (request.time_zone ?? 'UTC') : undefined;
  const days = splitRequest(request).flatMap(daysIn).toSorted();
  const states = judgeDays(days, { deliveries, hash: requestHash(request, target), timeZone });
  return days.filter((_, at) => NOT_DELIVERED.has(states[at] ?? 'absent'));
}

function describeLate(run: ReadyCheck, late: readonly CheckedAccount[], many: number): Readiness {
  const accounts = late.map(({ account, missing: days }) => {
    const missing = groupDays(days);
    const [first, last] = [missing[0]?.start_date, missing.at(-1)?.end_date];
    const range = `--from ${first} --to ${last} --only-missing`;
    return { account, missing, command: `npm run export -- run ${run.export} --account ${account} ${range}` };
  });
  const lines = accounts.flatMap(({ account, missing, command }) => [
    `${account} lacks ${missing.map(describeDays).join(', ')}. To export:`,
    `  ${command}`,
  ]);
  const words = `is late: ${late.length} of ${many} accounts`;
  return describe(run, words, accounts, lines);
}

function describeReady(run: ReadyCheck, ready: readonly CheckedAccount[]): Readiness {
  const accounts = ready.map(({ account, deliveries }) => {
    const rows = deliveries.reduce((sum, { manifest }) => sum + (manifest.rows ?? Number.NaN), 0);
    const sum = (name: 'restated' | 'held') =>
      deliveries.reduce((days, { manifest }) => days + (manifest.table?.[name] ?? 0), 0);
    const counts = { restated: sum('restated'), held: sum('held') };
    return { account, ...(!Number.isNaN(rows) && { rows }), ...counts };
  });
  const lines = accounts.map(
    ({ account, rows = 'uncounted', restated, held }) =>
      `${account}: ${rows} rows, ${restated} days restated, ${held} held`,
  );
  return describe(run, `is there: ${ready.length} accounts`, accounts, lines);
}

function describe(
  run: ReadyCheck,
  words: string,
  accounts: Readiness['accounts'],
  lines: readonly string[],
): Readiness {
  const { export: name, ready_by, time_zone } = run;
  const date = dateIn(time_zone, startOf(run));
  const subject = `${name} of ${date} ${words}`;
  const message = [`${subject}. It was due at ${ready_by} (${time_zone}).`, ...lines].join('\n');
  return { version: '1', export: name, ready_by, time_zone, date, accounts, subject, message };
}

export const handler = createHandler(READS.CheckReady, ReadyCheck, checkReady, (settings) => ({
  store: createObjectStore(settings),
  platform: platformName(settings.PLATFORM_BASE_URL),
  revision: settings.PLATFORM_REVISION,
}));
