import { readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, test } from 'vitest';
import {
  type CredentialStore,
  createDeployedCredentialStore,
  createFileCredentialStore,
  readLoginCredential,
  storeRefreshToken,
} from '../../../infra/cli/credential-store.ts';
import { SECRET_ID, startDeployedSecret, writeTemporary } from './support.ts';

const CLIENT = { client_id: 'canary-id', client_secret: 'canary-secret', note: 'kept' };
const EARLY = { value: 'canary-early', issuedAt: new Date('2026-11-21T06:00:00Z') };
const LATE = { value: 'canary-late', issuedAt: new Date('2026-11-21T06:00:01Z') };

async function createFile(content: string) {
  const { directory, file } = await writeTemporary('credential.json', content);
  const readStored = async () => JSON.parse(await readFile(file, 'utf8'));
  return { store: createFileCredentialStore(file), readStored, directory, file };
}

describe.each([
  ['in a file', createFile],
  ['in Secrets Manager', startDeployedSecret],
])('a credential %s', (_, create) => {
  const start = async (content: unknown = CLIENT) => {
    const { store, readStored } = await create(JSON.stringify(content));
    return { store, readStored, before: await readLoginCredential(store, 'acme') };
  };

  test('keeps its other fields when a refresh token is stored', async () => {
    const { store, readStored, before } = await start();
    expect(await storeRefreshToken(store, 'acme', before, EARLY)).toBe(true);
    expect(await readStored()).toEqual({
      ...CLIENT,
      refresh_token: 'canary-early',
      refresh_token_issued_at: '2026-11-21T06:00:00.000Z',
    });
  });

  test.each([
    [EARLY, LATE],
    [LATE, EARLY],
  ])('keeps the newest token of two logins that store one after the other: %#', async (...logins) => {
    const { store, readStored, before } = await start();
    for (const login of logins) await storeRefreshToken(store, 'acme', before, login);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-late');
  });

  test('keeps the newest token when another login stores between the read and the write', async () => {
    const { store, readStored, before } = await start();
    let late: Promise<boolean> | undefined;
    const interrupted: CredentialStore = {
      ...store,
      async replace(read, text) {
        late ??= storeRefreshToken(store, 'acme', before, LATE);
        await late;
        return store.replace(read, text);
      },
    };
    expect(await storeRefreshToken(interrupted, 'acme', before, EARLY)).toBe(false);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-late');
  });

  test('keeps the newest token of ten logins that store at once', async () => {
    const { store, readStored, before } = await start();
    const logins = Array.from({ length: 10 }, (_, second) => ({
      value: `canary-${second}`,
      issuedAt: new Date(Date.UTC(2026, 10, 21, 6, 0, second)),
    }));
    await Promise.all(logins.map((login) => storeRefreshToken(store, 'acme', before, login)));
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-9');
  });

  test('replaces an earlier login even if its clock was ahead', async () => {
    const future = { ...CLIENT, refresh_token: 'old', refresh_token_issued_at: '2030-01-01T00:00:00.000Z' };
    const { store, readStored, before } = await start(future);
    expect(await storeRefreshToken(store, 'acme', before, EARLY)).toBe(true);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-early');
  });

  test('is not changed if its client_id changed during the login', async () => {
    const { store, readStored } = await start({ ...CLIENT, client_id: 'another' });
    await expect(storeRefreshToken(store, 'acme', CLIENT, EARLY)).rejects.toThrow(/client_id .* changed/);
    expect(await readStored()).not.toHaveProperty('refresh_token');
  });

  test.each([
    ['{"client_id":"canary-id"}', /client_secret is missing/],
    ['{"api_key":"canary-key"}', /holds an API key/],
    ['canary, no JSON', /is not a JSON object/],
  ])('that cannot log in is refused without being quoted: %s', async (content, message) => {
    const { store } = await create(content);
    const error: unknown = await readLoginCredential(store, 'acme').catch((one) => one);
    expect(String(error)).toMatch(message);
    expect(String(error)).not.toContain('canary');
  });
});

describe('a credential in a file', () => {
  test('is replaced at the target of a symbolic link', async () => {
    const { directory, file, readStored } = await createFile(JSON.stringify(CLIENT));
    const link = join(directory, 'link.json');
    await symlink(file, link);
    const store = createFileCredentialStore(link);
    await storeRefreshToken(store, 'acme', await readLoginCredential(store, 'acme'), EARLY);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-early');
    expect(await readdir(directory)).toEqual(['credential.json', 'link.json']);
  });

  test('that does not exist is reported', async () => {
    await expect(createFileCredentialStore('/nowhere/credential.json').read()).rejects.toThrow(/ENOENT/);
  });
});

describe('a credential in Secrets Manager', () => {
  test('without a value is reported with the value to store', async () => {
    const { server } = await startDeployedSecret(JSON.stringify(CLIENT));
    server.faults.push({ operation: 'GetSecretValue', answer: 'ResourceNotFoundException' });
    const client = new SecretsManagerClient({ region: 'eu-west-1' });
    const store = createDeployedCredentialStore(client, SECRET_ID);
    await expect(store.read()).rejects.toThrow(/has no value yet/);
  });

  test.each([
    'GetSecretValue',
    'PutSecretValue',
    'UpdateSecretVersionStage',
  ] as const)('names the missing permission if %s is denied', async (operation) => {
    const { store, server, readStored } = await startDeployedSecret(JSON.stringify(CLIENT));
    const before = await readLoginCredential(store, 'acme');
    server.faults.push({ operation, answer: 'AccessDeniedException' });
    const error: unknown = await storeRefreshToken(store, 'acme', before, EARLY).catch((one) => one);
    expect(String(error)).toContain(`secretsmanager:${operation}`);
    expect(String(error)).not.toContain('canary');
    expect(await readStored()).toEqual(CLIENT);
  });

  test.each([
    'PutSecretValue',
    'UpdateSecretVersionStage',
  ] as const)('is stored once if the answer to %s is lost', async (operation) => {
    const { store, server, readStored } = await startDeployedSecret(JSON.stringify(CLIENT));
    const before = await readLoginCredential(store, 'acme');
    server.faults.push({ operation, answer: 'lost answer' });
    expect(await storeRefreshToken(store, 'acme', before, EARLY)).toBe(true);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-early');
  });
});
