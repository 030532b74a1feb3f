import { randomUUID } from 'node:crypto';
import type { Authorization, Connection } from '../../../functions/platform/connection.ts';
import { PlatformError } from '../../../functions/platform/errors.ts';
import { listPages } from '../../../functions/platform/lists.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { isPlatformFailure } from '../errors.ts';
import { type Check, fault, ok, unknown } from './check.ts';

/** The authorization of the account's calls. */
export interface Access {
  readonly authorization: Authorization;
  /** The granted scopes; undefined if the platform does not name them. */
  readonly scopes?: readonly string[];
}

/** The scope of GET /advertisers (contract 5.3). */
const ADVERTISERS_SCOPE = 'advertisers:read';

/**
 * Asks for a report that does not exist, so it creates nothing and breaks no report's 10 s limit. The platform checks the
 * revision after authentication and before everything else (contract 5.6, 9.2), so any answer other than 400 and 401 means
 * that it knows the revision.
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
    if (error instanceof PlatformError) return judgeAnswer(error, revision);
    if (!isPlatformFailure(error)) throw error;
    return unknown('revision', `${revision}: ${error.message}`, 'Try again.');
  }
}

function judgeAnswer({ status, message }: PlatformError, revision: string): Check {
  if (status === 404 || status === 422) return ok('revision', `${revision} is accepted`);
  if (status === 400)
    return fault('revision', `X-Service-Revision ${revision}: ${message}`, 'Pin a published revision.');
  if (status === 401)
    return fault('token', `not accepted: ${message}`, 'Check that base_url is the platform that issued it.');
  if (status === 403) return fault('scopes', message, 'Give the credential the scope reporting:read.');
  return unknown('revision', `${revision}: ${message}`, 'Try again.');
}

/**
 * Looks for the configured advertisers in GET /advertisers. The API does not show the granted advertisers (contract 5.5), but
 * this list may contain those that the token reaches.
 */
export async function* checkAdvertisers(
  platform: Connection & { revision: string },
  { authorization, scopes }: Access,
  configured: readonly string[],
): AsyncGenerator<Check, void> {
  const unclear = (reason: string) =>
    unknown('advertisers', `the API does not show the granted advertisers: ${reason}`);
  if (authorization.scheme === 'ApiKey') return yield unclear('an API key works only for reporting');
  if (scopes && !scopes.includes(ADVERTISERS_SCOPE))
    return yield unclear(`the token lacks ${ADVERTISERS_SCOPE}`);
  const listed = await listAdvertisers(platform, authorization).catch((error: unknown) => {
    if (isPlatformFailure(error)) return error;
    throw error;
  });
  if (listed instanceof Error) return yield unclear(listed.message);
  if (configured.length === 0) yield ok('advertisers', `${listed.size} listed; no export names one`);
  for (const id of configured) {
    yield listed.has(id.toLowerCase())
      ? ok('advertisers', `${id} is listed`)
      : fault(
          'advertisers',
          `${id} is not listed by GET /advertisers`,
          'Check the id. If it is right, authorize or install the credential for that advertiser.',
        );
  }
}

async function listAdvertisers(
  platform: Connection & { revision: string },
  authorization: Authorization,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const page of listPages(platform, authorization, { resource: 'advertisers' })) {
    for (const item of page) {
      const id = (item as { id?: unknown } | null)?.id;
      if (typeof id === 'string') ids.add(id.toLowerCase());
    }
  }
  return ids;
}
