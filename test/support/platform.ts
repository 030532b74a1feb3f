import { authorizationOf, type Platform } from '../../functions/platform/connection.ts';
import { safeAgent } from '../../functions/platform/safe-agent.ts';
import { keepLog, stoppedClock } from './steps.ts';

/** The platform at this URL, with a new connection for each call, as the steps use it. */
export function platformAt(baseUrl: string, overrides: Partial<Platform> = {}): Platform {
  return { baseUrl, revision: '2026-05-01', dispatcher: connecting(5_000), ...overrides };
}

/** @param connectTimeout milliseconds */
export function connecting(connectTimeout: number) {
  return safeAgent({ allowLoopback: true }, { connectTimeout, pipelining: 0 });
}

/** The dependencies of a step that calls the platform at this URL, on a stopped clock. */
export function accessTo(baseUrl: string) {
  return {
    log: keepLog().log,
    now: stoppedClock().now,
    platform: () => platformAt(baseUrl),
    readToken: async () => bearer,
  };
}

export const TOKEN = 'token-of-the-test';
export const bearer = authorizationOf(TOKEN, 'client');

/** Returns the error that a promise rejects with. Throws if it is not of this class. */
export async function errorOf<E extends Error>(
  type: abstract new (...args: never[]) => E,
  work: Promise<unknown>,
): Promise<E> {
  const error = await work.then(
    (value) => new Error(`resolved with ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof type) return error;
  throw error;
}
