import { randomUUID } from 'node:crypto';
import type { Authorization, Connection } from '../../../functions/platform/connection.ts';
import { NoAnswer, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { type Check, fault, ok, unknown } from './check.ts';

/**
 * Asks for a report that does not exist, which creates nothing and counts against no report's 10 s. The revision is
 * checked after authentication and before anything else (contract 5.6, 9.2), so that whatever is answered beyond 400
 * and 401 says that the revision is known.
 */
export async function checkRevision(
  platform: Connection,
  authorization: Authorization,
  revision: string,
): Promise<Check> {
  try {
    await getReport({ ...platform, revision }, authorization, randomUUID());
    return ok('revision', `${revision} is accepted`);
  } catch (error) {
    if (error instanceof PlatformError) return judge(error, revision);
    const isPlatform = [NoAnswer, UnreadableAnswer].some((one) => error instanceof one);
    if (!isPlatform) throw error;
    return unknown('revision', `${revision}: ${(error as Error).message}`, 'Try again.');
  }
}

function judge(error: PlatformError, revision: string): Check {
  const { status, message } = error;
  if (status === 404 || status === 422) return ok('revision', `${revision} is accepted`);
  if (status === 400) {
    return fault('revision', `X-Service-Revision ${revision}: ${message}`, 'Pin a published revision.');
  }
  if (status === 401)
    return fault('token', `not accepted: ${message}`, 'Check that base_url is the platform that issued it.');
  if (status === 403) return fault('scopes', message, 'Give the credential the scope reporting:read.');
  return unknown('revision', `${revision}: ${message}`, 'Try again.');
}
