import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { LEASE_SECONDS } from '../../../../../functions/decisions/waits.ts';
import { createAccount, neededScopes } from '../../../../../infra/operate/cli/accounts/account.ts';
import { LOOPBACK, logInWithBrowser, readClient } from '../../../../../infra/operate/cli/accounts/login.ts';
import { heldLease, startDeployedAccount, writeTemporary } from '../support.ts';

const CLIENT = { client_id: 'canary-id', client_secret: 'canary-secret', note: 'kept' };

test('5.3: an account needs the scopes of its exports, and at least that of reports', () => {
  // The exports of cdk.json.
  expect(neededScopes('acme')).toEqual(['reporting:read', 'advertisers:read']);
  expect(neededScopes('nobody')).toEqual(['reporting:read']);
});

test('a credential in a file that cannot log in is refused without being quoted', async () => {
  const { file: credential } = await writeTemporary('credential.json', '{"api_key":"canary-key"}');
  const account = createAccount('acme', { local: true, baseUrl: 'http://127.0.0.1:9', credential });
  const error: unknown = await readClient(account).catch((thrown) => thrown);
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

test('40: a token request of a command ends long before the lease under which it is sent', async () => {
  const { account } = await startDeployedAccount(JSON.stringify(CLIENT));
  const { total = Number.POSITIVE_INFINITY } = account.platform.timeouts ?? {};
  expect(total / 1000).toBeLessThanOrEqual(LEASE_SECONDS - 20);
});

test('40: a login sends no code while an execution renews the token, and stores nothing', async () => {
  const { account, readStored } = await startDeployedAccount(JSON.stringify(CLIENT), heldLease());
  const input = new PassThrough();
  const showUrl = (url: string) => {
    const state = new URL(url).searchParams.get('state');
    input.end(`${LOOPBACK}?code=canary-code&state=${state}\n`);
  };
  const { signal } = new AbortController();
  const options = { scope: 'reporting:read', redirectUri: LOOPBACK, input, showUrl, signal };
  // A request would fail otherwise, because nobody serves the platform of the config.
  await expect(logInWithBrowser(account, options)).rejects.toThrow(
    'Another call is renewing the token of account acme: it has the lease leases/acme.json.',
  );
  expect(await readStored()).toEqual(CLIENT);
});
