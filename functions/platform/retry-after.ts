/**
 * Retry-After as seconds from `now`, whole and never negative, whether the header holds seconds or a date
 * (RFC 9110, 10.2.3). Undefined if it is absent or neither; the caller sets the cap.
 *
 * @param now milliseconds since the epoch
 */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(header) ? Number(header) : secondsUntil(header, now);
  // Infinity would become null in JSON.
  return seconds === undefined
    ? undefined
    : Math.min(Math.max(0, Math.ceil(seconds)), Number.MAX_SAFE_INTEGER);
}

/** Date.parse takes much for a date ("-5" among it): every form of an HTTP date begins with the day's name. */
function secondsUntil(date: string, now: number): number | undefined {
  const time = /^(mon|tue|wed|thu|fri|sat|sun)/i.test(date) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(time) ? undefined : (time - now) / 1000;
}
