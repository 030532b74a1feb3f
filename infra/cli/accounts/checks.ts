import { randomUUID } from 'node:crypto';
import { type Authorization, bearer, type Connection } from '../../../functions/platform/connection.ts';
import { OAuthError } from '../../../functions/platform/errors.ts';
import { listPages } from '../../../functions/platform/lists.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import { type ApiKeyCredential, apiKeyWarning, useApiKey } from '../../../functions/token/api-key.ts';
import {
  type Credential,
  credentialWarnings,
  isOAuth,
  type OAuthCredential,
  readCredential,
} from '../../../functions/token/credential.ts';
import { createTokenRequest, grantToken } from '../../../functions/token/grant.ts';
import { REPORTING } from '../../../functions/token/scope.ts';
import {
  CredentialUnusable,
  type ExportError,
  ServiceUnavailable,
} from '../../../functions/workflow/errors.ts';
import { CommandFailed, isPlatformFailure, sayPlatformFailure } from '../../knowledge/errors.ts';
import { type Account, explainStoreError, SILENT } from './account.ts';

/** One line of the diagnosis. */
export interface Check {
  readonly account?: string;
  readonly check: 'secret' | 'token' | 'scopes' | 'revision' | 'advertisers' | 'bucket';
  /** `unknown` means that it cannot be checked from here. */
  readonly status: 'ok' | 'fault' | 'unknown';
  /** Never contains a secret. */
  readonly found: string;
  readonly todo?: string;
}

/** The needs of an account's exports. */
export interface Needs {
  readonly revisions: readonly string[];
  readonly scopes: readonly string[];
  readonly advertiserIds: readonly string[];
  /** Additional parameters of a refresh request. */
  readonly refreshParameters: Readonly<Record<string, string>>;
}

export function ok(check: Check['check'], found: string): Check {
  return { check, status: 'ok', found };
}

export function fault(check: Check['check'], found: string, todo: string): Check {
  return { check, status: 'fault', found, todo };
}

export function unknown(check: Check['check'], found: string, todo?: string): Check {
  return { check, status: 'unknown', found, ...(todo !== undefined && { todo }) };
}

/** The authorization of the account's calls. */
interface Access {
  readonly authorization: Authorization;
  /** The granted scopes; undefined if the platform does not name them. */
  readonly scopes?: readonly string[];
}

/** Checks one account, from its secret to its advertisers. Stops at the first fault that prevents the other checks. */
export async function* diagnose(
  account: Account,
  needs: Needs,
  now: Date = new Date(),
): AsyncGenerator<Check, void> {
  const access = yield* checkCredential(account, needs, now);
  if (!access) return;
  const accepted: string[] = [];
  for (const revision of needs.revisions) {
    const check = await checkRevision(account.platform, access.authorization, revision);
    if (check.status === 'ok') accepted.push(revision);
    yield check;
  }
  const [revision] = accepted;
  if (revision === undefined) return;
  yield* checkAdvertisers({ ...account.platform, revision }, access, needs.advertiserIds);
}

/** Checks the secret's fields, then requests a token and checks its scopes. An API key has no token. */
async function* checkCredential(
  account: Account,
  needs: Needs,
  now: Date,
): AsyncGenerator<Check, Access | undefined> {
  const stored = await readCredential(account.store, account.name).catch((error) =>
    describeStoreFault(error, account),
  );
  if ('status' in stored) return void (yield stored);
  const { credential } = stored;
  yield ok('secret', `${account.place} holds ${describeFields(credential)}`);
  for (const warning of credentialWarnings(credential)) yield unknown('secret', warning);
  return isOAuth(credential)
    ? yield* checkToken(account, credential, needs)
    : yield* checkApiKey(account, credential, now);
}

function describeFields(credential: Credential): string {
  if (!isOAuth(credential)) return 'an API key';
  return `client_id and client_secret${credential.refresh_token === undefined ? '' : ', and a login'}`;
}

/** @throws an error that does not come from the store */
function describeStoreFault(error: unknown, account: Account): Check {
  const failure = explainStoreError(error, account);
  if (failure instanceof CommandFailed) return fault('secret', failure.happened, failure.todo);
  throw error;
}

async function* checkApiKey(
  account: Account,
  credential: ApiKeyCredential,
  now: Date,
): AsyncGenerator<Check, Access | undefined> {
  try {
    const authorization = useApiKey(credential, { account: account.name, kind: 'report' }, now);
    yield unknown('token', apiKeyWarning(account.name, now));
    return { authorization, scopes: [REPORTING] };
  } catch (error) {
    if (!(error instanceof CredentialUnusable)) throw error;
    return void (yield { check: 'token', status: 'fault', found: error.happened });
  }
}

async function* checkToken(
  account: Account,
  credential: OAuthCredential,
  { scopes: needed, refreshParameters }: Needs,
): AsyncGenerator<Check, Access | undefined> {
  const requestToken = createTokenRequest(account.platform, refreshParameters);
  const access = { store: account.store, requestToken, log: SILENT };
  // Without a scope, the token gets every scope of the client (contract 4.1).
  const grant = (client: OAuthCredential) => grantToken(account.name, client, undefined, access);
  const hasLogin = credential.refresh_token !== undefined;
  const refresh = async () => {
    // An execution may have replaced the refresh token before this call got the lease.
    const newest = await readCredential(account.store, account.name);
    return grant(isOAuth(newest.credential) ? newest.credential : credential);
  };
  const token = await (hasLogin ? account.underLease(refresh) : grant(credential)).catch((error: unknown) =>
    describeTokenFault(error, account),
  );
  if ('status' in token) return void (yield token);
  yield ok('token', `issued for ${token.expiresIn} s`);
  const scopes = token.scope?.split(' ').filter((scope) => scope !== '');
  yield checkScopes(scopes, needed, hasLogin);
  return {
    authorization: bearer(token.accessToken),
    ...(scopes !== undefined && { scopes }),
  };
}

function describeTokenFault(error: unknown, account: Account): Check {
  if (error instanceof OAuthError) {
    const todo =
      error.error === 'invalid_grant'
        ? `Log in again: ${account.login}`
        : 'Check client_id and client_secret with the platform.';
    return fault('token', error.message, todo);
  }
  if (error instanceof ServiceUnavailable) return unknown('token', error.happened, 'Try again in a minute.');
  if (!isPlatformFailure(error)) return describeStoreFault(error, account);
  const todo = 'Check base_url, and check that this machine can connect to the platform.';
  return fault('token', sayPlatformFailure(error), todo);
}

function checkScopes(
  scopes: readonly string[] | undefined,
  needed: readonly string[],
  isLogin: boolean,
): Check {
  if (scopes === undefined) return unknown('scopes', 'the platform does not name the granted scopes');
  const granted = scopes.join(' ') || 'none';
  const missing = needed.filter((scope) => !scopes.includes(scope)).join(' ');
  if (missing === '') return ok('scopes', granted);
  const todo = isLogin
    ? `Log in again, with --scope "${needed.join(' ')}".`
    : `Give the client ${missing} in the developer portal.`;
  return fault('scopes', `${granted}; the exports also need ${missing}`, todo);
}

/** The scope of GET /advertisers (contract 5.3). */
const ADVERTISERS_SCOPE = 'advertisers:read';

/**
 * Asks for a report that does not exist, so it creates nothing and breaks no report's 10 s limit. The platform checks the
 * revision after authentication and before everything else (contract 5.6, 9.2), so any answer other than 400 and 401 means
 * that it knows the revision.
 */
async function checkRevision(
  platform: Connection,
  authorization: Authorization,
  revision: string,
): Promise<Check> {
  try {
    await getReport({ ...platform, revision }, authorization, randomUUID());
    return ok('revision', `${revision} is accepted`);
  } catch (error) {
    if (isPlatformFailure(error)) return judgeAnswer(error, revision);
    throw error;
  }
}

function judgeAnswer(error: ExportError, revision: string): Check {
  const { status } = error.facts;
  const message = sayPlatformFailure(error);
  if (status === 422) return ok('revision', `${revision} is accepted`);
  if (status === 400)
    return fault('revision', `X-Service-Revision ${revision}: ${message}`, 'Pin a published revision.');
  if (status === 401)
    return fault('token', `not accepted: ${message}`, 'Check that base_url is the platform that issued it.');
  if (status === 403) return fault('scopes', message, 'Give the credential the scope reporting:read.');
  return unknown('revision', `${revision}: ${message}`, 'Try again.');
}

/**
 * Looks for the configured advertisers in GET /advertisers. The API does not show the granted advertisers (contract 5.5), but
 * this list may contain those that the token reaches.
 */
async function* checkAdvertisers(
  platform: Connection & { revision: string },
  { authorization, scopes }: Access,
  configured: readonly string[],
): AsyncGenerator<Check, void> {
  const unclear = (reason: string) =>
    unknown('advertisers', `the API does not show the granted advertisers: ${reason}`);
  if (scopes && !scopes.includes(ADVERTISERS_SCOPE))
    return yield unclear(`the credential lacks ${ADVERTISERS_SCOPE}`);
  const listed = await listAdvertisers(platform, authorization).catch((error: unknown) => {
    if (isPlatformFailure(error)) return error;
    throw error;
  });
  if (listed instanceof Error) return yield unclear(sayPlatformFailure(listed));
  if (configured.length === 0) yield ok('advertisers', `${listed.size} listed; no export names one`);
  for (const id of configured) {
    yield listed.has(id.toLowerCase())
      ? ok('advertisers', `${id} is listed`)
      : fault(
          'advertisers',
          `${id} is not listed by GET /advertisers`,
          'Check the id. If it is right, authorize or install the credential for that advertiser.',
        );
  }
}

async function listAdvertisers(
  platform: Connection & { revision: string },
  authorization: Authorization,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const page of listPages(platform, authorization, { resource: 'advertisers' })) {
    for (const item of page) {
      const id = (item as { id?: unknown } | null)?.id;
      if (typeof id === 'string') ids.add(id.toLowerCase());
    }
  }
  return ids;
}
