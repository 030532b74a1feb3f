import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFileSecret, createMemorySecret, type Secret } from '../../../infra/local/secret.ts';
import { startSecretsManager } from '../../../infra/local/secrets-manager.ts';

const NAME = 'stack/acme/token';
let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'secrets-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function open(secret: Secret = createMemorySecret(Date.now)) {
  const server = await startSecretsManager({ secrets: new Map([[NAME, secret]]) });
  const client = new SecretsManagerClient({
    endpoint: server.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    maxAttempts: 1,
  });
  const get = (more: { VersionId?: string; VersionStage?: string; SecretId?: string } = {}) =>
    client.send(new GetSecretValueCommand({ SecretId: NAME, ...more }));
  const put = (SecretString: string, ClientRequestToken?: string) =>
    client.send(
      new PutSecretValueCommand({
        SecretId: NAME,
        SecretString,
        ...(ClientRequestToken && { ClientRequestToken }),
      }),
    );
  const close = async () => {
    client.destroy();
    await server.close();
  };
  return { server, client, get, put, [Symbol.asyncDispose]: close };
}

describe('versions', () => {
  test('a secret that was never given a value is not found', async () => {
    await using secrets = await open();
    await expect(secrets.get()).rejects.toBeInstanceOf(ResourceNotFoundException);
    await expect(secrets.get({ SecretId: 'another' })).rejects.toBeInstanceOf(ResourceNotFoundException);
  });

  test('the last one is AWSCURRENT, the one before AWSPREVIOUS, and each is found by its id', async () => {
    await using secrets = await open();
    const { VersionId: first = '' } = await secrets.put('one');
    await secrets.put('two');
    const { VersionId: third = '' } = await secrets.put('three');
    expect(await secrets.get()).toMatchObject({
      SecretString: 'three',
      VersionId: third,
      VersionStages: ['AWSCURRENT'],
    });
    expect(await secrets.get({ VersionStage: 'AWSPREVIOUS' })).toMatchObject({ SecretString: 'two' });
    expect(await secrets.get({ VersionId: first })).toMatchObject({ SecretString: 'one', VersionStages: [] });
    await expect(secrets.get({ VersionId: 'x'.repeat(32) })).rejects.toBeInstanceOf(
      ResourceNotFoundException,
    );
    const { VersionIdsToStages } = await secrets.client.send(new DescribeSecretCommand({ SecretId: NAME }));
    expect(VersionIdsToStages?.[third]).toEqual(['AWSCURRENT']);
  });

  test('the same put twice is one version; the same token with another value is refused', async () => {
    await using secrets = await open();
    const token = 'a'.repeat(32);
    await secrets.put('one', token);
    await secrets.put('two');
    expect(await secrets.put('one', token)).toMatchObject({ VersionId: token });
    expect(await secrets.get()).toMatchObject({ SecretString: 'two' });
    await expect(secrets.put('other', token)).rejects.toMatchObject({ name: 'ResourceExistsException' });
  });
});

describe('a secret in a file', () => {
  test('is read anew for every call', async () => {
    const file = join(directory, 'read.json');
    await using secrets = await open(createFileSecret(file, Date.now));
    await expect(secrets.get()).rejects.toBeInstanceOf(ResourceNotFoundException);
    await writeFile(file, 'first');
    const { VersionId } = await secrets.get();
    expect(await secrets.get()).toMatchObject({ SecretString: 'first', VersionId });
    await writeFile(file, 'second');
    expect(await secrets.get()).toMatchObject({ SecretString: 'second' });
    expect(await secrets.get({ VersionStage: 'AWSPREVIOUS' })).toMatchObject({ SecretString: 'first' });
  });

  test('a put replaces the file as a whole, for its owner alone', async () => {
    const own = await mkdtemp(join(directory, 'own-'));
    const file = join(own, 'credential.json');
    await writeFile(file, 'old', { mode: 0o644 });
    await using secrets = await open(createFileSecret(file, Date.now));
    await secrets.put('rotated');
    expect(await readFile(file, 'utf8')).toBe('rotated');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(own)).toEqual(['credential.json']);
  });
});

describe('faults', () => {
  test.each([
    'ThrottlingException',
    'AccessDeniedException',
    'InvalidRequestException',
  ] as const)('%s is answered once, in the shape that the SDK knows', async (answer) => {
    await using secrets = await open(createMemorySecret(Date.now, 'value'));
    secrets.server.faults.push({ operation: 'GetSecretValue', answer });
    await expect(secrets.get()).rejects.toMatchObject({ name: answer });
    expect(await secrets.get()).toMatchObject({ SecretString: 'value' });
  });

  test('a lost answer leaves the value stored', async () => {
    await using secrets = await open();
    secrets.server.faults.push({ operation: 'PutSecretValue', secret: NAME, answer: 'lost answer' });
    await expect(secrets.put('stored')).rejects.toThrow();
    expect(await secrets.get()).toMatchObject({ SecretString: 'stored' });
  });
});

test('the journal names calls and versions, and holds no value', async () => {
  await using secrets = await open();
  const { VersionId } = await secrets.put('canary-value');
  await secrets.get();
  expect(secrets.server.journal).toMatchObject([
    { operation: 'PutSecretValue', secret: NAME, version: VersionId },
    { operation: 'GetSecretValue', secret: NAME, version: VersionId },
  ]);
  expect(JSON.stringify(secrets.server.journal)).not.toContain('canary');
});

describe('a version that is put under another label', () => {
  const move = (to: string, from: string) =>
    new UpdateSecretVersionStageCommand({
      SecretId: NAME,
      VersionStage: 'AWSCURRENT',
      MoveToVersionId: to,
      RemoveFromVersionId: from,
    });
  const stage = (SecretString: string, ClientRequestToken: string) =>
    new PutSecretValueCommand({ SecretId: NAME, SecretString, ClientRequestToken, VersionStages: ['LOGIN'] });

  test('becomes AWSCURRENT when the label is moved to it from the version that has it', async () => {
    await using secrets = await open(createMemorySecret(Date.now, 'old'));
    const { VersionId: old = '' } = await secrets.get();
    const id = 'n'.repeat(32);
    await secrets.client.send(stage('new', id));
    expect(await secrets.get()).toMatchObject({ SecretString: 'old' });
    await secrets.client.send(move(id, old));
    expect(await secrets.get()).toMatchObject({ SecretString: 'new', VersionId: id });
  });

  test('is not made AWSCURRENT where the label has moved on', async () => {
    const file = join(directory, 'staged.json');
    await writeFile(file, 'old');
    await using secrets = await open(createFileSecret(file, Date.now));
    const { VersionId: old = '' } = await secrets.get();
    await secrets.client.send(stage('mine', 'n'.repeat(32)));
    await secrets.put('theirs');
    await expect(secrets.client.send(move('n'.repeat(32), old))).rejects.toMatchObject({
      name: 'InvalidParameterException',
    });
    expect(await readFile(file, 'utf8')).toBe('theirs');
  });
});
