import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../../support/cli.ts';
import { allow, consent, countExchanges, get, startLogin, startPlatform } from './support.ts';

describe('login', () => {
  test('opens the address that it prints, exits 0, and prints no secret', async () => {
    const platform = await startPlatform();
    const browser = join(platform.directory, 'browser');
    const opened = join(platform.directory, 'opened');
    await writeFile(browser, `#!/bin/sh\nprintf %s "$1" > '${opened}'\n`);
    await chmod(browser, 0o755);
    const login = startLogin(platform, [], { BROWSER: browser });
    const redirect = await consent(await login.url);
    await get(redirect.href);
    const { status, stdout, stderr } = await login.ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(await readFile(opened, 'utf8')).toBe(await login.url);
    const { refresh_token, client_secret } = await platform.readStored();
    for (const secret of [refresh_token, client_secret, redirect.searchParams.get('code')]) {
      expect(secret).toMatch(/^sbx_/);
      expect(stdout).not.toContain(secret);
    }
  });

  test('continues if no browser can be opened', async () => {
    const login = startLogin(await startPlatform(), [], { BROWSER: '/nowhere/browser' });
    await allow(await login.url);
    const { status, stderr } = await login.ended;
    expect(status).toBe(0);
    expect(stderr).toMatch(/browser could not be opened .*ENOENT.*Open the address yourself/);
  });

  test('--no-browser reads the address from standard input', async () => {
    const platform = await startPlatform();
    const login = startLogin(platform, ['--no-browser']);
    login.child.stdin.write(`${(await consent(await login.url)).href}\n`);
    const { status, stdout } = await login.ended;
    expect(status).toBe(0);
    expect(stdout).not.toContain('code=sbx');
    expect(await platform.readStored()).toHaveProperty('refresh_token');
  });

  test('warns of a scope that was not granted', async () => {
    const platform = await startPlatform({ faults: ['token set.scope="reporting:read"'] });
    const login = startLogin(platform, ['--scope', 'reporting:read campaigns:read']);
    await allow(await login.url);
    expect(await login.ended).toMatchObject({
      status: 0,
      stderr: 'warning: not granted: campaigns:read\n',
    });
  });

  test('warns of a client_secret that ends with a space', async () => {
    const platform = await startPlatform();
    await writeFile(platform.file, JSON.stringify({ client_id: 'id', client_secret: 'secret ' }));
    const login = startLogin(platform);
    await login.url;
    login.child.kill('SIGINT');
    expect((await login.ended).stderr).toContain('client_secret begins or ends with a space');
  });

  test('exits 1 after a forged redirect and says what to do', async () => {
    const platform = await startPlatform();
    const login = startLogin(platform);
    const redirect = await consent(await login.url);
    const code = redirect.searchParams.get('code') ?? '';
    redirect.searchParams.set('state', 'forged');
    await get(redirect.href);
    const { status, stdout, stderr } = await login.ended;
    expect(status).toBe(1);
    expect(stderr).toMatch(/^The redirect was refused: it has a state .*\nWhat to do: [^\n]*\n$/);
    expect(stdout + stderr).not.toContain(code);
    expect(countExchanges(platform.sandbox)).toBe(0);
  });

  test.each([{ more: [] }, { more: ['--no-browser'] }])('stops at Ctrl-C with $more', async ({ more }) => {
    const platform = await startPlatform();
    const login = startLogin(platform, more);
    await login.url;
    login.child.kill('SIGINT');
    expect(await login.ended).toMatchObject({
      status: 130,
      signal: null,
      stderr: 'Stopped. Nothing was stored.\n',
    });
    expect(await platform.readStored()).not.toHaveProperty('refresh_token');
  });

  const cases: [string, string[], string[]][] = [
    [
      'local options',
      ['--local', '--account', 'No', '--scope', 'a  b', '--base-url', 'http://10.0.0.1'],
      ['--account No', '--scope must', '--base-url: The address', '--local needs --credential'],
    ],
    [
      'local options without --local',
      ['--account', 'acme', '--base-url', 'http://127.0.0.1:1', '--credential', 'x'],
      ['--base-url can only', '--credential can only'],
    ],
    ['an account that is not in the config', ['--account', 'nobody'], ['no account nobody']],
    [
      'a redirect URI',
      ['--account', 'acme', '--redirect-uri', 'https://a:b@tools.example/return?x#y'],
      ['neither a query nor a fragment', 'no user or password', '127.0.0.1, [::1] or localhost'],
    ],
    [
      'a redirect URI without a port',
      ['--account', 'acme', '--redirect-uri', 'http://127.0.0.1:0/'],
      ['the port'],
    ],
    ['a missing account', [], ["required option '--account <name>'"]],
  ];
  test.each(cases)('exits 2 and names every fault of %s', async (_, args, faults) => {
    const { status, stdout, stderr } = await runCommand(['login', ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    for (const fault of faults) expect(stderr).toContain(fault);
  });
});
