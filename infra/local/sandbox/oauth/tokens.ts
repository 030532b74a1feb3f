import { randomBytes } from 'node:crypto';
import type { AdvertiserScope, Credential } from '../settings.ts';
import type { World } from '../world.ts';

/** What a token may do: whose it is, its scopes, and when the advertiser scope was fixed. */
export type Grant = { credential: Credential; scopes: readonly string[]; authorizedAt: number };

export type AccessToken = Grant & { expiresAt: number; code?: string };
export type RefreshToken = Grant & { code?: string };
export type Code = Grant & { redirectUri: string; expiresAt: number; used: boolean };
/** A consent screen that is being shown; its key is in the page's form. */
export type Pending = {
  credential: Credential;
  scopes: readonly string[];
  redirectUri: string;
  state: string | null;
};

export type Authorizations = {
  access: Map<string, AccessToken>;
  refresh: Map<string, RefreshToken>;
  codes: Map<string, Code>;
  pending: Map<string, Pending>;
  /** Scopes that the user has already consented to, by client id. */
  consents: Map<string, ReadonlySet<string>>;
  /** When the credentials were installed. */
  installedAt: number;
};

/** A random value whose prefix tells a leak sweep what leaked: `at` access token, `rt` refresh token, `code`. */
export function opaque(kind: 'at' | 'rt' | 'code' | 'consent'): string {
  return `sbx_${kind}_${randomBytes(24).toString('base64url')}`;
}

/** Contract 2.1. A refresh token comes only where the caller adds one. */
export function issueToken(world: World, grant: Grant, code?: string): Record<string, unknown> {
  const seconds = world.options.tokenSeconds ?? 3600;
  const token = opaque('at');
  const expiresAt = world.now() + seconds * 1000;
  const { credential, scopes, authorizedAt } = grant;
  const origin = code === undefined ? {} : { code };
  world.authorizations.access.set(token, { credential, scopes, authorizedAt, expiresAt, ...origin });
  return { access_token: token, token_type: 'Bearer', expires_in: seconds, scope: scopes.join(' ') };
}

export function findToken(world: World, token: string): AccessToken | undefined {
  const found = world.authorizations.access.get(token);
  return found && found.expiresAt > world.now() ? found : undefined;
}

/** Ends every access token at once, as when a credential is rolled on the platform. Refresh tokens stay. */
export function revokeAccessTokens(world: World): void {
  world.authorizations.access.clear();
}

/** Contract 5.5: whether the grant covers an advertiser. */
export function reaches(world: World, grant: Grant, advertiserId: string): boolean {
  const advertiser = world.advertisers
    .get(grant.credential.account)
    ?.find(({ id }) => id === advertiserId.toLowerCase());
  return advertiser !== undefined && covers(grant.credential.advertisers, advertiser, grant.authorizedAt);
}

export function covers(
  scope: AdvertiserScope,
  advertiser: { id: string; created_at: string },
  authorizedAt: number,
): boolean {
  if (scope.kind === 'specific') return scope.ids.some((id) => id.toLowerCase() === advertiser.id);
  return scope.kind === 'all_current_and_future' || Date.parse(advertiser.created_at) <= authorizedAt;
}
