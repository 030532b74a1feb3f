import { mkdtempDisposable, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFileSecret, createMemorySecret, type Secret } from '../../../infra/local/secret.ts';
import { type SecretsFaultAnswer, startSecretsManager } from '../../../infra/local/secrets-manager.ts';

const NAME = 'stack/acme/token';
const NOT_FOUND = { name: 'ResourceNotFoundException' };
const CONFLICT = { name: 'ResourceExistsException' };

/** Starts Secrets Manager with one secret, and a client that does not retry. */
async function startClient(secret: Secret = createMemorySecret(Date.now)) {
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
  const get = (more: { VersionId?: string; VersionStage?: string; SecretId?: string } = {}) =>
    client.send(new GetSecretValueCommand({ SecretId: NAME, ...more }));
  const put = (SecretString: string, more: { ClientRequestToken?: string; VersionStages?: string[] } = {}) =>
    client.send(new PutSecretValueCommand({ SecretId: NAME, SecretString, ...more }));
  const moveCurrent = (from = '', to = '') => {
    const move = { VersionStage: 'AWSCURRENT', MoveToVersionId: to, RemoveFromVersionId: from };
    return client.send(new UpdateSecretVersionStageCommand({ SecretId: NAME, ...move }));
  };
  return { server, client, get, put, moveCurrent };
}

/** Starts a client of a secret in a file. */
async function startFileClient(initial?: string) {
  const { path: folder, remove } = await mkdtempDisposable(join(tmpdir(), 'secrets-'));
  onTestFinished(remove);
  const file = join(folder, 'credential.json');
  if (initial !== undefined) await writeFile(file, initial, { mode: 0o644 });
  return { ...(await startClient(createFileSecret(file, Date.now))), folder, file };
}

describe('versions', () => {
  test('a secret without a value, and an unknown secret, are not found', async () => {
    const { get } = await startClient();
    await expect(get()).rejects.toMatchObject(NOT_FOUND);
    await expect(get({ SecretId: 'another' })).rejects.toMatchObject(NOT_FOUND);
  });

  test('the last version is AWSCURRENT, the one before it AWSPREVIOUS, and each has an id', async () => {
    const { client, get, put } = await startClient();
    const { VersionId: first = '' } = await put('one');
    await put('two');
    const { VersionId: third = '' } = await put('three');
    const VersionStages = ['AWSCURRENT'];
    expect(await get()).toMatchObject({ SecretString: 'three', VersionId: third, VersionStages });
    expect(await get({ VersionStage: 'AWSPREVIOUS' })).toMatchObject({ SecretString: 'two' });
    expect(await get({ VersionId: first })).toMatchObject({ SecretString: 'one', VersionStages: [] });
    await expect(get({ VersionId: 'x'.repeat(32) })).rejects.toMatchObject(NOT_FOUND);
    const { VersionIdsToStages } = await client.send(new DescribeSecretCommand({ SecretId: NAME }));
    expect(VersionIdsToStages?.[third]).toEqual(VersionStages);
  });

  test('a repeated put adds no version, and one with another value for the same id is refused', async () => {
    const { get, put } = await startClient();
    const ClientRequestToken = 'a'.repeat(32);
    await put('one', { ClientRequestToken });
    await put('two');
    expect(await put('one', { ClientRequestToken })).toMatchObject({ VersionId: ClientRequestToken });
    expect(await get()).toMatchObject({ SecretString: 'two' });
    await expect(put('other', { ClientRequestToken })).rejects.toMatchObject(CONFLICT);
  });
});

describe('a secret in a file', () => {
  test('is read again for every request', async () => {
    const { get, file } = await startFileClient();
    await expect(get()).rejects.toMatchObject(NOT_FOUND);
    await writeFile(file, 'first');
    const { VersionId } = await get();
    expect(await get()).toMatchObject({ SecretString: 'first', VersionId });
    await writeFile(file, 'second');
    expect(await get()).toMatchObject({ SecretString: 'second' });
    expect(await get({ VersionStage: 'AWSPREVIOUS' })).toMatchObject({ SecretString: 'first' });
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

  test('becomes AWSCURRENT when the label is moved to it', async () => {
    const { get, put, moveCurrent } = await startClient(createMemorySecret(Date.now, 'old'));
    const { VersionId: old } = await get();
    await put('new', staged);
    expect(await get()).toMatchObject({ SecretString: 'old' });
    await moveCurrent(old, staged.ClientRequestToken);
    expect(await get()).toMatchObject({ SecretString: 'new', VersionId: staged.ClientRequestToken });
  });

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

test.each<SecretsFaultAnswer>([
  'ThrottlingException',
  'AccessDeniedException',
  'InvalidRequestException',
])('the fault %s fails one request with an error that the SDK recognizes', async (answer) => {
  const { get, server } = await startClient(createMemorySecret(Date.now, 'value'));
  server.faults.push({ operation: 'GetSecretValue', answer });
  await expect(get()).rejects.toMatchObject({ name: answer });
  expect(await get()).toMatchObject({ SecretString: 'value' });
});

test('the fault `lost answer` stores the value', async () => {
  const { get, put, server } = await startClient();
  server.faults.push({ operation: 'PutSecretValue', secret: NAME, answer: 'lost answer' });
  await expect(put('stored')).rejects.toThrow();
  expect(await get()).toMatchObject({ SecretString: 'stored' });
});

test('the journal has requests and version ids but no value', async () => {
  const { get, put, server } = await startClient();
  const { VersionId: version } = await put('canary-value');
  await get();
  expect(server.journal).toMatchObject([
    { operation: 'PutSecretValue', secret: NAME, version },
    { operation: 'GetSecretValue', secret: NAME, version },
  ]);
  expect(JSON.stringify(server.journal)).not.toContain('canary');
});
