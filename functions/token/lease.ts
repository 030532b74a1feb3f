import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import type { ObjectStore, TaggedText } from '../aws/objects.ts';
import { LEASE_SECONDS } from '../decisions/waits.ts';
import { ServiceUnavailable } from '../workflow/errors.ts';
import { parseJson } from '../workflow/json.ts';
import { LEASES_PREFIX } from '../workflow/keys.ts';
import type { Common } from '../workflow/step.ts';

/**
 * Seconds for which a lease stays after a token was stored. Secrets Manager does not promise that each reader
 * sees a new version at once, and an old one has the refresh token that was replaced.
 */
const SETTLE_SECONDS = 5;

/** Each call is another owner, so no two leases have the same ETag. */
const Lease = z.object({ owner: z.string(), expires_at: z.string() });

export interface LeaseAccess extends Pick<Common, 'log' | 'now'> {
  readonly objects: Pick<ObjectStore, 'putJson' | 'getTagged'>;
}

/**
 * Tells whether nobody may take a lease over yet. If it ends much later than any lease, the clock that wrote
 * it was wrong, or belonged to a local run with another speed.
 */
export function isHeld(text: string, now: Date): boolean {
  const expires_at = Lease.safeParse(parseJson(text)).data?.expires_at ?? '';
  const left = Date.parse(expires_at) - now.getTime();
  return left > 0 && left <= 2 * LEASE_SECONDS * 1000;
}

/**
 * Uses or stores an account's refresh token while nobody else does. The lease is an object, of whose conditional writes
 * S3 lets one succeed. It is never deleted: after a delete marker, some S3 servers refuse to create it again.
 *
 * @throws ServiceUnavailable if another call has the lease, and what `renew` throws
 */
export async function underLease<T>(
  account: string,
  { objects, now, log }: LeaseAccess,
  renew: () => Promise<T>,
): Promise<T> {
  const key = `${LEASES_PREFIX}${account}.json`;
  const owner = randomUUID();
  const write = (seconds: number, replaces: TaggedText | 'absent') => {
    const expires_at = new Date(now().getTime() + seconds * 1000).toISOString();
    return objects.putJson(key, { owner, expires_at }, replaces);
  };
  // If the answer to a write is lost, the SDK repeats it, and the lease that it then meets is this call's own.
  const isOwn = (lease: TaggedText | undefined) => lease?.text.includes(owner) === true;
  const take = async () => {
    if (await write(LEASE_SECONDS, 'absent')) return true;
    const current = await objects.getTagged(key);
    if (current === undefined || isOwn(current)) return current !== undefined;
    if (isHeld(current.text, now())) return false;
    return (await write(LEASE_SECONDS, current)) || isOwn(await objects.getTagged(key));
  };
  if (!(await take())) {
    const happened = `Another call is renewing the token of account ${account}: it has the lease ${key}.`;
    throw new ServiceUnavailable(happened, { account, key });
  }
  let settle = 0;
  try {
    const renewed = await renew();
    settle = SETTLE_SECONDS;
    return renewed;
  } finally {
    const release = async () => {
      const current = await objects.getTagged(key);
      if (current && isOwn(current)) await write(settle, current);
    };
    // If it cannot be released, it runs out.
    await release().catch(({ name }) => log.warn('the lease was not released', { account, error: name }));
  }
}
