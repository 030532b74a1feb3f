import { describe, expect, test } from 'vitest';
import { runCommand } from '../../../../support/cli.ts';
import { consent, startLogin, startPlatform } from '../support.ts';

describe('login', () => {
  test('exits 0, and prints no secret', async () => {
    const platform = await startPlatform();
    const login = startLogin(platform);
    const redirect = await consent(await login.url);
    login.child.stdin.end(`${redirect.href}\n`);
    const { status, stdout, stderr } = await login.ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const { refresh_token, client_secret } = await platform.readStored();
    for (const secret of [refresh_token, client_secret, redirect.searchParams.get('code')]) {
      expect(secret).toMatch(/^sbx_/);
      expect(stdout).not.toContain(secret);
    }
  });

  test('stops at Ctrl-C', async () => {
    const platform = await startPlatform();
    const login = startLogin(platform);
    await login.url;
    login.child.kill('SIGINT');
    expect(await login.ended).toMatchObject({ status: 130, stderr: 'Stopped. Nothing was stored.\n' });
    expect(await platform.readStored()).not.toHaveProperty('refresh_token');
  });

  const cases: [string, string[], string[]][] = [
    [
      'local options',
      ['--local', '--account', 'No', '--base-url', 'http://127.0.0.1:9'],
      ['the account must be a name', '--local needs --credential'],
    ],
    [
      'local options without --local',
      ['--account', 'acme', '--base-url', 'http://127.0.0.1:1', '--credential', 'x'],
      ['--base-url can only', '--credential can only'],
    ],
    ['an account that is not in the config', ['--account', 'nobody'], ['no account nobody']],
    ['a redirect URI', ['--account', 'acme', '--redirect-uri', 'tools'], ['--redirect-uri is not a URL']],
    ['a missing account', [], ["required option '--account <name>'"]],
  ];
  test.each(cases)('exits 2 and names every fault of %s', async (_, args, faults) => {
    const { status, stdout, stderr } = await runCommand(['login', ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    for (const fault of faults) expect(stderr).toContain(fault);
  });
});
