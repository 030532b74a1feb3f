/** How long a window waits, and when it stops waiting. All of it happens in a Wait state, none in a function. */

/** Two GETs of one report are never closer (contract 4.4). Seconds. */
export const MIN_WAIT = 10;

/** A finished report is noticed within a minute. Seconds. */
const MAX_WAIT = 60;

/** A report that is not READY by then is replaced (contract 3). Minutes. */
const STUCK_AFTER = 30;

/** The first report and two replacements: 3 × 30 min = 90 min until a window is given up. */
export const MAX_REPORTS = 3;

/** What Retry-After may ask for at most, in seconds; with 12 answers 429 in a row, 12 × 15 min = 3 h. */
export const MAX_RETRY_AFTER = 15 * 60;
export const MAX_THROTTLED = 12;

/**
 * Answers 429 that a window waits for in all. A copy may take 120 calls, in ranges and then without, and each of them ends a
 * row: 12 before each would be 1,440 rounds of 13 events, beside all else that the 25,000 of a history have to hold.
 */
export const MAX_THROTTLED_IN_ALL = 120;

/** The wait after a 429 that does not say how long: 10, 20, 40 … at most 300 s; twelve of them are 2,410 s. */
const MAX_UNNAMED_WAIT = 300;

/**
 * A window that got its first token longer ago asks nothing of the platform any more. The wait for that token, and what was
 * under way by then, with all its retries, are some 8 h more: it ends within the 24 h for which a download URL is valid
 * (contract 2.3). The bounds' test has the sum.
 */
export const MAX_WINDOW_HOURS = 12;

/** Refused tokens that are renewed, per window: with tokens of half an hour each (contract 5.4: an hour), 12 h take 24. */
export const MAX_RENEWALS = 24;

/** POST /reports has no idempotency key: an answer that is lost is followed by one more try, once per window. */
export const MAX_LOST_ANSWERS = 1;

function secondsSince(instant: string, now: Date): number {
  return Math.max(0, (now.getTime() - Date.parse(instant)) / 1000);
}

/** A quarter of the time waited so far, in whole seconds: soon for the quick ones, seldom for the slow ones. */
export function pollWait(createdAt: string, now: Date): number {
  return clamp(Math.ceil(secondsSince(createdAt, now) / 4), MIN_WAIT, MAX_WAIT);
}

export function isStuck(createdAt: string, now: Date): boolean {
  return secondsSince(createdAt, now) >= STUCK_AFTER * 60;
}

export function isOutOfTime(begunAt: string, now: Date): boolean {
  return secondsSince(begunAt, now) >= MAX_WINDOW_HOURS * 3600;
}

/**
 * @param retryAfter seconds that the answer named, if it did
 * @param throttled answers 429 in a row before this one
 */
export function throttleWait(retryAfter: number | undefined, throttled: number): number {
  if (retryAfter !== undefined) return clamp(Math.ceil(retryAfter), MIN_WAIT, MAX_RETRY_AFTER);
  return clamp(MIN_WAIT * 2 ** throttled, MIN_WAIT, MAX_UNNAMED_WAIT);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
