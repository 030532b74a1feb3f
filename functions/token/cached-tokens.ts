import * as z from 'zod/mini';
import type { Secrets } from '../aws/secrets.ts';
import { CredentialUnusable, LoginRequired, TokenRefused } from '../workflow/errors.ts';
import { parseJson } from '../workflow/json.ts';
import type { TokenRef } from '../workflow/state-parts.ts';

/** The authorization of API calls, as cached in the account's token secret. */
const CachedToken = z.object({
  headers: z.record(z.string(), z.string()),
  secret: z.string(),
  expires_at: z.string(),
  /** Client and platform: the token of another client or platform is not used. */
  issued_for: z.string(),
});
export type CachedToken = z.infer<typeof CachedToken>;

/** Cached in place of a token if the platform refused the credential. */
const RefusedCredential = z.object({
  /** The version of the credential secret that was refused. A newer version is tried again. */
  credential: z.string(),
  error: z.enum(['CredentialUnusable', 'LoginRequired']),
  message: z.string(),
});
export type RefusedCredential = z.infer<typeof RefusedCredential>;

/** By the requested scope, so that the tokens of a list and of a report do not replace each other. */
const CachedTokens = z.record(z.string(), z.union([CachedToken, RefusedCredential]));
export type CachedTokens = z.infer<typeof CachedTokens>;

export type TokenCache = ReturnType<typeof createTokenCache>;

/** The tokens of accounts. Never log a value. Each function throws AccessRefused or ServiceUnavailable. */
export function createTokenCache(secrets: Secrets, prefix: string) {
  const nameOf = (account: string) => `${prefix}/${account}/token`;

  /** Reads one version, or the newest. Undefined if it does not exist or does not hold tokens. */
  async function read(account: string, version?: string) {
    const secret = await secrets.read(nameOf(account), version);
    const tokens = secret && CachedTokens.safeParse(parseJson(secret.text)).data;
    return tokens && { version: secret.version, tokens };
  }

  return {
    read,

    /**
     * Reads exactly the token that a state names, even if it was renewed since.
     *
     * @throws TokenRefused, without a status, if it is not stored any more
     */
    async readToken(account: string, { version, scope }: Pick<TokenRef, 'version' | 'scope'>) {
      const token = (await read(account, version))?.tokens[scope];
      if (token && !isRefused(token)) return token;
      // Secrets Manager removes old versions. GetToken gets a new token.
      throw new TokenRefused(`The token of account ${account} for this window is no longer stored.`, {
        account,
      });
    },

    /** Returns the id of the new version. */
    write: (account: string, tokens: CachedTokens) => secrets.write(nameOf(account), JSON.stringify(tokens)),
  };
}

export function isRefused(cached: CachedToken | RefusedCredential): cached is RefusedCredential {
  return 'credential' in cached;
}

/** @returns the entry to cache after a failed token request; undefined if the next request may succeed */
export function refusalOf(error: unknown, credentialVersion: string): RefusedCredential | undefined {
  if (!(error instanceof CredentialUnusable || error instanceof LoginRequired)) return undefined;
  return { credential: credentialVersion, error: error.name, message: error.message };
}
