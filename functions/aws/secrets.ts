import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { asServiceError } from './service-error.ts';

export interface SecretText {
  readonly text: string;
  /** The version's id. */
  readonly version: string;
}

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

  /** Returns the id of the new version. A repeated try makes no second one. */
  async function write(SecretId: string, SecretString: string): Promise<string> {
    const command = new PutSecretValueCommand({ SecretId, SecretString });
    const { VersionId = '' } = await client.send(command, timeout()).catch((error) => {
      throw asServiceError(error, `write the secret ${SecretId}`, 'secretsmanager:PutSecretValue');
    });
    return VersionId;
  }

  return { read, write };
}
