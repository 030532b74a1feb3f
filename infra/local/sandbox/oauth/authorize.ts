import { type Answer, html, type Incoming } from '../exchange.ts';
import type { Credential } from '../settings.ts';
import type { World } from '../world.ts';
import { consentPage, messagePage } from './consent-page.ts';
import { OAuthError, requestedScopes } from './error.ts';
import { opaque, type Pending } from './tokens.ts';

/** Contract 4.2: GET shows the consent screen, whose form comes back here as a POST. */
export function authorizationEndpoint(world: World, request: Incoming): Answer {
  return request.method === 'GET' ? askForConsent(world, request.query) : decide(world, request);
}

/**
 * Until client and redirect_uri are known to belong together, a fault is shown to the user and never redirected
 * (RFC 6749 4.1.2.1).
 */
function askForConsent(world: World, query: URLSearchParams): Answer {
  const credential = world.credentials.find(({ clientId }) => clientId === query.get('client_id'));
  if (!credential) return html(400, messagePage('This application is not known here.'));
  const redirectUri = query.get('redirect_uri') ?? '';
  if (!isAllowed(redirectUri, credential)) {
    return html(400, messagePage('This application may not ask for a return to that address.'));
  }
  const pending: Pending = { credential, scopes: [], redirectUri, state: query.get('state') };
  try {
    return withScopes(world, { ...pending, scopes: scopesOf(query, credential) });
  } catch (error) {
    if (error instanceof OAuthError)
      return goBack(pending, { error: error.error, error_description: error.message });
    throw error;
  }
}

function scopesOf(query: URLSearchParams, credential: Credential): readonly string[] {
  if (query.get('response_type') !== 'code') {
    throw new OAuthError('unsupported_response_type', 'response_type must be code.');
  }
  return requestedScopes(query.get('scope'), credential.scopes);
}

/** Consent is asked for once; by arrangement it is not asked for at all. */
function withScopes(world: World, pending: Pending): Answer {
  const { clientId, consentGranted } = pending.credential;
  const given = world.authorizations.consents.get(clientId);
  if (consentGranted || pending.scopes.every((scope) => given?.has(scope))) return allow(world, pending);
  const id = opaque('consent');
  world.authorizations.pending.set(id, pending);
  return html(200, consentPage(pending, id));
}

function decide(world: World, request: Incoming): Answer {
  const form = new URLSearchParams(request.body);
  const id = form.get('consent') ?? '';
  const pending = world.authorizations.pending.get(id);
  world.authorizations.pending.delete(id);
  if (!pending) return html(400, messagePage('This page was used before. Go back to the application.'));
  if (form.get('decision') === 'allow') return allow(world, pending);
  return goBack(pending, { error: 'access_denied', error_description: 'The user did not consent.' });
}

function allow(world: World, pending: Pending): Answer {
  const { credential, scopes, redirectUri } = pending;
  const { codes, consents } = world.authorizations;
  consents.set(credential.clientId, new Set([...(consents.get(credential.clientId) ?? []), ...scopes]));
  const code = opaque('code');
  const authorizedAt = world.now();
  const expiresAt = authorizedAt + (world.options.codeSeconds ?? 600) * 1000;
  codes.set(code, { credential, scopes, authorizedAt, redirectUri, expiresAt, used: false });
  return goBack(pending, { code });
}

/** To redirect_uri, whose own query is kept, with the state exactly as it came. */
function goBack({ redirectUri, state }: Pending, parameters: Record<string, string>): Answer {
  const location = new URL(redirectUri);
  for (const [name, value] of Object.entries(parameters)) location.searchParams.append(name, value);
  if (state !== null) location.searchParams.append('state', state);
  return { status: 302, headers: { location: location.href, 'cache-control': 'no-store' } };
}

function isAllowed(redirectUri: string, credential: Credential): boolean {
  if (!URL.canParse(redirectUri) || redirectUri.includes('#')) return false;
  return credential.redirectUris.includes(redirectUri) || isLoopback(new URL(redirectUri));
}

/** A program on the user's own machine listens on whatever port is free (RFC 8252 7.3). */
function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
}
