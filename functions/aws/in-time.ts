/** Long for a few kilobytes, and short beside the 30 s of the functions that read or write them. Milliseconds. */
const CALL_TIMEOUT = 5_000;

/**
 * How long a small call of the SDK may take, all its tries together: without it, one that AWS never answers would last
 * until Lambda ends the function.
 */
export function inTime(tries = 1): { abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(tries * CALL_TIMEOUT) };
}
