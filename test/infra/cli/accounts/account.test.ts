import { expect, test } from 'vitest';
import { createAccount, neededScopes } from '../../../../infra/cli/accounts/account.ts';
import { readClient } from '../../../../infra/cli/accounts/login.ts';
import { startDeployedAccount, writeTemporary } from '../support.ts';

const CLIENT = { client_id: 'canary-id', client_secret: 'canary-secret', note: 'kept' };

test('5.3: an account needs the scopes of its exports, and at least that of reports', () => {
  // The exports of cdk.json.
  expect(neededScopes('acme')).toEqual(['reporting:read', 'advertisers:read']);
  expect(neededScopes('nobody')).toEqual(['reporting:read']);
});

test('a credential in a file that cannot log in is refused without being quoted', async () => {
  const { file: credential } = await writeTemporary('credential.json', '{"api_key":"canary-key"}');
  const account = createAccount('acme', { local: true, baseUrl: 'http://127.0.0.1:9', credential });
  const error: unknown = await readClient(account).catch((one) => one);
  expect(String(error)).toMatch(/has no client_id/);
  expect(String(error)).not.toContain('canary');
});

test('a credential in Secrets Manager without a value is reported with the value to store', async () => {
  const { account, server } = await startDeployedAccount(JSON.stringify(CLIENT));
  server.faults.push({ operation: 'GetSecretValue', answer: 'ResourceNotFoundException' });
  await expect(readClient(account)).rejects.toThrow(
    /has no value yet.*\n.*: npm run export -- secret set acme < credential\.json$/,
  );
});
