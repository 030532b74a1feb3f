import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Readable } from 'node:stream';
import { consentUrl } from '../../../functions/platform/consent.ts';
import { OAuthError } from '../../../functions/platform/errors.ts';
import { exchangeCode } from '../../../functions/platform/token.ts';
import {
  credentialWarnings,
  isOAuth,
  type OAuthCredential,
  readCredential,
  updateCredential,
} from '../../../functions/token/credential.ts';
import { type Account, explainStoreError } from '../account.ts';
import { CommandFailed, isPlatformFailure, toPrintable } from '../errors.ts';
import { warn } from '../layout.ts';
import { createLoopbackReceiver, createPasteReceiver } from './receiver.ts';

export interface AuthorizeOptions {
  /** Space-separated. */
  readonly scope: string;
  /** The registered redirect URI; by default a free port on 127.0.0.1. */
  readonly redirectUri?: string | undefined;
  /** Reads the redirected address from here instead of listening on loopback. */
  readonly paste?: Readable | undefined;
  /** Shows the consent screen's URL to the user. */
  showUrl(url: string): Promise<void>;
  /** Ends the wait for the redirect. */
  readonly signal: AbortSignal;
}

export interface Authorized {
  /** The granted scopes, space-separated; undefined if the platform does not name them. */
  readonly scope: string | undefined;
  /** False if another login at the same time ended later and its token was kept. */
  readonly isStored: boolean;
}

/** 256 bits; RFC 6749 section 10.10 asks for 128. */
const STATE_BYTES = 32;

/** Of the redirect's error and its description. */
const MAX_SHOWN_CHARACTERS = 300;

/**
 * The authorization code flow (contract 4.1, 4.2, 5.2): the user consents in the browser, the redirect brings a code, and the
 * platform exchanges the code for a refresh token, which is stored in the account's credential secret. The code is exchanged
 * only if the redirect has this login's state.
 *
 * @throws CommandFailed; the signal's reason if it ended the wait
 */
export async function authorize(account: Account, options: AuthorizeOptions): Promise<Authorized> {
  const client = await readClient(account);
  const { paste, scope } = options;
  await using receiver = paste
    ? createPasteReceiver(paste, options.redirectUri)
    : await createLoopbackReceiver(options.redirectUri);
  const { redirectUri } = receiver;
  const state = randomBytes(STATE_BYTES).toString('base64url');
  const asked = { clientId: client.client_id, redirectUri, scope, state };
  await options.showUrl(consentUrl(account.platform, asked).href);
  const redirect = await untilAborted(receiver.redirect, options.signal);
  try {
    const grant = { code: readCode(redirect.url, state), redirect_uri: redirectUri };
    const authorized = await exchangeAndStore(account, client, grant);
    await redirect.answer('done');
    return authorized;
  } catch (error) {
    await redirect.answer('failed');
    throw error;
  }
}

/** @throws CommandFailed naming the fields that are wrong, never a value */
export async function readClient(account: Account): Promise<OAuthCredential> {
  const { credential } = await readCredential(account.store, account.name).catch((error) => {
    throw explainStoreError(error, account);
  });
  for (const warning of credentialWarnings(credential)) warn(`${account.place}: ${warning}`);
  if (isOAuth(credential)) return credential;
  throw new CommandFailed(
    `${account.place} holds an API key, which cannot log in.`,
    `Store {"client_id","client_secret"} in ${account.place}.`,
  );
}

async function exchangeAndStore(
  account: Account,
  client: OAuthCredential,
  grant: { code: string; redirect_uri: string },
): Promise<Authorized> {
  const { scope, refreshToken } = await exchangeCode(account.platform, client, grant).catch((error) => {
    throw describeRefusal(error);
  });
  const issuedAt = new Date();
  // Contract 2.1: the authorization_code grant returns a refresh token.
  if (refreshToken === undefined) {
    throw new CommandFailed(
      'The platform returned no refresh token. Without one, the login would end with its first access token. Nothing was stored.',
      'Ask the platform whether this client may have refresh tokens.',
    );
  }
  return { scope, isStored: await storeRefreshToken(account, client, { value: refreshToken, issuedAt }) };
}

/**
 * Stores a login's refresh token. Of two logins at the same time, the token that was issued last stays, in whatever order
 * they store. A login from before this one began is always replaced.
 *
 * @param before the credential when this login began
 * @returns false if another login's newer token stays
 * @throws CommandFailed
 */
export async function storeRefreshToken(
  account: Account,
  before: OAuthCredential,
  { value, issuedAt }: { readonly value: string; readonly issuedAt: Date },
): Promise<boolean> {
  const login = { refresh_token: value, refresh_token_issued_at: issuedAt.toISOString() };
  return updateCredential(account.store, account.name, (now) => {
    if (!isOAuth(now) || now.client_id !== before.client_id)
      throw new CommandFailed(`The client_id in ${account.place} changed during the login.`, 'Log in again.');
    const isConcurrent = now.refresh_token !== before.refresh_token;
    const isNewer = (now.refresh_token_issued_at ?? '') > login.refresh_token_issued_at;
    return isConcurrent && isNewer ? undefined : login;
  }).catch((error) => {
    throw explainStoreError(error, account);
  });
}

function describeRefusal(error: unknown): unknown {
  const describe = ({ message }: Error, todo: string) =>
    new CommandFailed(`${message}. Nothing was stored.`, todo);
  if (isPlatformFailure(error)) return describe(error, 'Log in again.');
  if (!(error instanceof OAuthError)) return error;
  if (error.error === 'invalid_client')
    return describe(error, 'Check client_id and client_secret in the credential.');
  return describe(
    error,
    'Log in again. If it fails again, check that the redirect URI is the registered one.',
  );
}

/**
 * The code in a redirect (contract 4.2). Trusts nothing else in the redirect until the state matches.
 *
 * @throws CommandFailed
 */
function readCode({ searchParams }: URL, state: string): string {
  const states = searchParams.getAll('state');
  if (states.length !== 1 || !areEqual(states[0] ?? '', state)) {
    throw new CommandFailed(
      `The redirect was refused: it has ${states.length === 0 ? 'no state' : 'a state that this login did not send'}.`,
      'Log in again. If this happens again, another page or program is sending redirects to this login.',
    );
  }
  const error = searchParams.get('error');
  if (error !== null) throw describeDenial(error, searchParams.get('error_description'));
  const [code, ...others] = searchParams.getAll('code');
  if (code && others.length === 0) return code;
  throw new CommandFailed('The redirect has neither exactly one code nor an error.', 'Log in again.');
}

function describeDenial(error: string, description: string | null): CommandFailed {
  if (error === 'access_denied')
    return new CommandFailed('Access was denied in the browser.', 'Log in again and allow it.');
  const shorten = (text: string) => toPrintable(text).slice(0, MAX_SHOWN_CHARACTERS);
  const more = description ? ` (${shorten(description)})` : '';
  return new CommandFailed(
    `The platform refused the request for consent: ${shorten(error)}${more}.`,
    "Check the client's registered scopes and redirect URI.",
  );
}

/** Compares in constant time. The digests have equal lengths, as timingSafeEqual requires. */
function areEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return Promise.race([work, aborted]);
}
