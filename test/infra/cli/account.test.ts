import { readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Account, createAccount } from '../../../infra/cli/account.ts';
import { readClient, storeRefreshToken } from '../../../infra/cli/login/authorize.ts';
import { startDeployedAccount, writeTemporary } from './support.ts';

const CLIENT = { client_id: 'canary-id', client_secret: 'canary-secret', note: 'kept' };
const EARLY = { value: 'canary-early', issuedAt: new Date('2026-11-21T06:00:00Z') };
const LATE = { value: 'canary-late', issuedAt: new Date('2026-11-21T06:00:01Z') };

function createLocalAccount(credential: string): Promise<Account> {
  return createAccount('acme', { local: true, baseUrl: 'http://127.0.0.1:9', credential });
}

async function createFile(content: string) {
  const { directory, file } = await writeTemporary('credential.json', content);
  const readStored = async () => JSON.parse(await readFile(file, 'utf8'));
  return { account: await createLocalAccount(file), readStored, directory, file };
}

describe.each([
  ['in a file', createFile],
  ['in Secrets Manager', startDeployedAccount],
])('a credential %s', (_, create) => {
  const start = async (content: unknown = CLIENT) => {
    const { account, readStored } = await create(JSON.stringify(content));
    return { account, readStored, before: await readClient(account) };
  };

  test('keeps its other fields when a refresh token is stored', async () => {
    const { account, readStored, before } = await start();
    expect(await storeRefreshToken(account, before, EARLY)).toBe(true);
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
    const { account, readStored, before } = await start();
    for (const login of logins) await storeRefreshToken(account, before, login);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-late');
  });

  test('keeps the newest token when another login stores between the read and the write', async () => {
    const { account, readStored, before } = await start();
    let late: Promise<boolean> | undefined;
    const replace: Account['store']['replace'] = async (version, text) => {
      late ??= storeRefreshToken(account, before, LATE);
      await late;
      return account.store.replace(version, text);
    };
    const interrupted = { ...account, store: { ...account.store, replace } };
    expect(await storeRefreshToken(interrupted, before, EARLY)).toBe(false);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-late');
  });

  test('keeps the newest token of ten logins that store at once', async () => {
    const { account, readStored, before } = await start();
    const logins = Array.from({ length: 10 }, (_, second) => ({
      value: `canary-${second}`,
      issuedAt: new Date(Date.UTC(2026, 10, 21, 6, 0, second)),
    }));
    await Promise.all(logins.map((login) => storeRefreshToken(account, before, login)));
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-9');
  });

  test('replaces an earlier login even if its clock was ahead', async () => {
    const future = { ...CLIENT, refresh_token: 'old', refresh_token_issued_at: '2030-01-01T00:00:00.000Z' };
    const { account, readStored, before } = await start(future);
    expect(await storeRefreshToken(account, before, EARLY)).toBe(true);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-early');
  });

  test('is not changed if its client_id changed during the login', async () => {
    const { account, readStored } = await start({ ...CLIENT, client_id: 'another' });
    await expect(storeRefreshToken(account, CLIENT, EARLY)).rejects.toThrow(/client_id .* changed/);
    expect(await readStored()).not.toHaveProperty('refresh_token');
  });

  test.each([
    ['{"client_id":"canary-id"}', /client_secret is missing/],
    ['{"api_key":"canary-key"}', /holds an API key/],
    ['canary, no JSON', /is not a JSON object/],
  ])('that cannot log in is refused without being quoted: %s', async (content, message) => {
    const { account } = await create(content);
    const error: unknown = await readClient(account).catch((one) => one);
    expect(String(error)).toMatch(message);
    expect(String(error)).not.toContain('canary');
  });
});

describe('a credential in a file', () => {
  test('is replaced at the target of a symbolic link', async () => {
    const { directory, file, readStored } = await createFile(JSON.stringify(CLIENT));
    const link = join(directory, 'link.json');
    await symlink(file, link);
    const account = await createLocalAccount(link);
    await storeRefreshToken(account, await readClient(account), EARLY);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-early');
    expect(await readdir(directory)).toEqual(['credential.json', 'link.json']);
  });

  test('that does not exist is reported', async () => {
    await expect(readClient(await createLocalAccount('/nowhere/credential.json'))).rejects.toThrow(/ENOENT/);
  });
});

describe('a credential in Secrets Manager', () => {
  test('without a value is reported with the value to store', async () => {
    const { account, server } = await startDeployedAccount(JSON.stringify(CLIENT));
    server.faults.push({ operation: 'GetSecretValue', answer: 'ResourceNotFoundException' });
    await expect(readClient(account)).rejects.toThrow(/has no value yet.*\n.*Store {"client_id"/);
  });

  test.each([
    'GetSecretValue',
    'PutSecretValue',
    'UpdateSecretVersionStage',
  ] as const)('names the missing permission if %s is denied', async (operation) => {
    const { account, server, readStored } = await startDeployedAccount(JSON.stringify(CLIENT));
    const before = await readClient(account);
    server.faults.push({ operation, answer: 'AccessDeniedException' });
    const error: unknown = await storeRefreshToken(account, before, EARLY).catch((one) => one);
    expect(String(error)).toContain(`secretsmanager:${operation}`);
    expect(String(error)).not.toContain('canary');
    expect(await readStored()).toEqual(CLIENT);
  });

  test.each([
    'PutSecretValue',
    'UpdateSecretVersionStage',
  ] as const)('is stored once if the answer to %s is lost', async (operation) => {
    const { account, server, readStored } = await startDeployedAccount(JSON.stringify(CLIENT));
    const before = await readClient(account);
    server.faults.push({ operation, answer: 'lost answer' });
    expect(await storeRefreshToken(account, before, EARLY)).toBe(true);
    expect(await readStored()).toHaveProperty('refresh_token', 'canary-early');
  });
});
