import { randomUUID } from 'node:crypto';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { asServiceError } from './service-error.ts';

export interface SecretText {
  readonly text: string;
  /** The version's id. */
  readonly version: string;
}

/** A new version's label until AWSCURRENT moves to it. It stays on the last version stored this way. */
const PENDING_LABEL = 'REFRESHED';

/**
 * The SDK's tries of a call. More than its default of 3, because a rotated refresh token that is not stored
 * is lost. Pauses are at most 0.1 + 0.2 + 0.4 + 0.8 = 1.5 s, and five times that after throttling.
 */
const TRIES = 5;

/** Milliseconds for all tries of a call: 7.5 s of pauses and five answers. The functions have 30 s. */
const CALL_TIMEOUT = 10_000;

export type Secrets = ReturnType<typeof createSecrets>;

/**
 * Secrets by name. Never log their texts. Each function throws AccessRefused or ServiceUnavailable.
 *
 * @param place the Region, if it is not the one of the environment
 */
export function createSecrets(place: { readonly region?: string } = {}) {
  const client = new SecretsManagerClient({ maxAttempts: TRIES, ...place });
  const timeout = () => ({ abortSignal: AbortSignal.timeout(CALL_TIMEOUT) });

  /** Reads one version, or the current one. Undefined if the secret, version or text does not exist. */
  async function read(SecretId: string, VersionId?: string): Promise<SecretText | undefined> {
    try {
      const command = new GetSecretValueCommand({ SecretId, ...(VersionId && { VersionId }) });
      const { SecretString: text, VersionId: version } = await client.send(command, timeout());
      return text === undefined || version === undefined ? undefined : { text, version };
    } catch (error) {
      // Secrets Manager gives the same answer for a secret without a value.
      if (error instanceof ResourceNotFoundException) return undefined;
      throw asServiceError(error, `read the secret ${SecretId}`, 'secretsmanager:GetSecretValue');
    }
  }

  /** Returns the id of the new version. */
  async function write(SecretId: string, SecretString: string): Promise<string> {
    const command = new PutSecretValueCommand({ SecretId, SecretString });
    const { VersionId = '' } = await client.send(command, timeout()).catch((error) => {
      throw asServiceError(error, `write the secret ${SecretId}`, 'secretsmanager:PutSecretValue');
    });
    return VersionId;
  }

  /**
   * Replaces the version that was read: Secrets Manager refuses to move AWSCURRENT from another one.
   *
   * @returns false if another version has become current since
   */
  async function replace(SecretId: string, version: string, SecretString: string): Promise<boolean> {
    const next = randomUUID();
    const put = { SecretId, SecretString, ClientRequestToken: next, VersionStages: [PENDING_LABEL] };
    const labels = { VersionStage: 'AWSCURRENT', MoveToVersionId: next, RemoveFromVersionId: version };
    try {
      await client.send(new PutSecretValueCommand(put), timeout());
      await client.send(new UpdateSecretVersionStageCommand({ SecretId, ...labels }), timeout());
      return true;
    } catch (error) {
      // If the answer to a successful move was lost, the SDK's second try fails.
      const current = (await read(SecretId))?.version;
      if (current !== version) return current === next;
      const permission = 'secretsmanager:PutSecretValue and secretsmanager:UpdateSecretVersionStage';
      throw asServiceError(error, `write the secret ${SecretId}`, permission);
    }
  }

  return { read, write, replace };
}
