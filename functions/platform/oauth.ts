import * as z from 'zod/mini';
import { CLIENT_BY, consentPage, LIMITS, TOKEN_FORMS, tokenEndpoint } from '../contract.ts';
import {
  CredentialUnusable,
  type ExportError,
  LoginRequired,
  PlatformUnavailable,
  RateLimited,
  RequestRefused,
} from '../workflow/errors.ts';
import { fieldsOf, type JsonObject } from '../workflow/json.ts';
import {
  errorBody,
  errorFacts,
  isSuccess,
  type ReceivedAnswer,
  requestIdOf,
  retryAfterOf,
  UNNAMED,
} from './answer.ts';
import { type Connection, endpoint } from './connection.ts';
import { parseAnswer, refusalError } from './failures.ts';
import { requireSuccess, send } from './send.ts';

interface Client {
  readonly client_id: string;
  readonly client_secret: string;
  /** Only with a login. */
  readonly refresh_token?: string | undefined;
}

export interface Token {
  readonly accessToken: string;
  /** Seconds from the answer on, between 60 and 86,400. */
  readonly expiresIn: number;
  /** Space-separated, as granted. */
  readonly scope?: string | undefined;
  readonly refreshToken?: string | undefined;
}

/**
 * Seconds. A life of 0 would cause a token request before each call. If a token really ends sooner, a 401
 * shows it.
 */
export const MIN_TOKEN_LIFE = 60;
/** Seconds. Longer than any window takes. If the clock or the number is far off, that costs one 401 a day. */
const MAX_TOKEN_LIFE = 24 * 3600;

/** Statuses that say nothing against the credential: a later request may succeed. */
const AGAIN_LATER = [408, 423, 425, 429];

/** Statuses of an address that has no token endpoint, whatever its page says. */
const NO_ENDPOINT = [404, 405, 410];

/**
 * Codes that blame the credential, its grant or its scope (RFC 6749, 5.2), and their like, such as
 * `invalid_client_secret` or `client_disabled`.
 */
const BLAMES_CREDENTIAL =
  /^(in(valid|correct|active)|bad|wrong|unknown|unauthori[sz]ed|unregistered|disabled|revoked|expired|suspended)_(client|grant|credential|scope|secret|refresh|token|user|account|login|api_key)|^(client|credential|account|user|secret|refresh_token|token)s?_(not_found|unknown|disabled|revoked|expired|inactive|suspended|invalid|deactivated)|^(access_denied|unauthori[sz]ed|consent_required|interaction_required|login_required|account_selection_required|insufficient_scope)$/;

/** Other codes of RFC 6749 that servers write in other letters too. */
const OTHER_CODES = ['invalid_request', 'unsupported_grant_type', 'slow_down', 'temporarily_unavailable'];

/**
 * Words of a limit of requests. If a code blames the request or the credential, only these words mean a wait.
 */
const LIMITED =
  /rate.?limit|too.?many.{0,20}(request|call|attempt|login|tr(y|ies))|throttl|slow.?down|quota|try.?again.?(later|in.?(a|an|\d+).?(few|second|minute|hour|moment|while))/i;

/** Words of an endpoint that is busy or out of service. */
const BUSY =
  /rate.?limit|limit.?(exceeded|reached)|too.?many|throttl|slow.?down|quota|temporar(y|ily)|unavailable|try.?again|overload|(server|system|service).?(is.?)?(busy|error)|maintenance/i;

/** Names of fields that say what happened, such as `error_description` or `errorMessage`. */
const TELLS =
  /(errors?|codes?|messages?|msg|type|status|reasons?|titles?|details?|descriptions?|faultstring)$/i;

/** Names of fields that hold addresses. */
const LINKS = /(ur[il]s?|links?|href|docs?|documentation|help)$/i;

/** The address of a document about the error may have any words. */
const ADDRESS = /https?:\/\/[^\s"'<>]+|\b(?:href|src)\s*=\s*(?:"[^"]*"|'[^']*')/gi;

// RFC 6749 compares the type without regard to case. A token that no header can carry would fail later
// without a reason.
const TokenResponse = z.object({
  access_token: z.string().check(z.regex(/^[\x21-\x7e]+$/, 'not a token that a header can carry')),
  token_type: z.string().check(z.regex(/^bearer$/i, 'not Bearer')),
  expires_in: z.optional(z.unknown()),
  scope: z.nullish(z.string()),
  refresh_token: z.nullish(z.string().check(z.minLength(1, 'empty'))),
});

/** Sends a token request: a refresh for a client with a login, else client credentials. */
export type RequestToken = (client: Client, scope: string | undefined) => Promise<Token>;

/** @param extra form parameters of a refresh, besides the ones of RFC 6749 */
export function createTokenRequest(
  connection: Connection,
  extra: Readonly<Record<string, string>>,
): RequestToken {
  return (client, scope) => {
    const { refresh_token } = client;
    const form =
      refresh_token === undefined
        ? TOKEN_FORMS.clientCredentials(scope)
        : { ...TOKEN_FORMS.refresh(refresh_token), ...extra };
    return requestToken(connection, client, form);
  };
}

/**
 * The URL of the consent screen for the user's browser.
 *
 * @param asked.scope space-separated
 * @param asked.state unguessable; the redirect must return the same value
 */
export function consentUrl(
  { baseUrl }: Pick<Connection, 'baseUrl'>,
  asked: { client_id: string; redirect_uri: string; scope: string; state: string },
): URL {
  const { base, path, query: parameters } = consentPage({ baseUrl, ...asked });
  const url = endpoint(base, path);
  const query = new URLSearchParams(parameters);
  // Every server reads %20 as a space. Some do not decode a plus.
  url.search = query.toString().replaceAll('+', '%20');
  return url;
}

/**
 * Requests a token with a form. oauth4webapi would not make it shorter: it encodes `-`, `_` and `.`, refuses
 * null fields and an odd expires_in, and would still need our transport, limits and errors. If the answer has
 * no refresh token, the old one stays valid.
 *
 * @param form of the grant
 * @throws LoginRequired, CredentialUnusable if the answer blames them, RateLimited if it asks to wait; the
 *   errors of any other call
 */
export async function requestToken(
  platform: Connection,
  { client_id, client_secret }: Client,
  form: Readonly<Record<string, string>>,
): Promise<Token> {
  // Id and secret are form-encoded (RFC 6749, 2.3.1). `-`, `_` and `.` stay as they are, because many servers
  // do not decode.
  const basic = Buffer.from(`${formEncode(client_id)}:${formEncode(client_secret)}`).toString('base64');
  const { base, path } = tokenEndpoint(platform.baseUrl);
  const inForm = CLIENT_BY === 'form';
  const { code = '', refresh_token = '' } = form;
  const secrets = [client_secret, code, refresh_token];
  const answer = await send(platform, {
    method: 'POST',
    base,
    path,
    headers: {
      accept: 'application/json',
      ...(!inForm && { authorization: `Basic ${basic}` }),
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ ...form, ...(inForm && { client_id, client_secret }) }).toString(),
    secrets: [basic, ...secrets, ...secrets.map(formEncode)],
    doing: 'requesting a token',
  });
  if (!isSuccess(answer)) throw tokenError(answer, form.scope);
  const token = parseAnswer(requireSuccess(answer, 200), TokenResponse);
  return {
    accessToken: token.access_token,
    expiresIn: lifetime(token.expires_in),
    scope: token.scope ?? undefined,
    refreshToken: token.refresh_token ?? undefined,
  };
}

function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function lifetime(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'number' ? expiresIn : Number.parseFloat(String(expiresIn));
  return Number.isNaN(seconds)
    ? LIMITS.tokenSeconds
    : Math.min(Math.max(Math.floor(seconds), MIN_TOKEN_LIFE), MAX_TOKEN_LIFE);
}

/**
 * The error of an answer that is not a success: OAuth's body (RFC 6749, 5.2), or the envelope of other calls.
 * It repeats no text of the answer except codes: a description may echo the client secret, the code or the
 * refresh token in any encoding.
 *
 * Only a code that blames the credential, or a 401, asks a person for another one. Nobody helps a busy
 * endpoint by that.
 */
function tokenError(answer: ReceivedAnswer, scope: string | undefined): ExportError {
  const { status } = answer;
  const type = errorCodeOf(answer);
  if (status < 400) return refusalError(answer, { type });
  const facts = { status, type, request_id: requestIdOf(answer) };
  const happened = `The token endpoint answered ${status} (${type})`;
  const retry_after = retryAfterOf(answer);
  const isBlamed = status < 500 && BLAMES_CREDENTIAL.test(type);
  if ((retry_after !== undefined && !isBlamed) || AGAIN_LATER.includes(status) || isBusy(answer, type))
    return new RateLimited(`${happened}: it asks to wait.`, { ...facts, retry_after });
  if (isBlamed && type === 'invalid_grant')
    return new LoginRequired(`${happened}: it does not accept the login or the code any more.`, facts);
  if (isBlamed) {
    const lacked = type === 'invalid_scope' && scope !== undefined ? `: the client may not use ${scope}` : '';
    return new CredentialUnusable(`${happened}${lacked}.`, facts);
  }
  if (status >= 500) return refusalError(answer, { type });
  if (status === 401) return new CredentialUnusable(`${happened}.`, facts);
  // A firewall's page says nothing about the request. It often goes away by itself.
  if (status === 403 && type === UNNAMED)
    return new PlatformUnavailable(`${happened}: a firewall may have refused the request.`, facts);
  return new RequestRefused(`${happened}. Check base_url and refresh_parameters.`, facts);
}

/** The code of an error, such as `invalid_client`. It may have several places. */
function errorCodeOf(answer: ReceivedAnswer): string {
  const { error, code } = errorBody(answer);
  const codes = [error, errorFacts(answer).type, fieldsOf(error).code, code].map(codeIn);
  return codes.find((known) => known !== undefined) ?? UNNAMED;
}

/** True if the words of the answer ask to wait. */
function isBusy(answer: ReceivedAnswer, type: string): boolean {
  const { status, text } = answer;
  if (status >= 500 || NO_ENDPOINT.includes(status) || type === 'unsupported_grant_type') return false;
  const body = errorBody(answer);
  const words = Object.keys(body).length > 0 ? tellingTexts(body) : [text];
  const isBlamed = BLAMES_CREDENTIAL.test(type) || type === 'invalid_request';
  const asks = isBlamed ? LIMITED : BUSY;
  return words.some((word) => asks.test(word.replace(ADDRESS, '')));
}

/** The texts of the fields that say what happened, at any depth. An answer may be too deep for recursion. */
function tellingTexts(body: JsonObject): string[] {
  const words: string[] = [];
  const fields: [name: string, value: unknown][] = Object.entries(body);
  for (const [name, value] of fields) {
    if (LINKS.test(name)) continue;
    if (typeof value === 'string' && TELLS.test(name)) words.push(value);
    // The loop reaches these too.
    if (Array.isArray(value)) for (const item of value) fields.push([name, item]);
    else for (const field of Object.entries(fieldsOf(value))) fields.push(field);
  }
  return words;
}

/**
 * A text such as `invalid_client`. A secret has other characters, or is longer. A code in other letters, such
 * as `InvalidClient`, could be a secret, so it must be known.
 */
function codeIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const code = value.replace(/([a-z])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$&_').toLowerCase();
  if (!/^[a-z][a-z_]{0,49}$/.test(code)) return undefined;
  const isKnown = code === value || BLAMES_CREDENTIAL.test(code) || OTHER_CODES.includes(code);
  return isKnown ? code : undefined;
}
