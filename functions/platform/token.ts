import * as z from 'zod/mini';
import type { Connection } from './connection.ts';
import { type Client, requestGrant } from './grant.ts';
import { parseAnswer } from './parse.ts';

// Seconds. The default is the contract's "about 3600" (contract 2.1).
const LIFETIME_ABSENT = 3600;
// A token that is said to live 0 s would be renewed before each use, for ever. If it does end sooner, a 401 tells.
const LIFETIME_MIN = 60;
// Longer than any window takes; a clock or a number that is wildly off costs one 401 a day.
const LIFETIME_MAX = 24 * 3600;

/** Contract 2.1. */
export interface Token {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  /** Seconds from the answer on, between 60 and 86,400; 3600 if the platform names none. */
  readonly expiresIn: number;
  /** Space-separated, as granted. */
  readonly scope?: string;
  readonly refreshToken?: string;
}

// RFC 6749 compares the type without regard to case. What a header cannot carry would fail later and unexplained.
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

/** Client credentials (contract 4.1). Without a scope the token gets all that the client has. */
export function requestToken(
  platform: Connection,
  client: Client,
  options: { scope?: string } = {},
): Promise<Token> {
  return grantToken(platform, client, {
    grant_type: 'client_credentials',
    ...(options.scope ? { scope: options.scope } : {}),
  });
}

/** The authorization_code grant (contract 4.1): the code from the redirect, and the redirect_uri it came to. */
export function exchangeCode(
  platform: Connection,
  client: Client,
  grant: { readonly code: string; readonly redirect_uri: string },
): Promise<Token> {
  return grantToken(platform, client, { grant_type: 'authorization_code', ...grant });
}

/**
 * The refresh_token grant (RFC 6749, section 6). An answer without a refresh token leaves the old one in force.
 *
 * @param extra more form parameters: the contract does not show what the platform wants here
 */
export function refreshToken(
  platform: Connection,
  client: Client,
  refresh_token: string,
  extra: Readonly<Record<string, string>> = {},
): Promise<Token> {
  return grantToken(platform, client, { grant_type: 'refresh_token', refresh_token, ...extra });
}

/** Throws what {@link requestGrant} throws; a token that is not of type Bearer is an UnreadableAnswer. */
async function grantToken(
  platform: Connection,
  client: Client,
  parameters: Readonly<Record<string, string>>,
): Promise<Token> {
  const { access_token, expires_in, scope, refresh_token } = parseAnswer(
    await requestGrant(platform, client, parameters),
    TokenResponse,
  );
  return {
    accessToken: access_token,
    tokenType: 'Bearer',
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
