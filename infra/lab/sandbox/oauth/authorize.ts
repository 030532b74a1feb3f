import { type Answer, type Call, oauthRefusal, Refusal } from '../exchange.ts';
import type { Consents, Grant, PlatformState } from '../platform-state.ts';
import { randomToken, requestedScopes } from './tokens.ts';

const CODE_LIFETIME_MS = 600_000;

/**
 * GET shows the consent page, whose form is posted back to the same URL (contract 4.2).
 *
 * An unknown client or a redirect_uri that it may not use is an error page: such a request must not be
 * redirected (RFC 6749 4.1.2.1). Other errors are sent to the redirect_uri.
 */
export function authorizationEndpoint(
  { credentials, now }: PlatformState,
  { method, body, ...call }: Call,
  { codes }: Consents,
): Answer {
  const query = new URLSearchParams(call.query);
  const credential = credentials.find(({ clientId }) => clientId === query.get('client_id'));
  const redirectUri = query.get('redirect_uri') ?? '';
  if (!credential || !isLoopback(redirectUri)) {
    const problem = credential ? 'may not use that redirect_uri' : 'is unknown';
    return page(400, 'That did not work', `<p>This application ${problem}.</p>`);
  }
  try {
    if (query.get('response_type') !== 'code')
      throw oauthRefusal('unsupported_response_type', 'response_type must be code.');
    const grant = { credential, scopes: requestedScopes(query.get('scope'), credential.scopes) };
    if (method === 'GET') return consentPage(grant);
    if (new URLSearchParams(body).get('decision') !== 'allow')
      throw oauthRefusal('access_denied', 'The user did not consent.');
    const code = randomToken('code');
    codes.set(code, { ...grant, redirectUri, expiresAt: now() + CODE_LIFETIME_MS });
    return redirectBack(redirectUri, query, { code });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return redirectBack(redirectUri, query, Object(error.answer.json));
  }
}

/** Keeps the query of redirect_uri and returns `state` unchanged. */
function redirectBack(uri: string, query: URLSearchParams, parameters: Record<string, string>): Answer {
  const location = new URL(uri);
  const state = query.get('state');
  for (const [name, value] of Object.entries({ ...parameters, ...(state !== null && { state }) }))
    location.searchParams.append(name, value);
  return { status: 302, headers: { location: location.href, 'cache-control': 'no-store' } };
}

/** A program on the user's machine may use any port of loopback (RFC 8252 7.3). */
function isLoopback(uri: string): boolean {
  const { protocol, hostname, hash } = URL.parse(uri) ?? {};
  return protocol === 'http:' && hash === '' && /^(127\.0\.0\.1|\[::1\]|localhost)$/.test(hostname ?? '');
}

/** Shows the scopes, all of them known names, with a form to allow or deny them. Works without scripts. */
function consentPage({ credential, scopes }: Grant): Answer {
  return page(
    200,
    'Allow access?',
    `<p>An application asks for access to the account <strong>${credential.account}</strong>:</p>
    <ul>${scopes.map((scope) => `<li><code>${scope}</code></li>`).join('')}</ul>
    <form method="post">
      <button name="decision" value="deny">Deny</button>
      <button name="decision" value="allow">Allow</button>
    </form>
    <small>This is a sandbox: no real account is touched.</small>`,
  );
}

function page(status: number, title: string, content: string): Answer {
  const text = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<body style="margin: 3rem auto; width: min(26rem, 90vw); font: 1rem/1.5 system-ui"><main>
<h1>${title}</h1>${content}</main></body></html>
`;
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, text };
}
