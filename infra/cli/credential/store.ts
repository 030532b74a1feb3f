import { type OAuthCredential, parseCredential } from '../../../functions/token/credential.ts';
import { CredentialUnusable } from '../../../functions/workflow/errors.ts';
import { CommandFailed } from '../usage.ts';

/** The text of a credential secret, and what tells it from a later one. */
export interface Stored {
  readonly text: string;
  readonly version: string;
}

/** Where an account's credential secret is kept. Nothing that comes out of here may be printed. */
export interface CredentialStore {
  /** For messages. */
  readonly place: string;
  /** @throws CommandFailed where there is none, or it may not be read */
  read(): Promise<Stored>;
  /** Puts a text in the place of the one that was read: false where another one has come there since. */
  replace(read: Stored, text: string): Promise<boolean>;
}

/** A refresh token, and when the platform gave it. */
export interface Granted {
  readonly refreshToken: string;
  readonly issuedAt: Date;
}

/** A credential that a person can log in with, and the login that it holds already. */
export type LoginCredential = OAuthCredential & { readonly refresh_token_issued_at?: string | undefined };

/** Each try loses only to a write that was made in the moment between its read and its own write. */
const STORE_TRIES = 10;

/** @throws CommandFailed naming what is wrong with the secret, never a value */
export async function readLoginCredential(store: CredentialStore, account: string): Promise<LoginCredential> {
  return parse((await store.read()).text, store, account);
}

/**
 * Puts a refresh token into the credential, all else in it kept. Of two logins at once the one whose token was issued
 * last stays, in whichever order they store; a login that was there before this one began is always replaced.
 *
 * @param before the credential as it was when this login began
 * @returns whether this one's token is the one that is stored now
 * @throws CommandFailed
 */
export async function storeRefreshToken(
  store: CredentialStore,
  account: string,
  before: LoginCredential,
  { refreshToken, issuedAt }: Granted,
): Promise<boolean> {
  const login = { refresh_token: refreshToken, refresh_token_issued_at: issuedAt.toISOString() };
  for (let attempt = 1; attempt <= STORE_TRIES; attempt += 1) {
    const read = await store.read();
    const now = parse(read.text, store, account);
    if (now.client_id !== before.client_id) throw otherClient(store);
    const isConcurrent = now.refresh_token !== before.refresh_token;
    if (isConcurrent && (now.refresh_token_issued_at ?? '') > login.refresh_token_issued_at) return false;
    if (await store.replace(read, `${JSON.stringify({ ...now, ...login }, null, 2)}\n`)) return true;
  }
  throw new CommandFailed(`${store.place} was changed by another each time.`, 'Log in again.');
}

function parse(text: string, { place }: CredentialStore, account: string): LoginCredential {
  try {
    const credential = parseCredential(text, account);
    if (!('api_key' in credential)) return JSON.parse(text) as LoginCredential;
  } catch (error) {
    if (!(error instanceof CredentialUnusable)) throw error;
    const faults = (error.facts.faults as string[]).join('; ');
    throw new CommandFailed(
      `${place} cannot be used: ${faults}.`,
      'Store {"client_id","client_secret"} there.',
    );
  }
  throw new CommandFailed(
    `${place} holds an API key, with which nobody logs in.`,
    'Store {"client_id","client_secret"} there.',
  );
}

function otherClient({ place }: CredentialStore): CommandFailed {
  return new CommandFailed(`${place} was given another client_id during the login.`, 'Log in again.');
}
