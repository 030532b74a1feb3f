import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { endOf, MAIN, runCommand } from '../../../../support/cli.ts';
import { STATE_MACHINE, startCloudFormation } from '../../executions/step-functions.ts';
import { heldLease, startDeployedAccount } from '../support.ts';

const CLIENT = { client_id: 'canary-id', client_secret: 'canary secret' };
const LOGIN = { refresh_token: 'canary-token' };

/** Runs `secret set acme --json` with a credential on standard input. */
function setSecret(content: unknown, ...more: string[]) {
  const stdin = typeof content === 'string' ? content : JSON.stringify(content);
  return runCommand(['secret', 'set', 'acme', '--json', ...more], stdin);
}

describe('secret set', () => {
  it('P6: stores the credential of standard input and prints none of its values', async () => {
    const { readStored } = await startDeployedAccount('');
    const { status, stdout, stderr } = await setSecret({ ...CLIENT, note: 'kept' });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'stored',
      account: 'acme',
      secret: 'ad-report-export/acme/credential',
      fields: ['client_id', 'client_secret'],
      login_kept: false,
    });
    expect(stdout + stderr).not.toContain('canary');
    expect(await readStored()).toEqual({ ...CLIENT, note: 'kept' });
  });

  it('keeps the login if the client has a new secret', async () => {
    const { readStored } = await startDeployedAccount(
      JSON.stringify({ ...CLIENT, ...LOGIN, client_secret: 'old' }),
    );
    const { stdout } = await setSecret(CLIENT);
    expect(JSON.parse(stdout)).toHaveProperty('login_kept', true);
    expect(await readStored()).toEqual({ ...CLIENT, ...LOGIN });
  });

  it.each([
    ['another client', { ...CLIENT, client_id: 'other' }],
    ['its own login', { ...CLIENT, refresh_token: 'canary-new' }],
    ['an API key', { api_key: 'canary-key' }],
  ])('replaces everything by %s', async (_, next) => {
    const { readStored } = await startDeployedAccount(JSON.stringify({ ...CLIENT, ...LOGIN }));
    expect(JSON.parse((await setSecret(next)).stdout)).toHaveProperty('login_kept', false);
    expect(await readStored()).toEqual(next);
  });

  it('32: names every wrong field, never a value, and stores nothing', async () => {
    const { readStored } = await startDeployedAccount(JSON.stringify(CLIENT));
    const { status, stdout, stderr } = await setSecret({ client_id: 'canary\n', client_secret: '' });
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'failed',
      error: 'InvalidInput',
      faults: [
        expect.stringMatching(/^the credential: client_id contains a line break/),
        'the credential: client_secret is empty',
      ],
    });
    expect(stdout + stderr).not.toContain('canary');
    expect(await readStored()).toEqual(CLIENT);
  });

  it.each([
    ['an argument', ['secret', 'set', 'acme', '{"client_secret":"canary"}']],
    ['an option', ['secret', 'set', 'acme', '--client-secret=canary']],
    ['the account', ['secret', 'set', 'canary {"client_secret"}']],
    ['the action', ['secret', 'canary', 'acme']],
  ])('P6: does not repeat a credential that was given as %s', async (_, args) => {
    const { status, stdout, stderr } = await runCommand(args, JSON.stringify(CLIENT));
    expect(status).toBe(2);
    expect(stderr).toMatch(/^error: /);
    expect(stdout + stderr).not.toContain('canary');
  });

  it.each([
    [['secret'], '{}', 'the only action is: secret set ACCOUNT < credential.json'],
    [['secret', 'set'], '{}', 'the only action is: secret set ACCOUNT < credential.json'],
    [['secret', 'set', 'acme'], ' \n', 'standard input is empty; give the credential: secret set ACCOUNT < '],
    [['secret', 'set', 'acmi'], '{}', 'there is no account acmi in cdk.json (did you mean acme?)'],
  ])('says after %j with the credential %j what is missing', async (args, credential, fault) => {
    const { status, stderr } = await runCommand(args, credential);
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(`error: ${fault}`) });
  });

  it('stores it for the stack in --stack', async () => {
    await startDeployedAccount('');
    await startCloudFormation('ads', { stateMachine: STATE_MACHINE, bucket: 'exports' });
    const { stdout } = await setSecret(CLIENT, '--stack', 'ads');
    expect(JSON.parse(stdout).happened).toContain('write the secret ads/acme/credential (ResourceNotFound');
  });

  it('40: stores nothing while an execution renews the token of the account, and says so', async () => {
    const { readStored } = await startDeployedAccount(JSON.stringify({ ...CLIENT, ...LOGIN }), heldLease());
    const { status, stdout } = await setSecret({ ...CLIENT, client_secret: 'canary new' });
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      happened: 'Another call is renewing the token of account acme: it has the lease leases/acme.json.',
      todo: 'Repeat the command.',
    });
    expect(await readStored()).toEqual({ ...CLIENT, ...LOGIN });
  });

  it('prints the command that checks it in the same Region', async () => {
    await startDeployedAccount('');
    const args = ['secret', 'set', 'acme', '--region', 'eu-west-1'];
    const { stdout } = await runCommand(args, JSON.stringify(CLIENT));
    expect(stdout).toMatch(/^Check it: npm run export -- doctor --account acme --region eu-west-1$/m);
  });

  it.each([
    ['PutSecretValue', 'AccessDeniedException', 'secretsmanager:PutSecretValue'],
    ['PutSecretValue', 'ResourceNotFoundException', "Run 'npx cdk deploy'"],
  ] as const)('says what to do if %s answers %s', async (operation, answer, expected) => {
    const { server } = await startDeployedAccount('');
    server.faults.push({ operation, answer });
    const { status, stdout, stderr } = await setSecret(CLIENT);
    expect(status).toBe(1);
    expect(JSON.parse(stdout).todo).toContain(expected);
    expect(stdout + stderr).not.toContain('canary');
  });
});

it.runIf(existsSync('/usr/bin/script'))(
  'P6: a terminal is refused, because it shows what is typed',
  async () => {
    const command = `'${process.execPath}' '${MAIN}' secret set acme`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: 'pipe' });
    const { status, stdout } = await endOf(child);
    expect({ status, stdout }).toEqual({
      status: 2,
      stdout: expect.stringContaining('give the credential on standard input'),
    });
  },
);
