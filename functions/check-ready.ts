import pMap from 'p-map';
import { createHandler } from './aws/handler.ts';
import { createObjectStore } from './aws/objects.ts';
import { runCommand } from './decisions/newcomers.ts';
import { type RequestTarget, requestHash, targetOf } from './decisions/request-hash.ts';
import { judgeDays, NOT_DELIVERED } from './deliveries/judge.ts';
import { daysIn } from './deliveries/missing.ts';
import { type RecordStore, readRecords, readWindows, type StoredDelivery } from './deliveries/records.ts';
import { count } from './workflow/count.ts';
import { parseCron } from './workflow/cron.ts';
import { type CheckedRun, type Readiness, ReadyCheck } from './workflow/ready.ts';
import { requestsIn } from './workflow/request/accounts.ts';
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

/** Ranges of an account in the event, and lines of a message. Both hold 256 KB. */
const MAX_RANGES = 5;
const MAX_LINES = 200;

/** Characters of a description that AWS's chat service takes. */
const MAX_CHAT = 8_000;

interface Dependencies extends RequestTarget, Pick<Common, 'now'> {
  readonly store: RecordStore;
  readonly program: string;
}

/**
 * Checks that the days of a run are there, from reports that were created since the run was due. The keys of
 * its windows are known, so it reads a few objects of each account, however long the history is.
 *
 * @throws InvalidInput, AccessRefused, ServiceUnavailable
 */
export async function checkReady(run: ReadyCheck, dependencies: Dependencies): Promise<CheckedRun> {
  const start = startOf(run);
  const read = (input: unknown) => readAccount(input, start, dependencies);
  const accounts = await pMap(run.requests.flatMap(requestsIn), read, { concurrency: PARALLEL });
  const late = accounts.filter(({ missing }) => missing.length > 0);
  const { checks } = run.checked ?? { checks: 0 };
  const isReady = late.length === 0;
  const readiness = isReady
    ? describeReady(run, accounts)
    : describeLate(run, late, accounts.length, dependencies.program);
  const status = isReady ? statusOfReady(checks, run.tell) : statusOfLate(checks);
  const notification = notificationOf(readiness);
  return { checks: checks + 1, late: late.length, status, readiness, notification };
}

function statusOfReady(checks: number, tell: boolean): CheckedRun['status'] {
  return checks > 0 || tell ? 'ready' : 'done';
}

function statusOfLate(checks: number): CheckedRun['status'] {
  if (checks === 0) return 'late';
  return checks < MAX_CHECKS ? 'waiting' : 'done';
}

/** When the run was due: the last start of its schedule before the first check. */
function startOf({ expression, time_zone, checked_at }: ReadyCheck): Date {
  const before = new Date(checked_at);
  return parseCron(expression, time_zone).previousRuns(1, before)[0] ?? before;
}

interface CheckedAccount {
  readonly request: ExportRequest;
  /** Days that were not delivered. */
  readonly missing: readonly string[];
}

async function readAccount(
  input: unknown,
  start: Date,
  { store, now, ...target }: Dependencies,
): Promise<CheckedAccount> {
  const { request } = parseRequest({ ...Object(input), scheduled_at: start.toISOString() }, now());
  const own = await readWindows(store, request, now(), splitRequest(request));
  const missing = lateDays(request, own, start, target);
  if (missing.length === 0) return { request, missing };
  // Windows of another run may have brought the days. A list is a snapshot, of which any later one will do.
  const end_date = request.kind === 'list' ? '9999' : request.end_date;
  const { deliveries } = await readRecords(store, request, now(), { ...request, end_date });
  return { request, missing: lateDays(request, deliveries, start, target) };
}

/** The days that no report since the start delivers. A list has all of them once it has any. */
function lateDays(
  request: ExportRequest,
  all: readonly StoredDelivery[],
  start: Date,
  target: RequestTarget,
): string[] {
  const days = splitRequest(request).flatMap(daysIn).toSorted();
  const hash = requestHash(request, target);
  const deliveries = all.filter(({ created_at }) => Date.parse(created_at) >= start.getTime());
  if (request.kind === 'list') return deliveries.some((each) => each.request_hash === hash) ? [] : days;
  const timeZone = request.kind === 'report' ? (request.time_zone ?? 'UTC') : undefined;
  const states = judgeDays(days, { deliveries, hash, timeZone });
  return days.filter((_, at) => NOT_DELIVERED.has(states[at] ?? 'absent'));
}

function describeLate(
  run: ReadyCheck,
  late: readonly CheckedAccount[],
  many: number,
  program: string,
): Readiness {
  const accounts = late.map(({ request: { account, kind }, missing: days }) => {
    const all = groupDays(days);
    const [first, last] = [all[0], all.at(-1)];
    const range = first && last && { start_date: first.start_date, end_date: last.end_date };
    const command = runCommand(program, { name: run.export, account }, kind === 'list' ? undefined : range);
    return { account, missing: all.slice(0, MAX_RANGES), command };
  });
  const lines = accounts.flatMap(({ account, missing, command }) => [
    `${account} lacks ${missing.map(describeDays).join(', ')}. If it is not running:`,
    `  ${command}`,
  ]);
  return describeRun(run, `late: ${late.length} of ${count(many, 'account')}`, accounts, lines);
}

function describeReady(run: ReadyCheck, ready: readonly CheckedAccount[]): Readiness {
  const accounts = ready.map(({ request: { account } }) => ({ account }));
  const lines = ready.map(({ request }) => `${request.account} has ${describeWanted(request)}.`);
  return describeRun(run, `there: ${count(ready.length, 'account')}`, accounts, lines);
}

/** A list may be of a later day than the run. */
function describeWanted(request: ExportRequest): string {
  return request.kind === 'list' ? 'its list' : describeDays(request);
}

/** A subject of SNS has at most 100 characters; a name has 64. */
function describeRun(
  run: ReadyCheck,
  words: string,
  accounts: Readiness['accounts'],
  lines: readonly string[],
): Readiness {
  const { export: name, ready_by, time_zone } = run;
  const date = dateIn(time_zone, startOf(run));
  const more =
    lines.length > MAX_LINES ? [`and ${count(lines.length - MAX_LINES, 'more line')}: see status`] : [];
  const title = `${name} of ${date} is ${words}, due at ${ready_by} (${time_zone}).`;
  const message = [title, ...lines.slice(0, MAX_LINES), ...more].join('\n');
  const subject = `${name} of ${date} is ${words.replace(/:.*/, '')}`;
  return { version: '1', export: name, ready_by, time_zone, date, accounts, subject, message };
}

/**
 * The message in two forms. AWS's chat service, which subscribes by https, drops plain text and takes a
 * custom notification. Mail and every other protocol get the text. The block keeps the commands as they are.
 */
function notificationOf({ subject: title, message }: Readiness): string {
  const block = (text: string) => ['```', text, '```'].join('\n');
  const rest = '\nand more: see status';
  const room = MAX_CHAT - block(rest).length;
  // No command is cut.
  const whole = message.slice(0, message.lastIndexOf('\n', room));
  const shown = message.length <= room ? message : whole + rest;
  const chat = { version: '1.0', source: 'custom', content: { title, description: block(shown) } };
  return JSON.stringify({ default: message, https: JSON.stringify(chat) });
}

export const handler = createHandler(READS.CheckReady, ReadyCheck, checkReady, (settings) => ({
  store: createObjectStore(settings),
  ...targetOf(settings),
  program: settings.PROGRAM,
}));
