import { randomUUID } from 'node:crypto';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import * as z from 'zod/mini';
import { type Credential, parseCredential } from '../token/credential.ts';
import { isRefusal, Refusal } from '../token/refusal.ts';
import { CredentialUnusable, TokenRefused } from '../workflow/errors.ts';
import type { TokenRef } from '../workflow/states.ts';
import { inTime } from './in-time.ts';
import { ONE_TRY } from './one-try.ts';
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

/** By the scope that each was requested with, so that a list and a report do not drive out each other's. */
export const CachedTokens = z.record(z.string(), z.union([CachedToken, Refusal]));
export type CachedTokens = z.infer<typeof CachedTokens>;

/** A credential, the text that it was read from, and what tells it from a later one. */
export interface StoredCredential<C extends Credential = Credential> {
  readonly credential: C;
  readonly text: string;
  readonly version: string;
}

/** One account's secrets, by the account's name. Nothing that comes out of here may be logged. */
export interface Secrets {
  readCredential(account: string): Promise<StoredCredential>;
  /** Puts a text in the place of the version that was read: false where another one has come there since. */
  replaceCredential(account: string, version: string, text: string): Promise<boolean>;
  /** The tokens of one version, or the newest ones; undefined where none are stored. */
  readTokens(
    account: string,
    version?: string,
  ): Promise<{ version: string; tokens: CachedTokens } | undefined>;
  /** The token of one version: what a state names is what is used, whatever was renewed in between. */
  readToken(account: string, token: Pick<TokenRef, 'version' | 'scope'>): Promise<CachedToken>;
  /** Returns the version under which the tokens can be read. */
  writeTokens(account: string, tokens: CachedTokens): Promise<string>;
}

/**
 * The label under which a refreshed login waits until AWSCURRENT is moved to it. It stays on the last one that GetToken
 * stored.
 */
const WAITING = 'REFRESHED';

/**
 * A rotated refresh token that is not stored is lost, and the state machine cannot bring it back: so this one write is
 * tried here, 5 times, with pauses of at most 0.1 + 0.2 + 0.4 + 0.8 s, and after throttling of five times that.
 */
const CREDENTIAL_TRIES = 5;

export function createSecrets(prefix: string): Secrets {
  const client = new SecretsManagerClient(ONE_TRY);
  const patient = new SecretsManagerClient({ maxAttempts: CREDENTIAL_TRIES });
  const credentialId = (account: string) => `${prefix}/${account}/credential`;
  const tokenId = (account: string) => `${prefix}/${account}/token`;

  async function read(SecretId: string, VersionId?: string) {
    try {
      const command = new GetSecretValueCommand({ SecretId, ...(VersionId && { VersionId }) });
      return await client.send(command, inTime());
    } catch (error) {
      // A secret that exists and has no value yet is answered in the same way.
      if (error instanceof ResourceNotFoundException) return undefined;
      throw asServiceError(error, `read the secret ${SecretId}`, 'secretsmanager:GetSecretValue');
    }
  }

  return {
    async readCredential(account) {
      const id = credentialId(account);
      const { SecretString: text, VersionId: version } = (await read(id)) ?? {};
      if (text !== undefined && version !== undefined)
        return { credential: parseCredential(text, account), text, version };
      throw new CredentialUnusable(`The secret ${id} does not exist or has no value yet. Store it.`, {
        account,
      });
    },

    // A new version is stored aside, and AWSCURRENT moved to it from the very version that was read; Secrets Manager
    // refuses that where the label has moved on.
    async replaceCredential(account, version, SecretString) {
      const SecretId = credentialId(account);
      const to = randomUUID();
      const put = { SecretId, SecretString, ClientRequestToken: to, VersionStages: [WAITING] };
      const move = {
        SecretId,
        VersionStage: 'AWSCURRENT',
        MoveToVersionId: to,
        RemoveFromVersionId: version,
      };
      try {
        await patient.send(new PutSecretValueCommand(put), inTime(CREDENTIAL_TRIES));
        await patient.send(new UpdateSecretVersionStageCommand(move), inTime(CREDENTIAL_TRIES));
        return true;
      } catch (error) {
        // Also where the first answer was lost and the SDK asked again.
        const current = (await read(SecretId))?.VersionId;
        if (current !== version) return current === to;
        const permission = 'secretsmanager:PutSecretValue and UpdateSecretVersionStage';
        throw asServiceError(error, `write the secret ${SecretId}`, permission);
      }
    },

    async readTokens(account, version) {
      const secret = await read(tokenId(account), version);
      const tokens = parseTokens(secret?.SecretString);
      return tokens && secret?.VersionId ? { version: secret.VersionId, tokens } : undefined;
    },

    async readToken(account, { version, scope }) {
      const token = parseTokens((await read(tokenId(account), version))?.SecretString)?.[scope];
      if (token && !isRefusal(token)) return token;
      // Old versions are removed in time; a new token is the way out.
      throw new TokenRefused(`The token of account ${account} that this window was given is gone.`, {
        account,
      });
    },

    async writeTokens(account, tokens) {
      const command = new PutSecretValueCommand({
        SecretId: tokenId(account),
        SecretString: JSON.stringify(tokens),
      });
      try {
        const { VersionId } = await client.send(command, inTime());
        if (VersionId) return VersionId;
        throw new Error(`Secrets Manager named no version for ${tokenId(account)}`);
      } catch (error) {
        throw asServiceError(error, `write the secret ${tokenId(account)}`, 'secretsmanager:PutSecretValue');
      }
    },
  };
}

/** Text that holds no tokens of ours counts as none: it is overwritten by the next one. */
function parseTokens(text: string | undefined): CachedTokens | undefined {
  if (text === undefined) return undefined;
  try {
    return CachedTokens.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
