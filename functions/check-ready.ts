import pMap from 'p-map';
import { type Catalog, catalogOf } from './aws/catalog.ts';
import { createHandler } from './aws/handler.ts';
import { createObjectStore } from './aws/objects.ts';
import { type DayStore, judgeStored, readTable } from './days/read-days.ts';
import { readRecords } from './days/records.ts';
import { daysIn } from './days/runs.ts';
import { parseCron } from './decisions/cron.ts';
import { type RequestTarget, requestHash, targetOf } from './decisions/request-hash.ts';
import { runCommand } from './decisions/run-command.ts';
import { reasonOf } from './tables/report.ts';
import { count } from './workflow/count.ts';
import { type CheckedRun, type Readiness, ReadyCheck } from './workflow/ready.ts';
import { requestsIn } from './workflow/request/accounts.ts';
import { dateIn, describeDays, groupDays } from './workflow/request/dates.ts';
import { type ExportRequest, parseRequest, splitRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import type { Common } from './workflow/step.ts';
import { tableOf } from './workflow/table.ts';

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
  const accounts = await pMap(run.requests.flatMap(requestsIn), read, { concurrency: PARALLEL });
  const late = accounts.filter(({ status }) => status === 'late');
  const unknown = accounts.filter(({ status }) => status === 'unknown');
  const ready = accounts.filter(({ status }) => status === 'ready');
  const { checks = 0, told } = run.checked ?? {};
  const isNews = ready.length > 0 && (checks > 0 || run.tell);
  const result = (status: CheckedRun['status'], readiness: Readiness, now = told): CheckedRun => {
    const common = { checks: checks + 1, late: late.length + unknown.length };
    return {
      ...common,
      status,
      ...(now && { told: now }),
      readiness,
      notification: notificationOf(readiness),
    };
  };
  if (late.length + unknown.length === 0) return result(isNews ? 'ready' : 'done', describeReady(run, ready));
  const readiness = describeLate(run, { late, unknown, all: accounts }, dependencies.program);
  // Whoever was told that nobody knows is told again that it is late.
  const now = late.length > 0 ? 'late' : 'unknown';
  if (told === undefined || (told === 'unknown' && now === 'late')) return result('late', readiness, now);
  return result(checks < MAX_CHECKS ? 'waiting' : 'done', readiness);
}

/** When the run was due: the last start of its schedule before the first check. */
function startOf({ expression, time_zone, checked_at }: ReadyCheck): Date {
  const before = new Date(checked_at);
  return parseCron(expression, time_zone).previousRuns(1, before)[0] ?? before;
}

/** The newest start of the run, if there was one after the start that is checked. */
function laterStart({ expression, time_zone }: ReadyCheck, start: Date, now: Date): Date | undefined {
  const [newest] = parseCron(expression, time_zone).previousRuns(1, now);
  return newest && newest > start ? newest : undefined;
}

interface CheckedAccount {
  readonly request: ExportRequest;
  /**
   * `ready`: its days are there · `late`: some are not · `unknown`: its table cannot be read ·
   * `passed`: a later start of the run is there, which never reads the oldest day of this one again
   */
  readonly status: 'ready' | 'late' | 'unknown' | 'passed';
  /** The days that are not there. */
  readonly late: readonly string[];
  /** Why its table cannot be read. */
  readonly reason?: string;
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
  { store, catalog, now, log, program, ...target }: Dependencies,
): Promise<CheckedAccount> {
  const { request } = parseRequest({ ...Object(input), scheduled_at: start.toISOString() }, now());
  const days = splitRequest(request).flatMap(daysIn).toSorted();
  const range = { start_date: days[0] ?? request.start_date, end_date: request.end_date };
  try {
    const table = tableOf(request);
    const schema = table === undefined ? undefined : await catalog?.getTable(table);
    const judged = { request, hash: requestHash(request, target), schema };
    const [records, entries] = await Promise.all([
      readRecords(store, request, now(), request.kind === 'list' ? undefined : range),
      readTable(store, judged, days),
    ]);
    // Any later snapshot of a list will do.
    const asked = request.kind === 'list' ? daysOfSnapshots(records.deliveries, days) : days;
    const states = judgeStored(asked, judged, records, entries, start);
    const isThere = ({ state }: { readonly state: string }) => state === 'there' || state === 'held';
    if (request.kind === 'list' && states.some(isThere)) return { request, status: 'ready', late: [] };
    const late = states.flatMap((day) => (isThere(day) ? [] : [day.day]));
    return { request, status: late.length > 0 ? 'late' : 'ready', late };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    log.warn('the days of an account are not known', { account: request.account, reason });
    return { request, status: 'unknown', late: [], reason };
  }
}

function daysOfSnapshots(
  deliveries: readonly { readonly start_date: string }[],
  days: readonly string[],
): string[] {
  return [...new Set([...days, ...deliveries.map(({ start_date }) => start_date)])].toSorted();
}

interface LateAccounts {
  readonly late: readonly CheckedAccount[];
  readonly unknown: readonly CheckedAccount[];
  readonly all: readonly CheckedAccount[];
}

function describeLate(run: ReadyCheck, { late, unknown, all }: LateAccounts, program: string): Readiness {
  const lacking = late.map(({ request: { account, kind }, late: days }) => {
    const ranges = groupDays(days);
    const [first, last] = [ranges[0], ranges.at(-1)];
    const range = first && last && { start_date: first.start_date, end_date: last.end_date };
    const command = runCommand(program, { name: run.export, account }, kind === 'list' ? undefined : range);
    return { account, missing: ranges.slice(0, MAX_RANGES), command };
  });
  const notKnown = unknown.map(({ request: { account }, reason = '' }) => ({ account, not_known: reason }));
  const lines = [
    ...lacking.flatMap(({ account, missing, command }) => [
      `${account} lacks ${missing.map(describeDays).join(', ')}. If it is not running:`,
      `  ${command}`,
    ]),
    ...notKnown.map(
      ({ account, not_known }) =>
        `${account} is not known, because its table cannot be read: ${not_known}. The next check tries again.`,
    ),
  ];
  const counted = (some: readonly CheckedAccount[]) => `${some.length} of ${count(all.length, 'account')}`;
  const words = [
    ...(late.length > 0 ? [`late: ${counted(late)}`] : []),
    ...(unknown.length > 0 ? [`not known: ${counted(unknown)}`] : []),
  ];
  return describeRun(run, words.join(', '), [...lacking, ...notKnown], lines);
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

export const handler = createHandler(READS.CheckReady, ReadyCheck, checkReady, (settings) => {
  return {
    store: createObjectStore(settings),
    catalog: catalogOf(settings),
    ...targetOf(settings),
    program: settings.PROGRAM,
  };
});
