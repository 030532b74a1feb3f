import { count } from '../workflow/count.ts';
import type { Readiness, ReadyCheck } from '../workflow/ready.ts';
import { dateIn, describeDays, groupDays } from '../workflow/request/dates.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import { parseCron } from './cron.ts';
import { runCommand } from './run-command.ts';

/** Ranges of an account in the event, and lines of a message. Both hold 256 KB. */
const MAX_RANGES = 5;
const MAX_LINES = 200;

/** Characters of a description that AWS's chat service takes. */
const MAX_CHAT = 8_000;

/** When the run was due: the last start of its schedule before the first check. */
export function startOf({ expression, time_zone, checked_at }: ReadyCheck): Date {
  const before = new Date(checked_at);
  return parseCron(expression, time_zone).previousRuns(1, before)[0] ?? before;
}

/** The newest start of the run, if there was one after the start that is checked. */
export function laterStart({ expression, time_zone }: ReadyCheck, start: Date, now: Date): Date | undefined {
  const [newest] = parseCron(expression, time_zone).previousRuns(1, now);
  return newest && newest > start ? newest : undefined;
}

export interface CheckedAccount {
  readonly request: ExportRequest;
  /**
   * `ready`: its days are there · `late`: some are not · `unknown`: its table cannot be read ·
   * `passed`: the days of a later start are there. A later start does not read the oldest day of this one
   */
  readonly status: 'ready' | 'late' | 'unknown' | 'passed';
  /** The days that are not there. */
  readonly late: readonly string[];
  /** Why its table cannot be read. */
  readonly reason?: string;
}

interface LateAccounts {
  readonly late: readonly CheckedAccount[];
  readonly unknown: readonly CheckedAccount[];
  readonly all: readonly CheckedAccount[];
}

export function describeLate(
  run: ReadyCheck,
  { late, unknown, all }: LateAccounts,
  program: string,
): Readiness {
  const lacking = late.map(({ request: { account, kind }, late: days }) => {
    const ranges = groupDays(days);
    const [first, last] = [ranges[0], ranges.at(-1)];
    const range = first && last && { start_date: first.start_date, end_date: last.end_date };
    const command = runCommand(program, { name: run.export, account }, kind === 'list' ? undefined : range);
    return { account, missing: ranges.slice(0, MAX_RANGES), command };
  });
  const notKnown = unknown.flatMap(({ request: { account }, reason }) =>
    reason === undefined ? [] : [{ account, not_known: reason }],
  );
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

export function describeReady(run: ReadyCheck, ready: readonly CheckedAccount[]): Readiness {
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
export function notificationOf({ subject: title, message }: Readiness): string {
  const block = (text: string) => ['```', text, '```'].join('\n');
  const rest = '\nand more: see status';
  const room = MAX_CHAT - block(rest).length;
  // No command is cut.
  const whole = message.slice(0, message.lastIndexOf('\n', room));
  const shown = message.length <= room ? message : whole + rest;
  const chat = { version: '1.0', source: 'custom', content: { title, description: block(shown) } };
  return JSON.stringify({ default: message, https: JSON.stringify(chat) });
}
