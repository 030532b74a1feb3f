import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createAccount } from '../../../../infra/cli/accounts/account.ts';
import { authorize } from '../../../../infra/cli/accounts/authorize.ts';
import { CommandFailed } from '../../../../infra/knowledge/errors.ts';
import {
  allow,
  consent,
  countExchanges,
  get,
  logIn,
  type Page,
  startDeployedAccount,
  startPlatform,
} from '../support.ts';

/** A user who changes the redirect before following it. `pages` are the answers. */
function createVisit(change: (redirect: URL) => void, decision: 'allow' | 'deny' = 'allow') {
  const pages: Page[] = [];
  const visit = async (url: string) => {
    const redirect = await consent(url, decision);
    change(redirect);
    pages.push(await get(redirect.href));
  };
  return { visit, pages };
}

test('4.2: the consent URL has client, redirect URI, code, scope, and a new state of 256 bits', async () => {
  const platform = await startPlatform({ basePath: '/v1' });
  const urls: URL[] = [];
  const visit = async (url: string) => {
    urls.push(new URL(url));
    await allow(url);
  };
  await logIn(platform, visit, { scope: 'reporting:read campaigns:read' });
  await logIn(platform, visit);
  const [first, second] = urls;
  expect(first?.pathname).toBe('/v1/oauth2/auth');
  expect(Object.fromEntries(first?.searchParams ?? [])).toEqual({
    client_id: platform.sandbox.clientId,
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    response_type: 'code',
    scope: 'reporting:read campaigns:read',
    state: expect.stringMatching(/^[\w-]{43}$/),
  });
  expect(second?.searchParams.get('state')).not.toBe(first?.searchParams.get('state'));
});

describe('4.1: a login that is allowed', () => {
  test('stores the refresh token in the file, keeps other fields, and leaves the file to its owner', async () => {
    const platform = await startPlatform();
    const before = await platform.readStored();
    expect(await logIn(platform)).toBe('reporting:read');
    expect(await platform.readStored()).toEqual({
      ...before,
      refresh_token: expect.stringMatching(/^sbx_rt_/),
    });
    expect((await stat(platform.file)).mode & 0o777).toBe(0o600);
    expect(await readdir(platform.directory)).toEqual(['credential.json']);
  });

  test('5.2: is stored in Secrets Manager without a secret in any logged call', async () => {
    const { sandbox } = await startPlatform();
    const { clientId: client_id, clientSecret: client_secret, baseUrl } = sandbox;
    const deployed = await startDeployedAccount(JSON.stringify({ client_id, client_secret }));
    await using local = await createAccount('acme', { local: true, baseUrl, credential: '' });
    const account = { ...deployed.account, platform: local.platform };
    const showUrl = async (url: string) => void allow(url);
    const { signal } = new AbortController();
    const authorized = await authorize(account, { scope: 'reporting:read', showUrl, signal });
    expect(authorized).toBe('reporting:read');
    expect(await deployed.readStored()).toMatchObject({
      client_id,
      client_secret,
      refresh_token: expect.any(String),
    });
    expect(deployed.server.journal.map(({ operation }) => operation)).toEqual([
      ...['GetSecretValue', 'GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'],
    ]);
    expect(JSON.stringify(deployed.server.journal)).not.toContain('sbx_');
  });

  test('uses the registered redirect URI', async () => {
    const platform = await startPlatform();
    const redirectUri = `http://localhost:${await findFreePort()}/oauth/return`;
    const visited: string[] = [];
    const { visit } = createVisit(({ origin, pathname }) => visited.push(origin + pathname));
    await logIn(platform, visit, { redirectUri });
    expect(visited).toEqual([redirectUri]);
    expect(await platform.readStored()).toHaveProperty('refresh_token');
  });
});

describe('4.2: a redirect', () => {
  const forgeries: [string, (url: URL) => void, RegExp][] = [
    ['two codes', (url) => url.searchParams.append('code', 'another'), /neither exactly one code/],
    ['no code', (url) => url.searchParams.delete('code'), /neither exactly one code/],
  ];
  test.each(forgeries)('with %s is refused and its code never exchanged', async (_, forge, message) => {
    const platform = await startPlatform();
    const { visit, pages } = createVisit(forge);
    await expect(logIn(platform, visit)).rejects.toThrow(message);
    expect(pages).toMatchObject([{ status: 400 }]);
    expect(countExchanges(platform.sandbox)).toBe(0);
    expect(await platform.readStored()).not.toHaveProperty('refresh_token');
  });

  test.each<[string, (url: URL) => void]>([
    ['another state', ({ searchParams }) => searchParams.set('state', 'a'.repeat(43))],
    ['no state', ({ searchParams }) => searchParams.delete('state')],
    ['two states', ({ searchParams }) => searchParams.append('state', 'another')],
  ])('with %s is refused, and the login goes on', async (_, forge) => {
    const platform = await startPlatform();
    const statuses: number[] = [];
    await logIn(platform, async (url) => {
      const redirect = await consent(url);
      const forged = new URL(redirect);
      forge(forged);
      for (const { href } of [forged, redirect]) statuses.push((await get(href)).status);
    });
    expect(statuses).toEqual([400, 200]);
  });

  test('is accepted once: a second one is refused', async () => {
    const platform = await startPlatform({ faults: ['token trickle=2'] });
    const pages: Page[] = [];
    const visit = async (url: string) => {
      const { href } = await consent(url);
      pages.push(...(await Promise.all([get(href), get(href)])));
    };
    await logIn(platform, visit);
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(countExchanges(platform.sandbox)).toBe(1);
  });

  test('is ignored at another path, under another host name and with another method', async () => {
    const platform = await startPlatform();
    const statuses: number[] = [];
    const visit = async (url: string) => {
      const { origin, search, port, href } = await consent(url);
      statuses.push((await get(`${origin}/callback/${search}`)).status);
      statuses.push((await get(`${origin}/favicon.ico`)).status);
      statuses.push((await get(href, { host: `attacker.example:${port}` })).status);
      statuses.push((await fetch(href, { method: 'POST' })).status);
      statuses.push((await get(href)).status);
    };
    await logIn(platform, visit);
    expect(statuses).toEqual([404, 404, 404, 404, 200]);
  });
});

describe('a login that the platform refuses', () => {
  test('4.2: is named, without control characters', async () => {
    const platform = await startPlatform();
    const denial = 'no\u001b[31m luck\r\nat all';
    const { visit } = createVisit(({ searchParams }) => searchParams.set('error', denial), 'deny');
    await expect(logIn(platform, visit)).rejects.toThrow('in the browser: no [31m luck at all.');
    expect(countExchanges(platform.sandbox)).toBe(0);
  });

  test.each([
    [
      '7.3: answers with an error',
      'token status=400 body={"error":"invalid_grant","error_description":"used"}',
      /400 \(invalid_grant.* Nothing was stored/,
    ],
    ['2.1: sends no refresh token', 'token omit=refresh_token', /returned no refresh token/],
  ])('%s: nothing is stored, and no secret is in the error', async (_, fault, message) => {
    const platform = await startPlatform({ faults: [fault] });
    const secrets: string[] = [(await platform.readStored()).client_secret ?? ''];
    const { visit, pages } = createVisit(({ searchParams }) => secrets.push(...searchParams.values()));
    const error: unknown = await logIn(platform, visit).catch((one) => one);
    expect(error).toBeInstanceOf(CommandFailed);
    expect(String(error)).toMatch(message);
    for (const secret of secrets) expect(String(error)).not.toContain(secret);
    expect(pages).toMatchObject([{ status: 400 }]);
    expect(await platform.readStored()).not.toHaveProperty('refresh_token');
  });
});

describe('--no-browser', () => {
  /** A user who pastes a line into a remote shell. */
  function createPaste(change: (redirect: URL) => string = ({ href }) => `  ${href}  `) {
    const paste = new PassThrough();
    const visit = async (url: string) => void paste.end(`${change(await consent(url))}\n`);
    return { paste, visit };
  }

  test.each([
    undefined,
    'https://tools.example/return',
  ])('reads the pasted address, with the redirect URI %s', async (redirectUri) => {
    const platform = await startPlatform({
      credentials: [{ redirectUris: redirectUri ? [redirectUri] : [] }],
    });
    const { paste, visit } = createPaste();
    await logIn(platform, visit, { paste, redirectUri });
    expect(await platform.readStored()).toHaveProperty('refresh_token');
  });

  test.each<[string, (redirect: URL) => string, RegExp]>([
    ['another address', ({ href }) => href.replace('/callback', '/other'), /not an address that begins/],
    ['other text', () => 'code', /not an address that begins/],
    ['another state', ({ href }) => href.replace('state=', 'state=a'), /does not have the state/],
    ['nothing', () => '', /No address was pasted/],
  ])('refuses %s', async (_, change, message) => {
    const platform = await startPlatform();
    const { paste, visit } = createPaste(change);
    await expect(logIn(platform, visit, { paste })).rejects.toThrow(message);
    expect(countExchanges(platform.sandbox)).toBe(0);
  });
});

test('a stopped login closes its port and stores nothing', async () => {
  const platform = await startPlatform();
  const stop = new AbortController();
  let redirect = new URL('http://127.0.0.1');
  const visit = async (url: string) => {
    redirect = await consent(url);
    stop.abort(new Error('stopped'));
  };
  await expect(logIn(platform, visit, { signal: stop.signal })).rejects.toThrow('stopped');
  await expect(get(redirect.href)).rejects.toThrow('ECONNREFUSED');
  expect(countExchanges(platform.sandbox)).toBe(0);
});

test('a port that is in use is named', async () => {
  const platform = await startPlatform();
  const redirectUri = `${platform.sandbox.baseUrl}/callback`;
  await expect(logIn(platform, allow, { redirectUri })).rejects.toThrow(/Port \d+.*EADDRINUSE/);
});

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
