import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import * as z from 'zod/mini';
import { type Credential, parseCredential } from '../workflow/credential.ts';
import { CredentialUnusable, TokenRefused } from '../workflow/errors.ts';
import { asServiceError } from './service-error.ts';

/** What calls to the platform are authorized with, as it is cached in the account's token secret. */
export const CachedToken = z.object({
  scheme: z.enum(['Bearer', 'ApiKey']),
  value: z.string(),
  expires_at: z.string(),
  /** Client id and platform that it was issued for: a changed credential takes effect at once. */
  issued_for: z.string(),
});
export type CachedToken = z.infer<typeof CachedToken>;

/** One account's secrets, by the account's name. Nothing that comes out of here may be logged. */
export interface Secrets {
  readCredential(account: string): Promise<Credential>;
  /** The newest token, or undefined where none was ever stored. */
  readNewestToken(account: string): Promise<{ version: string; token: CachedToken } | undefined>;
  /** The token of one version: what a state names is what is used, whatever was renewed in between. */
  readToken(account: string, version: string): Promise<CachedToken>;
  /** Returns the version under which the token can be read. */
  writeToken(account: string, token: CachedToken): Promise<string>;
}

export function openSecrets(prefix: string): Secrets {
  // The state machine repeats what fails; a second layer below it would multiply the tries.
  const client = new SecretsManagerClient({ maxAttempts: 1 });
  const credentialId = (account: string) => `${prefix}/${account}/credential`;
  const tokenId = (account: string) => `${prefix}/${account}/token`;

  async function read(SecretId: string, VersionId?: string) {
    try {
      return await client.send(new GetSecretValueCommand({ SecretId, ...(VersionId && { VersionId }) }));
    } catch (error) {
      // A secret that exists and has no value yet is answered in the same way.
      if (error instanceof ResourceNotFoundException) return undefined;
      throw asServiceError(error, `read the secret ${SecretId}`, 'secretsmanager:GetSecretValue');
    }
  }

  return {
    async readCredential(account) {
      const secret = await read(credentialId(account));
      if (secret?.SecretString !== undefined) return parseCredential(secret.SecretString, account);
      throw new CredentialUnusable(
        `The secret ${credentialId(account)} does not exist or has no value yet. Store it.`,
        {
          account,
        },
      );
    },

    async readNewestToken(account) {
      const secret = await read(tokenId(account));
      const token = parseToken(secret?.SecretString);
      return token && secret?.VersionId ? { version: secret.VersionId, token } : undefined;
    },

    async readToken(account, version) {
      const token = parseToken((await read(tokenId(account), version))?.SecretString);
      if (token) return token;
      // Old versions are removed in time; a new token is the way out.
      throw new TokenRefused(`The token of account ${account} that this window was given is gone.`, {
        account,
      });
    },

    async writeToken(account, token) {
      const command = new PutSecretValueCommand({
        SecretId: tokenId(account),
        SecretString: JSON.stringify(token),
      });
      try {
        const { VersionId } = await client.send(command);
        if (VersionId) return VersionId;
        throw new Error(`Secrets Manager named no version for ${tokenId(account)}`);
      } catch (error) {
        throw asServiceError(error, `write the secret ${tokenId(account)}`, 'secretsmanager:PutSecretValue');
      }
    },
  };
}

/** Text that is no token of ours counts as none: it is overwritten by the next one. */
function parseToken(text: string | undefined): CachedToken | undefined {
  if (text === undefined) return undefined;
  try {
    return CachedToken.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
