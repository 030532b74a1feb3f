import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { OAuthError } from '../../../functions/platform/errors.ts';
import { consentUrl, exchangeCode } from '../../../functions/platform/oauth.ts';
import {
  credentialWarnings,
  isOAuth,
  type OAuthCredential,
  readCredential,
  updateCredential,
} from '../../../functions/token/credential.ts';
import { CommandFailed, isPlatformFailure, sayPlatformFailure, toPrintable } from '../../knowledge/errors.ts';
import { warn } from '../layout.ts';
import { type Account, explainStoreError } from './account.ts';

export interface AuthorizeOptions {
  /** Space-separated. */
  readonly scope: string;
  /** The registered redirect URI; by default a free port on 127.0.0.1. */
  readonly redirectUri?: string | undefined;
  /** Reads the redirected address from here instead of listening on loopback. */
  readonly paste?: Readable | undefined;
  /** Shows the consent screen's URL to the user. */
  showUrl(url: string): void;
  /** Ends the wait for the redirect. */
  readonly signal: AbortSignal;
}

/** 256 bits; RFC 6749 section 10.10 asks for 128. */
const STATE_BYTES = 32;

/**
 * The authorization code flow (contract 4.1, 4.2, 5.2): the user consents in the browser, the redirect brings a code, and the
 * platform exchanges the code for a refresh token, which is stored in the account's credential secret. The code is exchanged
 * only if the redirect has this login's state.
 *
 * @returns the granted scopes, space-separated; undefined if the platform does not name them
 * @throws CommandFailed; the signal's reason if it ended the wait
 */
export async function authorize(account: Account, options: AuthorizeOptions): Promise<string | undefined> {
  const client = await readClient(account);
  const { paste, scope } = options;
  const state = randomBytes(STATE_BYTES).toString('base64url');
  await using receiver = paste
    ? createPasteReceiver(paste, options.redirectUri)
    : await createLoopbackReceiver(state, options.redirectUri);
  const { redirectUri } = receiver;
  const asked = { clientId: client.client_id, redirectUri, scope, state };
  options.showUrl(consentUrl(account.platform, asked).href);
  const redirect = await untilAborted(receiver.redirect, options.signal);
  try {
    const grant = { code: readCode(redirect.url, state), redirect_uri: redirectUri };
    const granted = await exchangeAndStore(account, client, grant);
    await redirect.answer('done');
    return granted;
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
    `${account.place} has no client_id, which a login needs.`,
    `Store {"client_id","client_secret"} in ${account.place}.`,
  );
}

async function exchangeAndStore(
  account: Account,
  client: OAuthCredential,
  grant: { code: string; redirect_uri: string },
): Promise<string | undefined> {
  const { scope, refreshToken } = await exchangeCode(account.platform, client, grant).catch((error) => {
    throw describeRefusal(error);
  });
  // Contract 2.1: the authorization_code grant returns a refresh token.
  if (refreshToken === undefined) {
    throw new CommandFailed(
      'The platform returned no refresh token. Without one, the login would end with its first access token. Nothing was stored.',
      'Ask the platform whether this client may have refresh tokens.',
    );
  }
  await storeRefreshToken(account, refreshToken);
  return scope;
}

/** Stores a login's refresh token. @throws CommandFailed */
export async function storeRefreshToken(account: Account, refresh_token: string): Promise<void> {
  await updateCredential(account.store, account.name, () => ({ refresh_token })).catch((error) => {
    throw explainStoreError(error, account);
  });
}

function describeRefusal(error: unknown): unknown {
  const happened = isPlatformFailure(error) ? sayPlatformFailure(error) : undefined;
  const said = error instanceof OAuthError ? error.message : happened;
  if (said === undefined) return error;
  return new CommandFailed(
    `${said} Nothing was stored.`,
    'Check client_id and client_secret in the credential, and the registered redirect URI. Then log in again.',
  );
}

/**
 * The code in a redirect (contract 4.2). Trusts nothing else in the redirect until the state matches.
 *
 * @throws CommandFailed
 */
function readCode(url: URL, state: string): string {
  if (!hasState(url, state))
    throw new CommandFailed(
      'The pasted address does not have the state that this login sent.',
      'Log in again, and paste the address that the browser shows after this login.',
    );
  const { searchParams } = url;
  const error = searchParams.get('error');
  if (error !== null) {
    throw new CommandFailed(
      `Access was refused in the browser: ${toPrintable(error)}.`,
      "Log in again and allow it, or check the client's registered scopes and redirect URI.",
    );
  }
  const [code, ...others] = searchParams.getAll('code');
  if (code && others.length === 0) return code;
  throw new CommandFailed('The redirect has neither exactly one code nor an error.', 'Log in again.');
}

function hasState({ searchParams }: URL, state: string): boolean {
  const [found = '', ...others] = searchParams.getAll('state');
  return others.length === 0 && areEqual(found, state);
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

/** Waits for the browser's redirect. */
interface Receiver extends AsyncDisposable {
  readonly redirectUri: string;
  readonly redirect: Promise<Redirect>;
}

interface Redirect {
  readonly url: URL;
  /** Shows a page in the browser. Resolves when the browser has it or has disconnected. */
  answer(page: 'done' | 'failed'): Promise<void>;
}

/** The pages say nothing about the redirect's parameters. */
const PAGES = {
  done: { status: 200, title: 'Logged in', text: 'You can close this page.' },
  failed: { status: 400, title: 'Not logged in', text: 'The terminal says why. You can close this page.' },
  foreign: { status: 400, title: 'Not logged in', text: 'No login is waiting for this address.' },
  notFound: { status: 404, title: 'Not found', text: 'There is no page at this address.' },
};

/** The page's address contains the code: do not cache it, send it as a referrer, frame it, or load anything. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

/**
 * Listens on loopback for a GET of exactly the redirect URI. The Host header must match too, so that a page cannot reach the
 * listener through another name that resolves to this machine. Only the first redirect with the login's state counts: another page or
 * program must not be able to end the login.
 *
 * @param registered the registered redirect URI; by default a free port on 127.0.0.1
 * @throws CommandFailed if the port is taken
 */
async function createLoopbackReceiver(state: string, registered?: string): Promise<Receiver> {
  const { promise: redirect, resolve } = Promise.withResolvers<Redirect>();
  let isTaken = false;
  const server = createServer((request, response) => {
    const url = URL.parse(`http://${request.headers.host}${request.url}`);
    const isExpected = url && request.method === 'GET' && isRedirectTo(url, redirectUri);
    if (!isExpected) return void send(response, 'notFound');
    if (isTaken || !hasState(url, state)) return void send(response, 'foreign');
    isTaken = true;
    resolve({ url, answer: (page) => send(response, page) });
  });
  const port = await listen(server, registered === undefined ? undefined : new URL(registered));
  const redirectUri = registered ?? `http://127.0.0.1:${port}/callback`;
  return { redirectUri, redirect, [Symbol.asyncDispose]: () => close(server) };
}

/** The redirect URI of a browser on another machine. Nothing listens there, but the address bar shows the redirect. */
const UNREACHABLE = 'http://127.0.0.1:47115/callback';

/** Reads the redirect from a line of `input`: the address in the browser's address bar. */
function createPasteReceiver(input: Readable, redirectUri: string = UNREACHABLE): Receiver {
  // Without an output, readline does not handle Ctrl-C itself.
  const lines = createInterface({ input });
  const redirect = readFirstLine(lines).then((line) => ({
    url: parsePasted(line, redirectUri),
    answer: async () => {},
  }));
  redirect.catch(() => undefined); // The input may end before `redirect` is awaited.
  const dispose = async () => {
    lines.close();
    input.destroy();
  };
  return { redirectUri, redirect, [Symbol.asyncDispose]: dispose };
}

async function readFirstLine(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) if (line.trim() !== '') return line.trim();
  throw new CommandFailed('No address was pasted.', 'Log in again and paste the whole address.');
}

function parsePasted(line: string, redirectUri: string): URL {
  const url = URL.parse(line);
  if (url && isRedirectTo(url, redirectUri)) return url;
  throw new CommandFailed(
    `The pasted text is not an address that begins with ${redirectUri}.`,
    "Log in again and paste the whole address from the browser's address bar.",
  );
}

/** Compares scheme, host, port and path exactly. */
function isRedirectTo(url: URL, redirectUri: string): boolean {
  const { origin, pathname } = new URL(redirectUri);
  return url.origin === origin && url.pathname === pathname;
}

async function listen(server: Server, registered: URL | undefined): Promise<number> {
  const port = registered === undefined ? 0 : Number(registered.port || 80);
  try {
    await once(server.listen(port, registered?.hostname === '[::1]' ? '::1' : '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandFailed(
      `Port ${port} of the redirect URI cannot be used (${code}).`,
      'Stop the program that uses it, or register another redirect URI and give it with --redirect-uri.',
    );
  }
}

async function send(response: ServerResponse, page: keyof typeof PAGES): Promise<void> {
  const { status, title, text } = PAGES[page];
  const closed = response.destroyed ? Promise.resolve() : once(response, 'close');
  response.writeHead(status, HEADERS).end(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1><p>${text}</p></body>
</html>
`);
  await closed;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
