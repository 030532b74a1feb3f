import { type Call, decide } from '../decisions/platform-failure.ts';
import {
  isOutOfTime,
  MAX_THROTTLED,
  MAX_THROTTLED_IN_ALL,
  MAX_WINDOW_HOURS,
  throttleWait,
} from '../decisions/waits.ts';
import type { Authorization, Platform } from '../platform/connection.ts';
import { PlatformError } from '../platform/errors.ts';
import { logCalls } from '../platform/log-calls.ts';
import { getReport, type ReportRecord, STATUSES } from '../platform/reports.ts';
import { OutOfTime, RateLimited } from '../workflow/errors.ts';
import type { AuthorizedWindow, ReportRef, TokenRef, WindowState } from '../workflow/states.ts';
import type { Common } from '../workflow/step.ts';
import { scopeOf } from './scope.ts';

/** What a step needs to call the platform. */
export interface PlatformAccess extends Pick<Common, 'log' | 'now'> {
  readonly platform: (revision: string | undefined) => Platform;
  readonly readToken: (account: string, token: TokenRef) => Promise<Authorization>;
}

/** The platform asked to wait: a value, not an error, because the waiting is done by the state machine. */
export class Throttled {
  readonly seconds: number;

  constructor(seconds: number) {
    this.seconds = seconds;
  }
}

/** What a call needs of the state: of a window, or of one range of its file. */
type Caller = Pick<
  AuthorizedWindow,
  'request' | 'token' | 'throttled' | 'throttled_in_all' | 'begun_at' | 'reports'
>;

/**
 * One call to the platform with the window's token. Every way on through the workflow leads over one, so a window that
 * is out of time ends here.
 *
 * @throws OutOfTime, RateLimited, or the decision that the machine takes (see decide.ts)
 */
export async function callPlatform<T>(
  state: Caller,
  { platform, readToken, now, log }: PlatformAccess,
  about: Pick<Call, 'doing' | 'creates' | 'facts'>,
  call: (platform: Platform, authorization: Authorization) => Promise<T>,
): Promise<T | Throttled> {
  if (isOutOfTime(state.begun_at, now())) throw outOfTime(state, about);
  const connection = { ...platform(state.request.revision), heard: logCalls(log) };
  const authorization = await readToken(state.request.account, state.token);
  try {
    return await call(connection, authorization);
  } catch (error) {
    if (!(error instanceof PlatformError) || error.status !== 429) {
      throw decide(error, {
        ...about,
        revision: connection.revision,
        scope: scopeOf(state.request),
      });
    }
    const { throttled, throttled_in_all = 0 } = state;
    if (throttled < MAX_THROTTLED && throttled_in_all < MAX_THROTTLED_IN_ALL)
      return new Throttled(throttleWait(error.retryAfterSeconds, throttled));
    const times =
      throttled < MAX_THROTTLED ? `${throttled_in_all + 1} times` : `${throttled + 1} times in a row`;
    const happened = `The platform answered 429 ${times}, the last time to the attempt to ${about.doing}.`;
    throw new RateLimited(happened, { request_id: error.requestId, status: 429, ...about.facts });
  }
}

function outOfTime({ begun_at, reports }: Caller, { doing, facts }: Pick<Call, 'doing' | 'facts'>) {
  const happened = `The window began at ${begun_at}, more than ${MAX_WINDOW_HOURS} h before the attempt to ${doing}.`;
  return new OutOfTime(happened, { report_ids: reports.map(({ id }) => id), ...facts });
}

/** What one GET of a report says of it. */
export type Sight = 'generating' | 'useless' | { readonly url: string };

/** GETs a report (contract 4.4). `useless`: it is not there, or READY without a URL that could be fetched. */
export async function lookAt(
  report: ReportRef,
  state: Caller,
  access: PlatformAccess,
): Promise<Sight | Throttled> {
  const about = { doing: `look at report ${report.id}`, creates: false, facts: { report_id: report.id } };
  const record = await callPlatform(state, access, about, (platform, authorization) =>
    getReport(platform, authorization, report.id).catch(absentIfNotFound),
  );
  if (record instanceof Throttled) return record;
  return judge(record, report, access);
}

function absentIfNotFound(error: unknown): undefined {
  if (error instanceof PlatformError && error.status === 404) return undefined;
  throw error;
}

function judge(record: ReportRecord | undefined, report: ReportRef, { log }: PlatformAccess): Sight {
  if (record === undefined) {
    log.warn('the report is not there', { report_id: report.id, status: 404 });
    return 'useless';
  }
  if (!(STATUSES as readonly string[]).includes(record.status)) {
    // Waited for like the ones that are known, and no longer than they are.
    log.warn('the contract names no such status', { report_id: report.id, status: record.status });
  }
  if (record.status !== 'READY') return 'generating';
  if (record.downloadUrl !== undefined && URL.canParse(record.downloadUrl))
    return { url: record.downloadUrl };
  log.warn('the report is READY without a URL', { report_id: report.id });
  return 'useless';
}

/** A window that waits for as long as the platform asked. */
export function waiting<W extends WindowState>(window: W, { seconds }: Throttled): W {
  const { throttled, throttled_in_all = 0 } = window;
  return {
    ...window,
    wait_seconds: seconds,
    throttled: throttled + 1,
    throttled_in_all: throttled_in_all + 1,
  };
}

/** The platform has taken the token and was not throttling: what was counted against either starts anew. */
export function proven<W extends AuthorizedWindow>(window: W): W {
  return { ...window, throttled: 0, token: { ...window.token, unproven: false } };
}

/** Watches one report no more. */
export function giveUp(reports: readonly ReportRef[], id: string | undefined): ReportRef[] {
  return reports.map((report) => (report.id === id ? { ...report, given_up: true } : report));
}

/** Counts a useless answer of one report; with the second one it is given up. */
export function countUseless(reports: readonly ReportRef[], id: string): ReportRef[] {
  return reports.map((report) => {
    if (report.id !== id) return report;
    const useless_answers = report.useless_answers + 1;
    return { ...report, useless_answers, given_up: useless_answers >= 2 };
  });
}
