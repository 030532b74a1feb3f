/**
 * Options for SDK clients. Only the state machine retries: a second layer would multiply the tries. Each call opens a new
 * connection, because AWS may close an idle one while the function is frozen, and the next call would fail on it.
 */
export const ONE_TRY = {
  maxAttempts: 1,
  requestHandler: { httpAgent: { keepAlive: false }, httpsAgent: { keepAlive: false } },
};

/** Milliseconds for a call of a few kilobytes. The functions that make such calls have 30 s. */
const CALL_TIMEOUT = 5_000;

/** Limits a small SDK call, all its tries together. Without it, a call that AWS never answers lasts until Lambda's timeout. */
export function withTimeout(tries = 1): { abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(tries * CALL_TIMEOUT) };
}
