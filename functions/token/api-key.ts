import { CredentialUnusable } from '../workflow/errors.ts';

/** From this moment the platform answers 401 to X-API-Key (contract 9.6). */
export const API_KEY_SUNSET = new Date('2027-01-01T00:00:00Z');

/** The name of a key among the account's cached tokens, where a token has its scope. */
export const API_KEY_SCOPE = 'X-API-Key';

const DAY_MS = 24 * 60 * 60 * 1000;
const INSTEAD = 'Store {"client_id","client_secret"} in its credential secret instead.';

/** Whole days on which the key still works, today's rest counted as one; 0 or less once it does not. */
export function apiKeyDaysLeft(now: Date): number {
  return Math.ceil((API_KEY_SUNSET.getTime() - now.getTime()) / DAY_MS);
}

/** For logs, results and the synth. */
export function apiKeyWarning(account: string, now: Date): string {
  const uses = `account ${account} uses an API key, which the platform`;
  const days = apiKeyDaysLeft(now);
  if (days <= 0) return `${uses} has disabled on ${sunset()}. ${INSTEAD}`;
  const left = days === 1 ? '1 day is left' : `${days} days are left`;
  return `${uses} disables on ${sunset()}: ${left}. ${INSTEAD}`;
}

/**
 * Refuses a key for what it cannot do, before anything is asked of the platform (contract 5.7).
 *
 * @throws CredentialUnusable
 */
export function requireApiKeyAllowed(account: string, kind: string, now: Date): void {
  if (now >= API_KEY_SUNSET) {
    const happened = `Account ${account} uses an API key, which the platform has disabled on ${sunset()}.`;
    throw new CredentialUnusable(`${happened} ${INSTEAD}`, { account });
  }
  if (kind === 'list') {
    const happened = `Account ${account} uses an API key, which works for reports and purchases alone and not for lists.`;
    throw new CredentialUnusable(`${happened} ${INSTEAD}`, { account });
  }
}

function sunset(): string {
  return API_KEY_SUNSET.toISOString().slice(0, 10);
}
