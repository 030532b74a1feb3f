import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Command } from 'commander';
import { TOKEN_FORMS } from '../../../../functions/contract.ts';
import { consentUrl, requestToken } from '../../../../functions/platform/oauth.ts';
import {
  credentialWarnings,
  isOAuth,
  type OAuthCredential,
  readCredential,
  updateCredential,
} from '../../../../functions/token/credential.ts';
import { ExportError } from '../../../../functions/workflow/errors.ts';
import { readDeployment } from '../../place/deployment.ts';
import { CommandFailed, refuse, sayPlatformFailure, toPrintable } from '../../place/errors.ts';
import { storeFaults } from '../../place/target-platform.ts';
import { INTERRUPTED } from '../exit-status.ts';
import { catchInterrupt } from '../interrupt.ts';
import { printLines, warn } from '../layout.ts';
import { option, platformFaults } from '../options.ts';
import {
  type AccountAccess,
  type AccountOptions,
  accountNameFaults,
  createAccount,
  explainStoreError,
  neededScopes,
} from './account.ts';

/** 256 bits; RFC 6749 section 10.10 asks for 128. */
const STATE_BYTES = 32;

/** Nothing listens there. The browser's address bar shows the redirect, on any machine. */
export const LOOPBACK = 'http://127.0.0.1:47115/callback';

interface LoginOptions extends AccountOptions {
  readonly account: string;
  readonly scope?: string;
  readonly redirectUri: string;
}

export function createCommand(): Command {
  return new Command('login')
    .requiredOption('--account <name>', 'the account')
    .option('--scope <scopes>', "the scopes to ask for, separated by spaces (default: its exports')")
    .option('--redirect-uri <url>', 'the registered redirect URI', LOOPBACK)
    .option('--local', 'store the login in a credential file on this machine')
    .addOption(option.baseUrl())
    .addOption(option.credential())
    .action(login);
}

async function login(options: LoginOptions): Promise<void> {
  const { account: name, local, scope = neededScopes(name).join(' '), redirectUri } = options;
  refuse([
    ...accountNameFaults(name, options),
    ...(local ? [] : storeFaults()),
    ...(local ? await platformFaults(options, '--local', ['baseUrl', 'credential']) : []),
    ...(URL.canParse(redirectUri) ? [] : ['--redirect-uri is not a URL']),
  ]);
  if (!local) await readDeployment();
  await using account = createAccount(name, options);
  using interrupt = catchInterrupt();
  const { signal } = interrupt;
  try {
    const granted = await logInWithBrowser(account, {
      scope,
      redirectUri,
      input: process.stdin,
      showUrl,
      signal,
    });
    printLines([
      `Account ${name} is logged in${granted === undefined ? '' : `. Granted: ${granted}`}.`,
      `The refresh token is in ${account.place}.`,
    ]);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    process.stderr.write('Stopped. Nothing was stored.\n');
    process.exitCode = INTERRUPTED;
  }
}

function showUrl(url: string): void {
  const paste = 'After you allow access, the browser may show an error page. Paste its whole address here:';
  process.stdout.write(`Open this address in a browser:\n\n${url}\n\n${paste}\n`);
}

export interface AuthorizeOptions {
  /** Space-separated. */
  readonly scope: string;
  readonly redirectUri: string;
  /** Has the redirected address in a line. */
  readonly input: Readable;
  showUrl(url: string): void;
  /** Ends the wait for the address. */
  readonly signal: AbortSignal;
}

/**
 * The authorization code flow (contract 4.1, 4.2, 5.2): the user consents in a browser and pastes the
 * redirected address, whose code the platform exchanges for a refresh token. That is stored in the account's
 * credential secret. The code is exchanged only if the address has this login's state.
 *
 * @returns the granted scopes, space-separated; undefined if the platform does not name them
 * @throws CommandFailed; the signal's reason if it ended the wait
 */
export async function logInWithBrowser(
  account: AccountAccess,
  { scope, redirectUri, input, showUrl, signal }: AuthorizeOptions,
): Promise<string | undefined> {
  const client = await readClient(account);
  const state = randomBytes(STATE_BYTES).toString('base64url');
  const asked = { client_id: client.client_id, redirect_uri: redirectUri, scope, state };
  showUrl(consentUrl(account.platform, asked).href);
  const code = readCode(await readLine(input, signal), state);
  const form = TOKEN_FORMS.code(code, redirectUri);
  // The lease comes first, because nobody could store a login while an execution replaces the refresh token.
  return account
    .underLease(() => exchangeAndStore(account, client, form))
    .catch((error) => {
      throw explainStoreError(error, account);
    });
}

async function readLine(input: Readable, signal: AbortSignal): Promise<string> {
  // Without an output, readline does not handle Ctrl-C itself.
  const lines = createInterface({ input, signal });
  try {
    for await (const line of lines) if (line.trim() !== '') return line.trim();
  } finally {
    input.destroy();
  }
  signal.throwIfAborted();
  throw new CommandFailed('No address was pasted.', 'Log in again and paste the whole address.');
}

/** @throws CommandFailed naming the fields that are wrong, never a value */
export async function readClient(account: AccountAccess): Promise<OAuthCredential> {
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

/** @returns the granted scopes */
async function exchangeAndStore(
  account: AccountAccess,
  client: OAuthCredential,
  form: Readonly<Record<string, string>>,
) {
  const { scope, refreshToken } = await requestToken(account.platform, client, form).catch((error) => {
    if (!(error instanceof ExportError)) throw error;
    throw new CommandFailed(
      `${sayPlatformFailure(error)} Nothing was stored.`,
      'Check client_id and client_secret in the credential, and the registered redirect URI. Then log in again.',
    );
  });
  // Contract 2.1: the authorization_code grant returns a refresh token.
  if (refreshToken === undefined) {
    throw new CommandFailed(
      'The platform returned no refresh token. Without one, the login would end with its first access token. Nothing was stored.',
      'Ask the platform whether this client may have refresh tokens.',
    );
  }
  const login = { refresh_token: refreshToken };
  await updateCredential(account.store, account.name, () => login);
  return scope;
}

/** The code in a redirect (contract 4.2), of which nothing is trusted until the state matches. */
function readCode(pasted: string, state: string): string {
  const searchParams = URL.parse(pasted)?.searchParams;
  if (searchParams?.getAll('state').join() !== state)
    throw new CommandFailed(
      'The pasted text is not an address with the state that this login sent.',
      'Log in again, and paste the whole address that the browser shows after this login.',
    );
  const error = searchParams.get('error');
  if (error !== null) {
    throw new CommandFailed(
      `Access was refused in the browser: ${toPrintable(error)}.`,
      "Log in again and allow it, or check the client's registered scopes and redirect URI.",
    );
  }
  const [code, ...others] = searchParams.getAll('code');
  if (code && others.length === 0) return code;
  throw new CommandFailed('The pasted address has neither exactly one code nor an error.', 'Log in again.');
}
