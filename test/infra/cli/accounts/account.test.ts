import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Account, createAccount, neededScopes } from '../../../../infra/cli/accounts/account.ts';
import { readClient, storeRefreshToken } from '../../../../infra/cli/accounts/login.ts';
import { startDeployedAccount, writeTemporary } from '../support.ts';

const CLIENT = { client_id: 'canary-id', client_secret: 'canary-secret', note: 'kept' };
const TOKEN = 'canary-token';

function createLocalAccount(credential: string): Promise<Account> {
  return createAccount('acme', { local: true, baseUrl: 'http://127.0.0.1:9', credential });
}

async function createFile(content: string) {
  const { directory, file } = await writeTemporary('credential.json', content);
  const readStored = async () => JSON.parse(await readFile(file, 'utf8'));
  return { account: await createLocalAccount(file), readStored, directory, file };
}

test('5.3: an account needs the scopes of its exports, and at least that of reports', () => {
  // The exports of cdk.json.
  expect(neededScopes('acme')).toEqual(['reporting:read', 'advertisers:read']);
  expect(neededScopes('nobody')).toEqual(['reporting:read']);
});

describe('a credential in a file', () => {
  test('keeps the fields that a login does not change', async () => {
    const { account, readStored } = await createFile(JSON.stringify({ ...CLIENT, note: 'ours' }));
    await storeRefreshToken(account, TOKEN);
    expect(await readStored()).toEqual({ ...CLIENT, note: 'ours', refresh_token: TOKEN });
  });

  test('that cannot log in is refused without being quoted', async () => {
    const { account } = await createFile('{"api_key":"canary-key"}');
    const error: unknown = await readClient(account).catch((one) => one);
    expect(String(error)).toMatch(/has no client_id/);
    expect(String(error)).not.toContain('canary');
  });
});

test('a credential in Secrets Manager without a value is reported with the value to store', async () => {
  const { account, server } = await startDeployedAccount(JSON.stringify(CLIENT));
  server.faults.push({ operation: 'GetSecretValue', answer: 'ResourceNotFoundException' });
  await expect(readClient(account)).rejects.toThrow(
    /has no value yet.*\n.*: npm run export -- secret set acme < credential\.json$/,
  );
});
