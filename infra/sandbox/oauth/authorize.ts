import { type Answer, html, type Incoming } from '../exchange.ts';
import type { Credential } from '../settings.ts';
import type { PendingConsent, SandboxState } from '../state.ts';
import { OAuthError, randomToken, requestedScopes } from './tokens.ts';

const CODE_LIFETIME_MS = 600_000;

/** GET shows the consent page, whose form is posted back to the same URL (contract 4.2). */
export function authorizationEndpoint(state: SandboxState, request: Incoming): Answer {
  return request.method === 'GET' ? startConsent(state, request.query) : finishConsent(state, request);
}

/**
 * An unknown client or a redirect_uri that it may not use is an error page: such a request must not be
 * redirected (RFC 6749 4.1.2.1). Other errors are sent to the redirect_uri.
 */
function startConsent(state: SandboxState, query: URLSearchParams): Answer {
  const credential = state.credentials.find(({ clientId }) => clientId === query.get('client_id'));
  if (!credential) return html(400, messagePage('This application is unknown.'));
  const redirectUri = query.get('redirect_uri') ?? '';
  if (!isAllowed(redirectUri, credential)) {
    return html(400, messagePage('This application may not use that redirect_uri.'));
  }
  const pending: PendingConsent = { credential, scopes: [], redirectUri, state: query.get('state') };
  try {
    return askOrAllow(state, { ...pending, scopes: scopesOf(query, credential) });
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return redirectBack(pending, { error: error.error, error_description: error.message });
  }
}

function scopesOf(query: URLSearchParams, { scopes }: Credential): readonly string[] {
  if (query.get('response_type') !== 'code') {
    throw new OAuthError('unsupported_response_type', 'response_type must be code.');
  }
  return requestedScopes(query.get('scope'), scopes);
}

/** Skips the consent page if the user has consented before, or if consent was granted by arrangement. */
function askOrAllow(state: SandboxState, pending: PendingConsent): Answer {
  const { clientId, consentGranted } = pending.credential;
  const consented = state.consentedScopes.get(clientId);
  if (consentGranted || pending.scopes.every((scope) => consented?.has(scope))) return allow(state, pending);
  const id = randomToken('consent');
  state.pendingConsents.set(id, pending);
  return html(200, consentPage(pending, id));
}

function finishConsent(state: SandboxState, request: Incoming): Answer {
  const form = new URLSearchParams(request.body);
  const id = form.get('consent') ?? '';
  const pending = state.pendingConsents.get(id);
  state.pendingConsents.delete(id);
  if (!pending) return html(400, messagePage('This page was already used. Go back to the application.'));
  if (form.get('decision') === 'allow') return allow(state, pending);
  return redirectBack(pending, { error: 'access_denied', error_description: 'The user did not consent.' });
}

function allow({ consentedScopes, codes, now }: SandboxState, pending: PendingConsent): Answer {
  const { credential, scopes, redirectUri } = pending;
  const { clientId } = credential;
  consentedScopes.set(clientId, new Set([...(consentedScopes.get(clientId) ?? []), ...scopes]));
  const code = randomToken('code');
  const expiresAt = now() + CODE_LIFETIME_MS;
  codes.set(code, { credential, scopes, redirectUri, expiresAt, used: false });
  return redirectBack(pending, { code });
}

/** Keeps the query of redirect_uri and returns `state` unchanged. */
function redirectBack({ redirectUri, state }: PendingConsent, parameters: Record<string, string>): Answer {
  const location = new URL(redirectUri);
  for (const [name, value] of Object.entries(parameters)) location.searchParams.append(name, value);
  if (state !== null) location.searchParams.append('state', state);
  return { status: 302, headers: { location: location.href, 'cache-control': 'no-store' } };
}

function isAllowed(redirectUri: string, credential: Credential): boolean {
  if (!URL.canParse(redirectUri) || redirectUri.includes('#')) return false;
  return credential.redirectUris.includes(redirectUri) || isLoopback(new URL(redirectUri));
}

/** A program on the user's machine may use any port of loopback (RFC 8252 7.3). */
function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
}

/** Shows the requested scopes, with a form to allow or deny them. Works without scripts. */
function consentPage({ credential, scopes, redirectUri }: PendingConsent, consent: string): string {
  return page(
    'Allow access?',
    `<p><code>${escaped(credential.clientId)}</code> asks for access to the account
     <strong>${escaped(credential.account)}</strong>:</p>
    <ul>${scopes.map((scope) => `<li><code>${escaped(scope)}</code></li>`).join('')}</ul>
    <form method="post">
      <input type="hidden" name="consent" value="${escaped(consent)}">
      <button name="decision" value="deny">Deny</button>
      <button name="decision" value="allow">Allow</button>
    </form>
    <small>You will return to <code>${escaped(new URL(redirectUri).origin)}</code>. This is a sandbox: no real
     account is touched.</small>`,
  );
}

function messagePage(message: string): string {
  return page('That did not work', `<p>${escaped(message)}</p>`);
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<body style="margin: 3rem auto; width: min(26rem, 90vw); font: 1rem/1.5 system-ui"><main>
<h1>${title}</h1>${content}</main></body></html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
