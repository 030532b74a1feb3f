import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { consentUrlOf, startCommand } from './command.ts';
import { consent, createPlatformAccess, exchanges, get, loginTo } from './support.ts';

async function startLogin(more: readonly string[] = [], environment: Record<string, string> = {}) {
  const platform = await createPlatformAccess();
  return {
    ...platform,
    ...startCommand([...loginTo(platform), ...more], { BROWSER: 'true', ...environment }),
  };
}

describe('login', () => {
  test('opens the address that it prints, exits 0, and prints no secret', async () => {
    const { directory } = await createPlatformAccess();
    const browser = join(directory, 'browser');
    const opened = join(directory, 'opened');
    await writeFile(browser, `#!/bin/sh\nprintf %s "$1" > '${opened}'\n`);
    await chmod(browser, 0o755);
    const login = await startLogin([], { BROWSER: browser });
    const url = await consentUrlOf(login);
    const redirected = await consent(url);
    await get(redirected.href);
    const { status, stdout, stderr } = await login.ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(await readFile(opened, 'utf8')).toBe(url);
    const { refresh_token, client_secret } = await login.stored();
    for (const secret of [refresh_token, client_secret, redirected.searchParams.get('code')]) {
      expect(secret).toMatch(/^sbx_/);
      expect(stdout).not.toContain(secret);
    }
  });

  test('goes on without a browser that can be opened', async () => {
    const login = await startLogin([], { BROWSER: '/nowhere/browser' });
    await get((await consent(await consentUrlOf(login))).href);
    const { status, stderr } = await login.ended;
    expect(status).toBe(0);
    expect(stderr).toMatch(/No browser could be opened .*ENOENT.*: open the address yourself/);
  });

  test('--no-browser takes the address from standard input', async () => {
    const login = await startLogin(['--no-browser']);
    login.child.stdin.write(`${(await consent(await consentUrlOf(login))).href}\n`);
    const { status, stdout } = await login.ended;
    expect(status).toBe(0);
    expect(stdout).not.toContain('code=sbx');
    expect(await login.stored()).toHaveProperty('refresh_token');
  });

  test('warns of a scope that was not granted', async () => {
    const login = await startLogin(['--scope', 'reporting:read campaigns:read']);
    login.sandbox.faults.add('token set.scope="reporting:read"');
    await get((await consent(await consentUrlOf(login))).href);
    expect(await login.ended).toMatchObject({
      status: 0,
      stderr: 'warning: not granted: campaigns:read\n',
    });
  });

  test('exits 1 where it is refused, and says what to do', async () => {
    const login = await startLogin();
    const redirected = await consent(await consentUrlOf(login));
    const code = redirected.searchParams.get('code') ?? '';
    redirected.searchParams.set('state', 'forged');
    await get(redirected.href);
    const { status, stdout, stderr } = await login.ended;
    expect(status).toBe(1);
    expect(stderr).toMatch(/^The redirect carried a state .* refused\.\nWhat to do: [^\n]*\n$/);
    expect(stdout + stderr).not.toContain(code);
    expect(exchanges(login.sandbox)).toBe(0);
  });

  test.each([{ more: [] }, { more: ['--no-browser'] }])('ends cleanly at Ctrl-C: $more', async ({ more }) => {
    const login = await startLogin(more);
    await consentUrlOf(login);
    login.child.kill('SIGINT');
    expect(await login.ended).toMatchObject({
      status: 130,
      signal: null,
      stderr: 'Stopped. Nothing was stored.\n',
    });
    expect(await login.stored()).not.toHaveProperty('refresh_token');
  });
});

describe('login exits 2 and names every fault of', () => {
  const cases: [string, string[], string[]][] = [
    [
      'the options of a local login',
      ['--local', '--account', 'No', '--scope', 'a  b', '--base-url', 'http://10.0.0.1'],
      ['--account No', '--scope must', '--base-url: The address', '--local needs --credential'],
    ],
    [
      'local options without --local',
      ['--account', 'acme', '--base-url', 'http://127.0.0.1:1', '--credential', 'x'],
      ['--base-url can only', '--credential can only'],
    ],
    ['an account that the config does not have', ['--account', 'nobody'], ['no account nobody']],
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
    ['no account', [], ["required option '--account <name>'"]],
  ];
  test.each(cases)('%s', async (_, args, faults) => {
    const { status, stdout, stderr } = await startCommand(['login', ...args]).ended;
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    for (const fault of faults) expect(stderr).toContain(fault);
  });
});
