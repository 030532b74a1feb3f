import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { onTestFinished, vi } from 'vitest';
import { credentialInSecretsManager } from '../../../infra/cli/credential/in-secrets-manager.ts';
import { createMemorySecret } from '../../../infra/local/secret.ts';
import { startSecretsManager } from '../../../infra/local/secrets-manager.ts';

export const ID = 'exports/acme/credential';

/** As it is deployed: the SDK finds the endpoint in its own environment variable. */
export async function openDeployed(text: string) {
  const secret = createMemorySecret(Date.now, text);
  const server = await startSecretsManager({ secrets: new Map([[ID, secret]]) });
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', server.endpoint);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'any');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'any');
  const client = new SecretsManagerClient({ region: 'eu-west-1', maxAttempts: 2 });
  onTestFinished(async () => {
    client.destroy();
    await server.close();
    vi.unstubAllEnvs();
  });
  const stored = async () => JSON.parse((await secret.versions()).at(-1)?.text ?? '{}');
  return { store: credentialInSecretsManager(client, ID), stored, server };
}
