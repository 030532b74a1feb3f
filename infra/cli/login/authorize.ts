import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Readable } from 'node:stream';
import { consentUrl } from '../../../functions/platform/consent.ts';
import { NoAnswer, OAuthError, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { exchangeCode } from '../../../functions/platform/token.ts';
import type { Account } from '../account.ts';
import { type LoginCredential, readLoginCredential, storeRefreshToken } from '../credential-store.ts';
import { CommandFailed } from '../errors.ts';
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
  readonly now?: () => Date;
}

export interface Authorized {
  /** The granted scopes, space-separated; undefined if the platform does not name them. */
  readonly scope: string | undefined;
  /** False if another login at the same time ended later and its token was kept. */
  readonly isStored: boolean;
}

/** 256 bits; RFC 6749 section 10.10 asks for 128. */
const STATE_BYTES = 32;

/** The redirect's error is shown on a terminal. */
const MAX_SHOWN_CHARACTERS = 300;

/**
 * The authorization code flow (contract 4.1, 4.2, 5.2): the user consents in the browser, the redirect brings a code, and the
 * platform exchanges the code for a refresh token, which is stored in the account's credential secret. The code is exchanged
 * only if the redirect has this login's state.
 *
 * @throws CommandFailed; the signal's reason if it ended the wait
 */
export async function authorize(account: Account, options: AuthorizeOptions): Promise<Authorized> {
  const credential = await readLoginCredential(account.store, account.name);
  const { paste, scope } = options;
  await using receiver = paste
    ? createPasteReceiver(paste, options.redirectUri)
    : await createLoopbackReceiver(options.redirectUri);
  const { redirectUri } = receiver;
  const state = randomBytes(STATE_BYTES).toString('base64url');
  const asked = { clientId: credential.client_id, redirectUri, scope, state };
  await options.showUrl(consentUrl(account.platform, asked).href);
  const redirect = await untilAborted(receiver.redirect, options.signal);
  try {
    const grant = { code: readCode(redirect.url, state), redirect_uri: redirectUri };
    const authorized = await exchangeAndStore(account, credential, grant, options.now);
    await redirect.answer('done');
    return authorized;
  } catch (error) {
    await redirect.answer('failed');
    throw error;
  }
}

async function exchangeAndStore(
  { name, platform, store }: Account,
  credential: LoginCredential,
  grant: { code: string; redirect_uri: string },
  now = () => new Date(),
): Promise<Authorized> {
  const { scope, refreshToken } = await exchangeCode(platform, credential, grant).catch((error) => {
    throw describeRefusal(error);
  });
  const issuedAt = now();
  // Contract 2.1: the authorization_code grant returns a refresh token.
  if (refreshToken === undefined) {
    throw new CommandFailed(
      'The platform returned no refresh token. Without one, the login would end with its first access token. Nothing was stored.',
      'Ask the platform whether this client may have refresh tokens.',
    );
  }
  const isStored = await storeRefreshToken(store, name, credential, { value: refreshToken, issuedAt });
  return { scope, isStored };
}

/** The messages of the platform client's errors contain no secrets. */
function describeRefusal(error: unknown): unknown {
  if (error instanceof OAuthError) {
    const todo =
      error.error === 'invalid_client'
        ? 'Check client_id and client_secret in the credential.'
        : 'Log in again. If it fails again, check that the redirect URI is the registered one.';
    return new CommandFailed(`${error.message}. Nothing was stored.`, todo);
  }
  const isPlatform = [PlatformError, NoAnswer, UnreadableAnswer].some((type) => error instanceof type);
  return isPlatform
    ? new CommandFailed(`${(error as Error).message}. Nothing was stored.`, 'Log in again.')
    : error;
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
      `The redirect was refused: it has ${states.length === 0 ? 'no state' : 'a state that is not of this login'}.`,
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
  const more = description ? ` (${shorten(description)})` : '';
  return new CommandFailed(
    `The platform refused the request for consent: ${shorten(error)}${more}.`,
    "Check the client's registered scopes and redirect URI.",
  );
}

/** Removes control characters, which a terminal would obey. */
function shorten(text: string): string {
  return text.replace(/\p{C}+/gu, ' ').slice(0, MAX_SHOWN_CHARACTERS);
}

/** Compares in constant time. The digests have equal lengths, as timingSafeEqual requires. */
function areEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = () => reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  return promise;
}
