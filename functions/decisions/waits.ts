import { LIMITS } from '../contract.ts';

/** The waits of a window and its limits. Wait states wait, never functions. */

/** Two GETs of one report are at least this far apart, and no wait is shorter. Seconds. */
export const MIN_WAIT = LIMITS.pollSeconds;

/** From the creation of a report to its first poll. Seconds. */
export const FIRST_POLL_WAIT = MIN_WAIT;

/** A report that is ready is noticed within a minute. Seconds. */
const MAX_WAIT = Math.max(60, MIN_WAIT);

/**
 * The first report and two replacements. If a report counts as stuck after 30 min, a window fails after 3 ×
 * 30 min = 90 min. A report that has failed is replaced at once, and counts too.
 */
export const MAX_REPORTS = 3;

/** The longest Retry-After that is honoured, in seconds. Twelve in a row wait 12 × 15 min = 3 h. */
export const MAX_RETRY_AFTER = 15 * 60;
export const MAX_THROTTLED = 12;

/**
 * Limits all answers of a window that ask to wait (429, and 5xx with Retry-After), and all interruptions of a
 * list. Every successful call resets `throttled`, and a copy may take 60 calls.
 * Without this limit, 60 × 12 retries of 11 events would use 7,920 of the history's 25,000 events; 120
 * retries use 1,320.
 */
export const MAX_THROTTLED_IN_ALL = 120;

/** The longest wait after a 429 without Retry-After: 10, 20, 40 … 300 s; twelve of them take 2,410 s. */
const MAX_UNNAMED_WAIT = 300;

/**
 * A window calls the platform only within this time after it got its first token. The wait for that token,
 * and what is under way at the end with all its retries, take about 12 h more. The window thus ends within
 * the time for which a download's URL is valid; the bounds' test has the sum.
 */
export const MAX_WINDOW_HOURS = 12;

/** Renewals of refused tokens per window: 24 tokens of half an hour last 12 h. */
export const MAX_RENEWALS = 24;

/**
 * The creation of a report has no idempotency key, so it is repeated only once per window after a lost
 * answer.
 */
export const MAX_LOST_ANSWERS = 1;

/** Copies per window that are saved again, as another run replaced them in a bucket without versions. */
export const MAX_REPLACED_COPIES = 3;

/** Seconds for which one call of GetToken may renew an account's token. Lambda ends the call sooner. */
export const LEASE_SECONDS = 60;

/** Seconds from connecting to the last byte of a token. 20 s of the call are left to store it. */
export const TOKEN_SECONDS = 30;

function secondsSince(instant: string, now: Date): number {
  return Math.max(0, (now.getTime() - Date.parse(instant)) / 1000);
}

/** A quarter of the time waited so far, in whole seconds: polls quick reports often, slow ones seldom. */
export function pollWait(createdAt: string, now: Date): number {
  return clamp(Math.ceil(secondsSince(createdAt, now) / 4), MIN_WAIT, MAX_WAIT);
}

export function isStuck(createdAt: string, now: Date): boolean {
  return secondsSince(createdAt, now) >= LIMITS.stuckMinutes * 60;
}

export function isOutOfTime(begunAt: string, now: Date): boolean {
  return secondsSince(begunAt, now) >= MAX_WINDOW_HOURS * 3600;
}

/**
 * @param retryAfter the seconds of the Retry-After header, if there was one
 * @param throttled how many answers in a row asked to wait before this one
 */
export function throttleWait(retryAfter: number | undefined, throttled: number): number {
  if (retryAfter !== undefined) return clamp(Math.ceil(retryAfter), MIN_WAIT, MAX_RETRY_AFTER);
  return clamp(MIN_WAIT * 2 ** throttled, MIN_WAIT, MAX_UNNAMED_WAIT);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
