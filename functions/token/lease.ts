import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import type { ObjectStore, TaggedText } from '../aws/objects.ts';
import { LEASE_SECONDS, MAX_RETRY_AFTER, throttleWait } from '../decisions/waits.ts';
import { RateLimited, readMessage, ServiceUnavailable } from '../workflow/errors.ts';
import { parseJson } from '../workflow/json.ts';
import { LEASES_PREFIX } from '../workflow/keys.ts';
import type { Common } from '../workflow/step.ts';

/**
 * Seconds for which a lease stays after a token was stored. Secrets Manager does not promise that each reader
 * sees a new version at once, and an old one has the refresh token that was replaced.
 */
const SETTLE_SECONDS = 5;

/** Each call is another owner, so no two leases have the same ETag. */
const Lease = z.object({
  owner: z.string(),
  expires_at: z.string(),
  /** The message of the RateLimited error if the token endpoint asked to wait until then. */
  asked_to_wait: z.optional(z.string()),
});

export interface LeaseAccess extends Pick<Common, 'log' | 'now'> {
  readonly objects: Pick<ObjectStore, 'putJson' | 'getTagged'>;
  /** A person's command asks a token endpoint that asked to wait. */
  readonly asksAnyway?: boolean;
}

/**
 * True if nobody may take a lease over yet. If the lease ends much later than any lease, the clock that wrote
 * it was wrong, or belonged to a local run with another speed.
 */
export function isTaken(text: string, now: Date): boolean {
  const lease = readLease(text);
  if (!lease) return false;
  const { expires_at, asked_to_wait } = lease;
  const left = Date.parse(expires_at) - now.getTime();
  const longest = asked_to_wait === undefined ? 2 * LEASE_SECONDS : MAX_RETRY_AFTER;
  return left > 0 && left <= longest * 1000;
}

/** @returns undefined if the text is no lease, so anybody may take it */
function readLease(text: string): z.infer<typeof Lease> | undefined {
  return Lease.safeParse(parseJson(text)).data;
}

/**
 * Uses or stores an account's refresh token while nobody else does. The lease is an object, of whose
 * conditional writes S3 lets one succeed. It is never deleted: after a delete marker, some S3 servers refuse
 * to create it again.
 *
 * If the token endpoint asks to wait, the lease stays for that time, so no other window asks the endpoint.
 *
 * @throws RateLimited if the token endpoint asked to wait
 * @throws ServiceUnavailable if another call has the lease, and what `renew` throws
 */
export async function underLease<T>(
  account: string,
  access: LeaseAccess,
  renew: () => Promise<T>,
): Promise<T> {
  const { key, take, release } = createLease(account, access);
  if (!(await take())) {
    const happened = `Another call is renewing the token of account ${account}: it has the lease ${key}.`;
    throw new ServiceUnavailable(happened, { account, key });
  }
  try {
    const renewed = await renew();
    await release(SETTLE_SECONDS);
    return renewed;
  } catch (error) {
    if (error instanceof RateLimited)
      await release(throttleWait(error.facts.retry_after as number | undefined, 0), error.message);
    else await release(0);
    throw error;
  }
}

/** One call's lease of an account. */
function createLease(account: string, { objects, now, log, asksAnyway = false }: LeaseAccess) {
  const key = `${LEASES_PREFIX}${account}.json`;
  const owner = randomUUID();
  const write = (seconds: number, replaces: TaggedText | 'absent', asked_to_wait?: string) => {
    const expires_at = new Date(now().getTime() + seconds * 1000).toISOString();
    return objects.putJson(key, { owner, expires_at, asked_to_wait }, replaces);
  };
  // If the answer to a write is lost, the SDK repeats it, and then meets the lease of this same call.
  const isOwn = (lease: TaggedText | undefined) => lease?.text.includes(owner) === true;
  const takeOver = async (current: TaggedText) =>
    (await write(LEASE_SECONDS, current)) || isOwn(await objects.getTagged(key));
  return {
    key,

    /**
     * @returns false if another call has the lease
     * @throws RateLimited if the token endpoint asked to wait
     */
    async take(): Promise<boolean> {
      if (await write(LEASE_SECONDS, 'absent')) return true;
      const current = await objects.getTagged(key);
      if (current === undefined) return false;
      if (isOwn(current)) return true;
      if (!isTaken(current.text, now())) return takeOver(current);
      const askedToWait = readLease(current.text)?.asked_to_wait;
      if (askedToWait === undefined) return false;
      if (!asksAnyway) throw toRateLimited(askedToWait);
      return takeOver(current);
    },

    /**
     * Lets the lease end after these seconds. If it cannot be released, it runs out.
     *
     * @param askedToWait the message of the RateLimited error, if the token endpoint asked to wait until then
     */
    async release(seconds: number, askedToWait?: string): Promise<void> {
      try {
        const current = await objects.getTagged(key);
        if (current && isOwn(current)) await write(seconds, current, askedToWait);
      } catch (error) {
        log.warn('the lease was not released', { account, error: (error as Error).name });
      }
    },
  };
}

function toRateLimited(message: string): RateLimited {
  const { happened, facts } = readMessage(message);
  return new RateLimited(happened, facts);
}
