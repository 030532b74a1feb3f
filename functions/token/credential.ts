import * as z from 'zod/mini';
import type { Secrets, SecretText } from '../aws/secrets.ts';
import type { RequestToken, Token } from '../platform/oauth.ts';
import { CredentialUnusable } from '../workflow/errors.ts';
import { isObject, type JsonObject, parseJson } from '../workflow/json.ts';
import type { Log } from '../workflow/step.ts';
import { ApiKeyCredential } from './api-key.ts';

/** RFC 6749, appendix A: printable ASCII, spaces included. A line break is a paste error. */
const value = z
  .string('is missing or not a string')
  .check(
    z.minLength(1, 'is empty'),
    z.regex(/^[\x20-\x7e]*$/, 'contains a line break or another character that is not printable ASCII'),
  );

const OAuthCredential = z.object({
  client_id: value,
  client_secret: value,
  /** Stored by a login. */
  refresh_token: z.optional(value),
});
export type OAuthCredential = z.infer<typeof OAuthCredential>;

export type Credential = OAuthCredential | ApiKeyCredential;

export function isOAuth(credential: Credential): credential is OAuthCredential {
  return 'client_id' in credential;
}

/**
 * Parses the text of a credential secret.
 *
 * @throws CredentialUnusable with the names of the wrong fields, never with a value
 */
export function parseCredential(text: string, account: string): Credential {
  const parsed = parseJson(text);
  const schema = isObject(parsed) && 'api_key' in parsed ? ApiKeyCredential : OAuthCredential;
  const result = schema.safeParse(parsed, { error: () => 'is not a JSON object' });
  if (result.success) return result.data;
  const faults = result.error.issues.map(
    (issue) => `${issue.path.join('.') || 'the credential'} ${issue.message}`,
  );
  throw new CredentialUnusable(
    `The credential of account ${account} cannot be used: ${faults.join('; ')}. Store it as {"client_id","client_secret"}.`,
    { account, faults },
  );
}

/** Warns of values with a space at either end: RFC 6749 allows it, but it is more often a paste error. */
export function credentialWarnings(credential: Credential): string[] {
  return Object.entries(credential)
    .filter(([, text]) => text !== undefined && text.trim() !== text)
    .map(([field]) => `${field} begins or ends with a space: make sure that the space is part of it`);
}

export interface CredentialStore {
  /** @throws CredentialUnusable if there is none */
  read(): Promise<SecretText>;
  write(text: string): Promise<unknown>;
}

export function createCredentialStore(secrets: Secrets, prefix: string, account: string): CredentialStore {
  const name = `${prefix}/${account}/credential`;
  return {
    async read() {
      const stored = await secrets.read(name);
      if (stored) return stored;
      const happened = `The secret ${name} does not exist or has no value yet. Store it.`;
      throw new CredentialUnusable(happened, { account });
    },
    write: (text) => secrets.write(name, text),
  };
}

export async function readCredential(store: CredentialStore, account: string) {
  const { text, version } = await store.read();
  return { credential: parseCredential(text, account), text, version };
}

/**
 * Changes some fields of the stored credential and keeps the others, also fields that we do not know. The
 * caller must have the account's lease.
 *
 * @param change gets the stored credential and returns the changed fields, or undefined to keep all of it
 * @returns whether it was changed
 * @throws what the store throws
 */
export async function updateCredential(
  store: CredentialStore,
  account: string,
  change: (stored: Credential) => JsonObject | undefined,
): Promise<boolean> {
  const { credential, text } = await readCredential(store, account);
  const fields = change(credential);
  if (fields) await store.write(`${JSON.stringify({ ...JSON.parse(text), ...fields }, null, 2)}\n`);
  return fields !== undefined;
}

interface GrantAccess {
  readonly store: CredentialStore;
  readonly requestToken: RequestToken;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/**
 * Gets a token from the platform. Stores a rotated refresh token before it returns the access token. For a
 * credential with a login, the caller must have the account's lease.
 *
 * @throws what {@link RequestToken} throws, and what the store throws
 */
export async function grantToken(
  account: string,
  credential: OAuthCredential,
  scope: string | undefined,
  { store, requestToken, log }: GrantAccess,
): Promise<Token> {
  const token = await requestToken(credential, scope);
  const { refresh_token: used } = credential;
  const rotated = token.refreshToken;
  if (used === undefined || rotated === undefined || rotated === used) return token;
  // A person may have logged in at the same time: the newer login stays.
  const isStored = await updateCredential(store, account, (current) =>
    isOAuth(current) && current.refresh_token === used ? { refresh_token: rotated } : undefined,
  );
  if (isStored) log.info('the platform rotated the refresh token; the new one is stored', { account });
  else log.warn('a newer login is stored; the rotated refresh token is not needed', { account });
  return token;
}
