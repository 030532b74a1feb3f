import type { Readable } from 'node:stream';
import { consentUrl } from '../../../functions/platform/consent.ts';
import { NoAnswer, OAuthError, PlatformError, UnreadableAnswer } from '../../../functions/platform/errors.ts';
import { exchangeCode, type Token } from '../../../functions/platform/token.ts';
import { type LoginCredential, readLoginCredential, storeRefreshToken } from '../credential/store.ts';
import type { Target } from '../credential/target.ts';
import { CommandFailed } from '../usage.ts';
import { receiveFromPaste } from './paste.ts';
import { type Receiver, receiveOnLoopback } from './receive.ts';
import { readCode } from './redirect.ts';
import { newState } from './state.ts';

export interface LoginOptions {
  /** Space-separated. */
  readonly scope: string;
  /** The registered one; a port that is free where absent. */
  readonly redirectUri?: string | undefined;
  /** Where the redirected address is pasted, instead of received on loopback. */
  readonly paste?: Readable | undefined;
}

/** What the login needs of whoever runs it. */
export interface Person {
  /** Shows the address of the consent screen, or opens it. */
  visit(url: string): Promise<void>;
  /** Ends the waiting: the person's patience, or Ctrl-C. */
  readonly signal: AbortSignal;
  readonly now?: () => Date;
}

export interface LoggedIn {
  /** Space-separated, as granted; undefined where the platform does not say. */
  readonly scope: string | undefined;
  /** Whether this login's token is the one in the secret, and not that of one which ended after it. */
  readonly stored: boolean;
}

/**
 * The authorization code flow (contract 4.1, 4.2, 5.2): consent in the browser, the code from its redirect, and the
 * refresh token into the account's credential secret. The code is exchanged only where the state is this login's.
 *
 * @throws CommandFailed; the signal's reason where it ended the waiting
 */
export async function login(target: Target, options: LoginOptions, person: Person): Promise<LoggedIn> {
  const credential = await readLoginCredential(target.store, target.account);
  await using receiver = await openReceiver(options);
  const state = newState();
  const { redirectUri } = receiver;
  const asked = { clientId: credential.client_id, redirectUri, scope: options.scope, state: state.value };
  await person.visit(consentUrl(target.platform, asked).href);
  const arrival = await untilAborted(receiver.arrived, person.signal);
  try {
    const code = readCode(arrival.url, state);
    const loggedIn = await exchangeAndStore(target, credential, { code, redirect_uri: redirectUri }, person);
    await arrival.answer('done');
    return loggedIn;
  } catch (error) {
    await arrival.answer('failed');
    throw error;
  }
}

function openReceiver({ paste, redirectUri }: LoginOptions): Receiver | Promise<Receiver> {
  return paste ? receiveFromPaste(paste, redirectUri) : receiveOnLoopback(redirectUri);
}

async function exchangeAndStore(
  { account, platform, store }: Target,
  credential: LoginCredential,
  grant: { code: string; redirect_uri: string },
  { now = () => new Date() }: Person,
): Promise<LoggedIn> {
  const token = await exchangeCode(platform, credential, grant).catch((error) => {
    throw refusal(error);
  });
  const issuedAt = now();
  const refreshToken = requireRefreshToken(token);
  const stored = await storeRefreshToken(store, account, credential, { refreshToken, issuedAt });
  return { scope: token.scope, stored };
}

/** Contract 2.1: it comes with the authorization_code grant. */
function requireRefreshToken({ refreshToken }: Token): string {
  if (refreshToken !== undefined) return refreshToken;
  throw new CommandFailed(
    'The platform gave no refresh token, without which a login ends with its first access token. Nothing was stored.',
    'Ask the platform whether this client may have one.',
  );
}

/** What the platform client throws has been freed of secrets. */
function refusal(error: unknown): unknown {
  if (error instanceof OAuthError) {
    const todo =
      error.error === 'invalid_client'
        ? 'Check client_id and client_secret in the credential.'
        : 'Log in again. If it comes back, check that the redirect URI is the registered one.';
    return new CommandFailed(`${error.message}. Nothing was stored.`, todo);
  }
  const isPlatform = [PlatformError, NoAnswer, UnreadableAnswer].some((one) => error instanceof one);
  if (!isPlatform) return error;
  return new CommandFailed(`${(error as Error).message}. Nothing was stored.`, 'Log in again.');
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = () => reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  return promise;
}
