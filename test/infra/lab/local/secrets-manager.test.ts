import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CREDENTIALS } from '../../../../infra/lab/local/s3/server.ts';
import { createSecret, startSecretsManager } from '../../../../infra/lab/local/secrets-manager.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const NAME = 'stack/acme/token';
const NOT_FOUND = { name: 'ResourceNotFoundException' };

/** Starts Secrets Manager with one secret in a file, and a client that does not retry. */
async function startFileClient(initial?: string) {
  const folder = temporaryDirectory();
  const file = join(folder, 'credential.json');
  if (initial !== undefined) await writeFile(file, initial, { mode: 0o644 });
  const server = await startSecretsManager(new Map([[NAME, createSecret({ file })]]));
  const client = new SecretsManagerClient({
    endpoint: server.endpoint,
    region: 'eu-west-1',
    credentials: CREDENTIALS,
    maxAttempts: 1,
  });
  onTestFinished(async () => {
    client.destroy();
    await server[Symbol.asyncDispose]();
  });
  const get = () => client.send(new GetSecretValueCommand({ SecretId: NAME }));
  const put = (SecretString: string) =>
    client.send(new PutSecretValueCommand({ SecretId: NAME, SecretString }));
  return { get, put, folder, file };
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
