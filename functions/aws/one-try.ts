/**
 * For clients of which no call is tried again below the state machine: a second layer would multiply the tries. Each call
 * has a connection of its own. One that is kept may be dead after the function was frozen, since nobody hears there that
 * AWS has closed it, and the SDK tells only by the call that fails on it and would be tried again.
 */
export const ONE_TRY = {
  maxAttempts: 1,
  requestHandler: { httpAgent: { keepAlive: false }, httpsAgent: { keepAlive: false } },
};
