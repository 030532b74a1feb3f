import { type CachedToken, openSecrets, type Secrets } from './aws/secrets.ts';
import type { Token } from './platform/token.ts';
import { requestToken } from './platform/token.ts';
import { openConnection } from './workflow/connect.ts';
import type { OAuthCredential } from './workflow/credential.ts';
import { decideGrant } from './workflow/decide.ts';
import { CredentialUnusable, TokenRefusedAgain } from './workflow/errors.ts';
import { type AuthorizedWindow, type TokenRef, WindowState } from './workflow/states.ts';
import { type Common, step } from './workflow/step.ts';

/** A token that ends within this time is not handed out: a call may take a minute. Half of the shortest lifetime. */
const MARGIN_MS = 30_000;

/** All that reporting needs (contract 5.3). */
const SCOPE = 'reporting:read';

interface Dependencies extends Common {
  readonly secrets: Pick<Secrets, 'readCredential' | 'readNewestToken' | 'writeToken'>;
  readonly requestToken: (client: OAuthCredential) => Promise<Token>;
  /** The platform that tokens are for, part of what a cached one must match. */
  readonly baseUrl: string;
}

/**
 * Makes sure that a valid token is cached, and gives its version: the token itself stays in Secrets Manager. One is
 * requested only where none is valid, or where the platform has refused the very one that is cached; whoever comes
 * second after a refusal finds the renewed one (contract 5.4).
 *
 * @throws TokenRefusedAgain where the refused token was itself the answer to a refusal
 * @throws CredentialUnusable, LoginRequired, PlatformUnavailable, AnswerUnreadable
 */
export async function getToken(state: WindowState, dependencies: Dependencies): Promise<AuthorizedWindow> {
  const { caught, ...window } = state;
  const refused = caught?.Error === 'TokenRefused' ? window.token : undefined;
  if (refused?.unproven) throw refusedAgain(window);
  const found = await findToken(window.request.account, refused, dependencies);
  return { ...window, token: { ...found, unproven: refused !== undefined } };
}

async function findToken(account: string, refused: TokenRef | undefined, dependencies: Dependencies) {
  const { secrets, now } = dependencies;
  const credential = await secrets.readCredential(account);
  if ('api_key' in credential) {
    throw new CredentialUnusable(
      `The credential of account ${account} is an API key, which is not supported.`,
      { account },
    );
  }
  const issued_for = `${credential.client_id} ${dependencies.baseUrl}`;
  const cached = await secrets.readNewestToken(account);
  if (cached && cached.version !== refused?.version && isUsable(cached.token, issued_for, now())) {
    return { version: cached.version, expires_at: cached.token.expires_at };
  }
  return renew(account, credential, issued_for, dependencies);
}

function isUsable(token: CachedToken, issuedFor: string, now: Date): boolean {
  return token.issued_for === issuedFor && Date.parse(token.expires_at) - now.getTime() > MARGIN_MS;
}

async function renew(
  account: string,
  credential: OAuthCredential,
  issued_for: string,
  dependencies: Dependencies,
) {
  const { secrets, now, log } = dependencies;
  const requestedAt = now().getTime();
  const token = await dependencies.requestToken(credential).catch((error) => {
    throw decideGrant(error, account);
  });
  const expires_at = new Date(requestedAt + token.expiresIn * 1000).toISOString();
  const version = await secrets.writeToken(account, {
    scheme: 'Bearer',
    value: token.accessToken,
    expires_at,
    issued_for,
  });
  log.info('a token was issued', { account, expires_at, scope: token.scope });
  return { version, expires_at };
}

function refusedAgain({ request, reports }: WindowState): TokenRefusedAgain {
  const happened =
    `The platform refused a token of account ${request.account} that it had just issued. ` +
    'Check that the credential may use the reporting API, and that base_url is the platform that issued it.';
  return new TokenRefusedAgain(happened, {
    account: request.account,
    report_ids: reports.map(({ id }) => id),
  });
}

export const handler = step(WindowState, getToken, (settings) => {
  const connection = openConnection(settings);
  return {
    secrets: openSecrets(settings.SECRET_PREFIX),
    requestToken: (client: OAuthCredential) => requestToken(connection, client, { scope: SCOPE }),
    baseUrl: settings.PLATFORM_BASE_URL,
  };
});
