import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished, test } from 'vitest';
import { credentialInFile } from '../../../infra/cli/credential/in-file.ts';
import { credentialInSecretsManager } from '../../../infra/cli/credential/in-secrets-manager.ts';
import {
  type CredentialStore,
  readLoginCredential,
  storeRefreshToken,
} from '../../../infra/cli/credential/store.ts';
import { ID, openDeployed } from './secret.ts';

const CLIENT = { client_id: 'canary-id', client_secret: 'canary-secret', note: 'kept' };
const EARLY = { refreshToken: 'canary-early', issuedAt: new Date('2026-11-21T06:00:00Z') };
const LATE = { refreshToken: 'canary-late', issuedAt: new Date('2026-11-21T06:00:01Z') };

/** A store, and what stands in it. */
type Open = (text?: string) => Promise<{ store: CredentialStore; stored(): Promise<Record<string, string>> }>;

async function openFile(text: string = JSON.stringify(CLIENT)) {
  const directory = await mkdtemp(join(tmpdir(), 'credential-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'credential.json');
  await writeFile(file, text);
  const stored = async () => JSON.parse(await readFile(file, 'utf8'));
  return { store: credentialInFile(file), stored, directory, file };
}

const FORMS: [string, Open][] = [
  ['a file', openFile],
  ['a deployed secret', (text = JSON.stringify(CLIENT)) => openDeployed(text)],
];

describe.each(FORMS)('%s', (_, open) => {
  test('keeps client_id, client_secret and what else is in it', async () => {
    const { store, stored } = await open();
    const before = await readLoginCredential(store, 'acme');
    expect(await storeRefreshToken(store, 'acme', before, EARLY)).toBe(true);
    expect(await stored()).toEqual({
      ...CLIENT,
      refresh_token: 'canary-early',
      refresh_token_issued_at: '2026-11-21T06:00:00.000Z',
    });
  });

  test('keeps the token that was issued last, in whichever order two logins store theirs', async () => {
    for (const order of [
      [EARLY, LATE],
      [LATE, EARLY],
    ]) {
      const { store, stored } = await open();
      const before = await readLoginCredential(store, 'acme');
      for (const granted of order) await storeRefreshToken(store, 'acme', before, granted);
      expect(await stored()).toHaveProperty('refresh_token', 'canary-late');
    }
  });

  test('keeps the token that was issued last where two logins write between each other’s read and write', async () => {
    const { store, stored } = await open();
    const before = await readLoginCredential(store, 'acme');
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
    expect(await stored()).toHaveProperty('refresh_token', 'canary-late');
  });

  test('loses none of ten logins’ newest token where they all store at once', async () => {
    const { store, stored } = await open();
    const before = await readLoginCredential(store, 'acme');
    const logins = Array.from({ length: 10 }, (_, second) => ({
      refreshToken: `canary-${second}`,
      issuedAt: new Date(Date.UTC(2026, 10, 21, 6, 0, second)),
    }));
    await Promise.all(logins.map((granted) => storeRefreshToken(store, 'acme', before, granted)));
    expect(await stored()).toHaveProperty('refresh_token', 'canary-9');
  });

  test('replaces an older login even where that one’s clock was ahead', async () => {
    const future = { ...CLIENT, refresh_token: 'old', refresh_token_issued_at: '2030-01-01T00:00:00.000Z' };
    const { store, stored } = await open(JSON.stringify(future));
    const before = await readLoginCredential(store, 'acme');
    expect(await storeRefreshToken(store, 'acme', before, EARLY)).toBe(true);
    expect(await stored()).toHaveProperty('refresh_token', 'canary-early');
  });

  test('is left alone where it was given another client during the login', async () => {
    const { store, stored } = await open(JSON.stringify({ ...CLIENT, client_id: 'another' }));
    await expect(storeRefreshToken(store, 'acme', CLIENT, EARLY)).rejects.toThrow(/another client_id/);
    expect(await stored()).not.toHaveProperty('refresh_token');
  });

  test.each([
    ['{"client_id":"canary-id"}', /client_secret is missing/],
    ['{"api_key":"canary-key"}', /holds an API key/],
    ['canary, no JSON', /is not a JSON object/],
  ])('that cannot be logged in with is refused without quoting it', async (text, message) => {
    const { store } = await open(text);
    const error: unknown = await readLoginCredential(store, 'acme').catch((one) => one);
    expect(String(error)).toMatch(message);
    expect(String(error)).not.toContain('canary');
  });
});

describe('a file', () => {
  test('that is a link is replaced where it is kept', async () => {
    const { directory, file, stored } = await openFile();
    const link = join(directory, 'link.json');
    await symlink(file, link);
    const store = credentialInFile(link);
    await storeRefreshToken(store, 'acme', await readLoginCredential(store, 'acme'), EARLY);
    expect(await stored()).toHaveProperty('refresh_token', 'canary-early');
    expect(await readdir(directory)).toEqual(['credential.json', 'link.json']);
  });

  test('that is not there is named', async () => {
    await expect(credentialInFile('/nowhere/credential.json').read()).rejects.toThrow(/ENOENT/);
  });
});

describe('a deployed secret', () => {
  test('that has no value yet says what to store', async () => {
    const { server } = await openDeployed(JSON.stringify(CLIENT));
    server.faults.push({ operation: 'GetSecretValue', answer: 'ResourceNotFoundException' });
    const client = new SecretsManagerClient({ region: 'eu-west-1' });
    await expect(credentialInSecretsManager(client, ID).read()).rejects.toThrow(/has no value yet/);
  });

  test.each([
    'GetSecretValue',
    'PutSecretValue',
    'UpdateSecretVersionStage',
  ] as const)('that may not be used names the permission: %s', async (operation) => {
    const { store, server, stored } = await openDeployed(JSON.stringify(CLIENT));
    const before = await readLoginCredential(store, 'acme');
    server.faults.push({ operation, answer: 'AccessDeniedException' });
    const error: unknown = await storeRefreshToken(store, 'acme', before, EARLY).catch((one) => one);
    expect(String(error)).toContain(`secretsmanager:${operation}`);
    expect(String(error)).not.toContain('canary');
    expect(await stored()).toEqual(CLIENT);
  });

  test.each([
    'PutSecretValue',
    'UpdateSecretVersionStage',
  ] as const)('is stored once where the answer to %s is lost', async (operation) => {
    const { store, server, stored } = await openDeployed(JSON.stringify(CLIENT));
    const before = await readLoginCredential(store, 'acme');
    server.faults.push({ operation, answer: 'lost answer' });
    expect(await storeRefreshToken(store, 'acme', before, EARLY)).toBe(true);
    expect(await stored()).toHaveProperty('refresh_token', 'canary-early');
  });
});
