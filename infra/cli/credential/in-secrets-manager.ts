import { randomUUID } from 'node:crypto';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { awsFault } from '../aws-fault.ts';
import { CommandFailed } from '../usage.ts';
import type { CredentialStore, Stored } from './store.ts';

/** The label under which a new version waits. It stays on the last version that a login stored. */
const WAITING = 'LOGIN';

/**
 * A deployed credential secret. A new version is stored aside, and AWSCURRENT is moved to it from the very version that
 * was read: where that one no longer has the label, Secrets Manager refuses, and nothing newer is overwritten.
 */
export function credentialInSecretsManager(client: SecretsManagerClient, SecretId: string): CredentialStore {
  const place = `the secret ${SecretId}`;

  async function read(): Promise<Stored> {
    try {
      const secret = await client.send(new GetSecretValueCommand({ SecretId }));
      if (secret.SecretString && secret.VersionId)
        return { text: secret.SecretString, version: secret.VersionId };
    } catch (error) {
      if (!(error instanceof ResourceNotFoundException))
        throw secretFault(error, `read ${place}`, 'GetSecretValue');
    }
    throw new CommandFailed(
      `${place} does not exist or has no value yet.`,
      'Deploy the stack, and store {"client_id","client_secret"} there.',
    );
  }

  async function moveCurrent(from: string, to: string): Promise<boolean> {
    const VersionStage = 'AWSCURRENT';
    const move = { SecretId, VersionStage, MoveToVersionId: to, RemoveFromVersionId: from };
    try {
      await client.send(new UpdateSecretVersionStageCommand(move));
      return true;
    } catch (error) {
      // Also where the first answer was lost and the SDK asked again.
      const { version } = await read();
      if (version !== from) return version === to;
      throw secretFault(error, `write ${place}`, 'UpdateSecretVersionStage');
    }
  }

  return {
    place,
    read,
    async replace({ version }, SecretString) {
      const ClientRequestToken = randomUUID();
      const put = { SecretId, SecretString, ClientRequestToken, VersionStages: [WAITING] };
      await client.send(new PutSecretValueCommand(put)).catch((error) => {
        throw secretFault(error, `write ${place}`, 'PutSecretValue');
      });
      return moveCurrent(version, ClientRequestToken);
    },
  };
}

function secretFault(error: unknown, doing: string, action: string): CommandFailed {
  return awsFault(error, doing, `secretsmanager:${action} and use its key`);
}
