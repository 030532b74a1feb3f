import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { parseJson } from '../../../functions/workflow/json.ts';
import { ALL } from '../../../functions/workflow/request/report.ts';
import { createCredential } from '../../lab/sandbox/credentials.ts';
import { type Credential, EXAMPLE_ADVERTISERS } from '../../lab/sandbox/sandbox-options.ts';
import { UsageError } from '../place/errors.ts';

/**
 * Reads the client that an earlier sandbox has kept, or writes the file with a new one.
 *
 * @throws UsageError
 */
export async function keepClient(file: string): Promise<Pick<Credential, 'clientId' | 'clientSecret'>> {
  if (!existsSync(file)) {
    const { clientId, clientSecret } = createCredential({});
    const secret = JSON.stringify({ client_id: clientId, client_secret: clientSecret });
    await writeFile(file, `${secret}\n`, { mode: 0o600, flag: 'wx' }).catch(({ code }) => {
      throw new UsageError([`--credential ${file} cannot be written (${code})`]);
    });
    return { clientId, clientSecret };
  }
  const { client_id, client_secret } = Object(parseJson(await readFile(file, 'utf8').catch(() => '')));
  if (typeof client_id === 'string' && typeof client_secret === 'string')
    return { clientId: client_id, clientSecret: client_secret };
  throw new UsageError([`--credential ${file} has no client_id and client_secret; name another file`]);
}

const TOKEN_SECONDS = 3_600;

/** At 1,000 times the speed, an hour is 3.6 s. */
const MIN_REAL_TOKEN_SECONDS = 10;

/** @param requests whose advertisers the sandbox has besides its own */
export function servingOptions(speed: number, requests: readonly object[]) {
  const ids = requests.flatMap((request): readonly string[] => {
    const { advertiser_ids = [], advertiser_id = [] } = Object(request);
    return [advertiser_ids === ALL ? [] : advertiser_ids, advertiser_id].flat();
  });
  return {
    tokenSeconds: Math.max(TOKEN_SECONDS, speed * MIN_REAL_TOKEN_SECONDS),
    advertiserIds: [...new Set([...EXAMPLE_ADVERTISERS, ...ids.map((id) => id.toLowerCase())])],
  };
}
