import { expect, it, onTestFinished, vi } from 'vitest';
import { createAccount } from '../../../../infra/operate/cli/accounts/account.ts';
import { diagnose } from '../../../../infra/operate/cli/accounts/diagnose.ts';
import { setTarget } from '../../../../infra/operate/place/deployment.ts';
import { setConfigFile } from '../../../../infra/operate/place/load-config.ts';
import { readPlatformUrl, readTarget } from '../../../../infra/operate/place/target-platform.ts';
import { SANDBOX_CONFIG } from '../../../../infra/stack/config/read-config.ts';
import { runCommand } from '../../../support/cli.ts';
import { startFaultySecrets } from '../../../support/faulty-services.ts';
import { STATE_MACHINE, startCloudFormation } from '../executions/step-functions.ts';

const URL_OF_SANDBOX = 'https://abc.lambda-url.us-east-2.on.aws/';

function useSandbox(): void {
  setConfigFile(SANDBOX_CONFIG, false);
  setTarget({});
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  onTestFinished(() => setConfigFile(undefined, false));
}

it("the platform's address is the config's, without a call to AWS", async () => {
  expect(await readPlatformUrl()).toBe('https://api.platform.example/v1');
});

it('the address of a deployed sandbox is an output of the main stack', async () => {
  useSandbox();
  const outputs = { stateMachine: STATE_MACHINE, sandboxUrl: URL_OF_SANDBOX };
  await startCloudFormation('ad-report-export-sandbox', outputs);
  expect(await readPlatformUrl()).toBe(URL_OF_SANDBOX);
});

it('a stack without the sandbox is named', async () => {
  useSandbox();
  await startCloudFormation('ad-report-export-sandbox');
  await expect(readPlatformUrl()).rejects.toThrow('deploy it with the sandbox, or give another --stack');
});

it('a request of a deployed sandbox has the platform `sandbox`, whatever its address is', async () => {
  useSandbox();
  expect(await readTarget({ out: 'out' })).toEqual({ platform: 'sandbox', revision: '2026-09-01' });
});

it('doctor advises to deploy a sandbox again whose account has no secret', async () => {
  useSandbox();
  const secrets = await startFaultySecrets(new Map());
  onTestFinished(() => secrets.close());
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', secrets.endpoint);
  vi.stubEnv('AWS_REGION', 'eu-west-1');
  await using account = createAccount('sandbox', {}, URL_OF_SANDBOX);
  const needs = { revisions: [], scopes: [], advertiserIds: [], refreshParameters: {} };
  const [check] = await Array.fromAsync(diagnose(account, needs));
  expect(check).toMatchObject({
    check: 'secret',
    status: 'fault',
    todo: expect.stringContaining('cdk deploy --all -c sandbox=true'),
  });
  expect(check?.todo).not.toContain('secret set');
});

it.each([
  ['secret set', ['secret', 'set', 'sandbox']],
  ['login', ['login', '--account', 'sandbox']],
])('%s refuses to replace the credential of a deployed sandbox', async (_, args) => {
  const stdin = '{"client_id":"a","client_secret":"b"}';
  expect(await runCommand([...args, '--config', SANDBOX_CONFIG], stdin)).toMatchObject({
    status: 2,
    stderr: 'error: the credential of the account sandbox comes with the sandbox, and cannot be replaced\n',
  });
});
