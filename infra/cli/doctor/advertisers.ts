import type { Connection } from '../../../functions/platform/connection.ts';
import { NoAnswer, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { listPages } from '../../../functions/platform/lists.ts';
import { type Check, fault, ok, unknown } from './check.ts';
import type { Authorized } from './credential.ts';

/** Contract 5.3, as its name tells. */
const SCOPE = 'advertisers:read';

/**
 * Whether the configured advertisers are granted, as far as the API shows it: nothing tells the advertiser scope
 * (contract 5.5), but GET /advertisers may list what the token reaches, where it has the scope for that.
 *
 * @param configured of the account's exports
 */
export async function* checkAdvertisers(
  platform: Connection & { revision: string },
  { authorization, scopes }: Authorized,
  configured: readonly string[],
): AsyncGenerator<Check, void> {
  if (authorization.scheme === 'ApiKey') return yield cannotTell('the API key is for reporting alone');
  if (scopes && !scopes.includes(SCOPE)) return yield cannotTell(`the token lacks ${SCOPE}`);
  const listed = await list(platform, authorization).catch((error) => {
    if ([PlatformError, NoAnswer, UnreadableAnswer].some((one) => error instanceof one))
      return error as Error;
    throw error;
  });
  if (listed instanceof Error) return yield cannotTell(listed.message);
  if (configured.length === 0) yield ok('advertisers', `${listed.size} listed; no export names one`);
  for (const id of configured) yield judge(id, listed);
}

function cannotTell(reason: string): Check {
  return unknown('advertisers', `the API does not show which are granted: ${reason}`);
}

function judge(id: string, listed: ReadonlySet<string>): Check {
  if (listed.has(id.toLowerCase())) return ok('advertisers', `${id} is listed`);
  return fault(
    'advertisers',
    `${id} is not listed by GET /advertisers`,
    'Check the id; where it is right, authorize or install the credential for that advertiser.',
  );
}

async function list(
  platform: Connection & { revision: string },
  authorization: Authorized['authorization'],
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
