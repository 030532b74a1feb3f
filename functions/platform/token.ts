import {
  allowInsecureRequests,
  type ClientAuth,
  customFetch,
  genericTokenEndpointRequest,
} from 'oauth4webapi';
import * as z from 'zod/mini';
import { type Answer, errorBody, objectOf, parseAnswer, requestIdOf, unreadable } from './answer.ts';
import { type Connection, endpoint } from './connection.ts';
import { redirectReason, retryAfterOf } from './envelope.ts';
import { ABSENT, OAuthError, PlatformError } from './errors.ts';
import { send } from './request.ts';

interface Client {
  readonly client_id: string;
  readonly client_secret: string;
}

/** Contract 2.1. */
export interface Token {
  readonly accessToken: string;
  /** Seconds from the answer on, between 60 and 86,400; 3600 if the platform names none. */
  readonly expiresIn: number;
  /** Space-separated, as granted. */
  readonly scope?: string;
  readonly refreshToken?: string;
}

// Seconds. The default is the contract's "about 3600" (contract 2.1).
const LIFETIME_ABSENT = 3600;
// A lifetime of 0 would cause a token request before each call. If the token really ends sooner, a 401 shows it.
const LIFETIME_MIN = 60;
// Longer than any window takes. If the clock or the number is far off, that costs one 401 a day.
const LIFETIME_MAX = 24 * 3600;

// RFC 6749 compares the type without regard to case. A token that no header can carry would fail later without a reason.
const TokenResponse = z.object(
  {
    access_token: z
      .string('not a string')
      .check(z.regex(/^[\x21-\x7e]+$/, 'not a token that a header can carry')),
    token_type: z.string('not a string').check(z.regex(/^bearer$/i, 'not Bearer')),
    expires_in: z.optional(z.unknown()),
    scope: z.nullish(z.string('not a string')),
    refresh_token: z.nullish(z.string('not a string').check(z.minLength(1, 'empty'))),
  },
  'not an object',
);

/** The client_credentials grant (contract 4.1). Without a scope, the token gets all scopes of the client. */
export function requestToken(platform: Connection, client: Client, scope?: string): Promise<Token> {
  return grantToken(platform, client, { grant_type: 'client_credentials', ...(scope && { scope }) });
}

/** The authorization_code grant (contract 4.1). */
export function exchangeCode(
  platform: Connection,
  client: Client,
  grant: { readonly code: string; readonly redirect_uri: string },
): Promise<Token> {
  return grantToken(platform, client, { grant_type: 'authorization_code', ...grant });
}

/**
 * The refresh_token grant (RFC 6749, section 6). If the answer has no refresh token, the old one stays valid.
 *
 * @param extra more form parameters: the contract does not show what the platform expects here
 */
export function refreshToken(
  platform: Connection,
  client: Client,
  refresh_token: string,
  extra: Readonly<Record<string, string>> = {},
): Promise<Token> {
  return grantToken(platform, client, { grant_type: 'refresh_token', refresh_token, ...extra });
}

/**
 * POST {base_url}/oauth2/token (contract 4.1).
 * Throws OAuthError (4xx: the credential or the grant), PlatformError (408, 429, 5xx, a redirect), UnreadableAnswer
 * (another 2xx, or a body that breaks the contract) or NoAnswer.
 */
async function grantToken(
  platform: Connection,
  client: Client,
  parameters: Readonly<Record<string, string>>,
): Promise<Token> {
  const answer = await sendGrant(platform, client, parameters);
  const { status } = answer;
  if (status < 200 || status > 299) throw tokenError(answer, (platform.now ?? Date.now)());
  if (status !== 200) throw unreadable(answer, 'a status other than 200');
  const { access_token, expires_in, scope, refresh_token } = parseAnswer(answer, TokenResponse);
  return {
    accessToken: access_token,
    expiresIn: lifetime(expires_in),
    ...(scope == null ? {} : { scope }),
    ...(refresh_token == null ? {} : { refreshToken: refresh_token }),
  };
}

function lifetime(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'number' ? expiresIn : Number.parseFloat(String(expiresIn));
  return Number.isNaN(seconds)
    ? LIFETIME_ABSENT
    : Math.min(Math.max(Math.floor(seconds), LIFETIME_MIN), LIFETIME_MAX);
}

/**
 * oauth4webapi builds the request. It does not read the answer: it leaves the body of a 401 unread if there is a
 * WWW-Authenticate header, refuses a negative expires_in, and puts tokens into the cause of its errors.
 */
async function sendGrant(
  platform: Connection,
  client: Client,
  parameters: Record<string, string>,
): Promise<Answer> {
  const url = endpoint(platform.baseUrl, '/oauth2/token');
  const { client_secret } = client;
  const { code = '', refresh_token = '' } = parameters;
  let answer: Answer | undefined;
  await genericTokenEndpointRequest(
    { issuer: url.origin, token_endpoint: url.href },
    { client_id: client.client_id },
    basic(client),
    parameters.grant_type ?? '',
    parameters,
    {
      [allowInsecureRequests]: url.protocol === 'http:',
      [customFetch]: async (_url, { headers, body }) => {
        const credentials = headers.authorization?.replace('Basic ', '') ?? '';
        const values = [client_secret, code, refresh_token];
        const secrets = [credentials, ...values, ...values.map(formEncode)];
        const form = String(body);
        answer = await send(platform, {
          method: 'POST',
          path: '/oauth2/token',
          headers,
          body: form,
          secrets,
        });
        // A placeholder: the Response class refuses statuses and bodies that a server can send.
        return new Response();
      },
    },
  );
  if (!answer) throw new TypeError('the token request was not sent');
  return answer;
}

/**
 * HTTP Basic with form-encoded id and secret (RFC 6749, 2.3.1). oauth4webapi's own version also encodes `-`, `_` and `.`,
 * which fails on the many servers that do not decode; unencoded, both kinds of server read the same.
 */
function basic(client: Client): ClientAuth {
  return (_server, _client, _body, headers) => {
    const credentials = `${formEncode(client.client_id)}:${formEncode(client.client_secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

/** Statuses that say nothing against the credential: a later request may succeed. */
const AGAIN_LATER = [408, 429];

/**
 * The error of an answer that is not a success: the OAuth body of contract 7.3, or the envelope of 7.1. It repeats no text
 * of the answer except codes: a description may echo the client secret, the code or the refresh token in any encoding.
 */
function tokenError(answer: Answer, now: number): OAuthError | PlatformError {
  const { call, status } = answer;
  const { error } = errorBody(answer);
  const code = codeIn(error) ?? codeIn(objectOf(error).type) ?? ABSENT;
  const requestId = requestIdOf(answer);
  if (status >= 400 && status < 500 && !AGAIN_LATER.includes(status)) {
    return new OAuthError(call, { status, error: code, requestId });
  }
  const retryAfterSeconds = retryAfterOf(answer, now);
  return new PlatformError(call, {
    ...{ status, type: code, requestId, retryAfterSeconds },
    reason: redirectReason(answer),
  });
}

/** A text such as `invalid_client`. A secret has other characters, or is longer. */
function codeIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^[a-z][a-z_]{0,49}$/.test(value) ? value : undefined;
}
