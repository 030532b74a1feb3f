import { mkdtempDisposable, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createFileSecret,
  createMemorySecret,
  type Secret,
  startSecretsManager,
} from '../../../infra/local/secrets-manager.ts';

const NAME = 'stack/acme/token';
const NOT_FOUND = { name: 'ResourceNotFoundException' };

/** Starts Secrets Manager with one secret, and a client that does not retry. */
async function startClient(secret: Secret = createMemorySecret()) {
  const server = await startSecretsManager({ secrets: new Map([[NAME, secret]]) });
  const client = new SecretsManagerClient({
    endpoint: server.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    maxAttempts: 1,
  });
  onTestFinished(async () => {
    client.destroy();
    await server.close();
  });
  const get = (more: { VersionId?: string; SecretId?: string } = {}) =>
    client.send(new GetSecretValueCommand({ SecretId: NAME, ...more }));
  const put = (SecretString: string, more: { ClientRequestToken?: string; VersionStages?: string[] } = {}) =>
    client.send(new PutSecretValueCommand({ SecretId: NAME, SecretString, ...more }));
  const moveCurrent = (from = '', to = '') => {
    const move = { VersionStage: 'AWSCURRENT', MoveToVersionId: to, RemoveFromVersionId: from };
    return client.send(new UpdateSecretVersionStageCommand({ SecretId: NAME, ...move }));
  };
  return { get, put, moveCurrent };
}

/** Starts a client of a secret in a file. */
async function startFileClient(initial?: string) {
  const { path: folder, remove } = await mkdtempDisposable(join(tmpdir(), 'secrets-'));
  onTestFinished(remove);
  const file = join(folder, 'credential.json');
  if (initial !== undefined) await writeFile(file, initial, { mode: 0o644 });
  return { ...(await startClient(createFileSecret(file))), folder, file };
}

describe('a secret in a file', () => {
  test('is read again for every request', async () => {
    const { get, file } = await startFileClient();
    await expect(get()).rejects.toMatchObject(NOT_FOUND);
    await writeFile(file, 'first');
    const { VersionId } = await get();
    expect(await get()).toMatchObject({ SecretString: 'first', VersionId });
    await writeFile(file, 'second');
    expect(await get()).toMatchObject({ SecretString: 'second' });
  });

  test('is replaced by a put and then readable by its owner only', async () => {
    const { put, folder, file } = await startFileClient('old');
    await put('rotated');
    expect(await readFile(file, 'utf8')).toBe('rotated');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['credential.json']);
  });
});

describe('a version that is put with another label', () => {
  const staged = { ClientRequestToken: 'n'.repeat(32), VersionStages: ['LOGIN'] };

  test('does not become AWSCURRENT if another version has the label by then', async () => {
    const { get, put, moveCurrent, file } = await startFileClient('old');
    const { VersionId: old } = await get();
    await put('staged', staged);
    await put('newer');
    const move = moveCurrent(old, staged.ClientRequestToken);
    await expect(move).rejects.toMatchObject({ name: 'InvalidParameterException' });
    expect(await readFile(file, 'utf8')).toBe('newer');
  });
});
