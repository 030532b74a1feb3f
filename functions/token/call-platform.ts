import { createSecrets } from '../aws/secrets.ts';
import { describeLastAnswers, idsOf } from '../decisions/report-answer.ts';
import {
  isOutOfTime,
  MAX_THROTTLED,
  MAX_THROTTLED_IN_ALL,
  MAX_WINDOW_HOURS,
  MIN_WAIT,
  throttleWait,
} from '../decisions/waits.ts';
import type { Authorization, Platform } from '../platform/connection.ts';
import { safeAgent } from '../platform/safe-agent.ts';
import { count } from '../workflow/count.ts';
import { type ExportError, OutOfTime, PlatformUnavailable, RateLimited } from '../workflow/errors.ts';
import { ALL } from '../workflow/request/report.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import type { PlatformSettings } from '../workflow/settings.ts';
import type { StoredPages, TokenRef } from '../workflow/state-parts.ts';
import type { AuthorizedWindow } from '../workflow/states.ts';
import type { Common } from '../workflow/step.ts';
import { createTokenCache } from './cached-tokens.ts';
import { scopeOf } from './scope.ts';

/** Milliseconds. TCP and TLS take well under 1 s; a SYN lost twice is sent again after 1 + 2 = 3 s. */
const CONNECT_TIMEOUT = 4_000;

/** The dependencies of a step that calls the platform. */
export interface PlatformAccess extends Pick<Common, 'log' | 'now'> {
  readonly platform: (revision: string | undefined) => Platform;
  readonly readToken: (account: string, token: TokenRef) => Promise<Authorization>;
}

/**
 * The connection to the platform of the settings. Each call opens a new connection (`pipelining: 0`): calls
 * are MIN_WAIT or more apart, and an idle connection may be dead after the function was frozen; nobody could
 * tell whether a POST arrived.
 */
export function createConnection(settings: Pick<PlatformSettings, 'PLATFORM_BASE_URL' | 'ALLOW_LOOPBACK'>) {
  const hosts = { allowLoopback: settings.ALLOW_LOOPBACK === 'true' };
  const dispatcher = safeAgent(hosts, { connectTimeout: CONNECT_TIMEOUT, pipelining: 0 });
  return { baseUrl: settings.PLATFORM_BASE_URL, dispatcher };
}

export function createPlatformAccess(settings: PlatformSettings): Omit<PlatformAccess, 'log' | 'now'> {
  const endpoint = createConnection(settings);
  const { readToken } = createTokenCache(createSecrets(), settings.SECRET_PREFIX);
  return {
    readToken,
    platform: (revision): Platform => ({ ...endpoint, revision: revision ?? settings.PLATFORM_REVISION }),
  };
}

/** A window, or an export that lists its advertisers. */
interface PlatformCaller
  extends Pick<
    AuthorizedWindow,
    'request' | 'token' | 'begun_at' | 'reports' | 'wait_seconds' | 'throttled' | 'throttled_in_all'
  > {
  readonly window?: AuthorizedWindow['window'];
  readonly list?: StoredPages | undefined;
}

/**
 * Calls the platform once with the window's token. Every step of a window calls the platform, so this is also
 * where a window that takes too long ends.
 *
 * @returns the window after the call. An answer shows that its token works, and starts the count of 429s
 *   again. A 429, or a 5xx with Retry-After, has no answer: the state machine waits then
 * @throws OutOfTime, RateLimited, or what the call throws
 */
export async function callPlatform<W extends PlatformCaller, T extends object>(
  window: W,
  { platform, readToken, now, log }: PlatformAccess,
  call: (platform: Platform, authorization: Authorization) => Promise<T>,
): Promise<{ readonly window: W; readonly answer?: T }> {
  if (isOutOfTime(window.begun_at, now())) throw outOfTime(window);
  const { request } = window;
  const connection = { ...platform(request.revision), advertiserIds: advertisersOf(request), log };
  const token = await readToken(request.account, window.token);
  try {
    const answer = await call(connection, { ...token, scope: scopeOf(request) });
    return { window: { ...window, throttled: 0, token: { ...window.token, unproven: false } }, answer };
  } catch (error) {
    if (error instanceof PlatformUnavailable && asksToWait(error))
      return { window: waitAsTold(window, error) };
    throw error;
  }
}

/** The advertisers that a request names. */
function advertisersOf(request: ExportRequest): readonly string[] {
  if (request.kind === 'list' || (request.kind === 'report' && request.advertiser_ids === ALL)) return [];
  return request.kind === 'purchases' ? [request.advertiser_id] : [...request.advertiser_ids];
}

/** True if a failure says that the host is busy, or when it serves again. */
export function asksToWait({ facts: { status, retry_after } }: ExportError): boolean {
  return status === 429 || retry_after !== undefined;
}

/**
 * Counts an error that interrupted a list, after which the list goes on.
 *
 * @throws RateLimited at the limit, or the error if it did not ask to wait
 */
export function countInterruption<W extends PlatformCaller>(window: W, error: ExportError): W {
  if (asksToWait(error)) return waitAsTold(window, error);
  const throttled_in_all = (window.throttled_in_all ?? 0) + 1;
  if (throttled_in_all > MAX_THROTTLED_IN_ALL) throw error;
  return { ...window, wait_seconds: MIN_WAIT, throttled_in_all };
}

/** Counts a failure that asks to wait. @throws RateLimited at the limit of either count */
export function waitAsTold<W extends PlatformCaller>(window: W, { happened, facts }: ExportError): W {
  const throttled = window.throttled + 1;
  const throttled_in_all = (window.throttled_in_all ?? 0) + 1;
  const inARow = throttled > MAX_THROTTLED;
  if (inARow || throttled_in_all > MAX_THROTTLED_IN_ALL) {
    const times = inARow ? `${count(throttled, 'time')} in a row` : count(throttled_in_all, 'time');
    throw new RateLimited(`${happened} It did so ${times}.${sayPages(window)}`, facts);
  }
  const told = throttleWait(facts.retry_after as number | undefined, window.throttled);
  // A 5xx with a short Retry-After may be an outage, so the waits grow: twelve of them take 40 minutes.
  const wait_seconds =
    facts.status === 429 ? told : Math.max(told, throttleWait(undefined, window.throttled));
  return { ...window, wait_seconds, throttled, throttled_in_all };
}

function sayPages({ list }: Pick<PlatformCaller, 'list'>): string {
  if (!list) return '';
  const { pages, offset } = list.progress;
  return ` Each time the list went on where it was: it has read ${count(offset, 'item')} in ${count(pages, 'page')}.`;
}

function outOfTime({ begun_at, reports, window, list }: PlatformCaller): OutOfTime {
  const last = reports.length === 0 ? '' : ` At last, ${describeLastAnswers(reports)}.`;
  const caller = window ? 'window' : 'list of advertisers';
  const happened = `The ${caller} began at ${begun_at}, more than ${MAX_WINDOW_HOURS} h ago.${last}${sayPages({ list })}`;
  return new OutOfTime(happened, idsOf(reports));
}
