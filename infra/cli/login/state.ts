import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 bits: a guess is hopeless, and 128 would do (RFC 6749 10.10). */
const STATE_BYTES = 32;

/** What ties a redirect to the consent that this login asked for (contract 4.2). */
export interface State {
  readonly value: string;
  /** Whether it is this state, asked for the first time; whatever was asked first, it is spent after that. */
  spend(candidate: string): boolean;
}

export function newState(): State {
  const value = randomBytes(STATE_BYTES).toString('base64url');
  let spent = false;
  return {
    value,
    spend(candidate) {
      const fresh = !spent;
      spent = true;
      return timingSafeEqual(digest(candidate), digest(value)) && fresh;
    },
  };
}

/** Digests are of one length, as the comparison in constant time needs. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
