import { readdir, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { openTarget } from '../../../infra/cli/credential/target.ts';
import { login } from '../../../infra/cli/login/login.ts';
import { newState } from '../../../infra/cli/login/state.ts';
import { CommandFailed } from '../../../infra/cli/usage.ts';
import { openDeployed } from './secret.ts';
import { consent, createPlatformAccess, exchanges, get, logIn, pasted, type Shown } from './support.ts';

describe('4.2: the consent URL', () => {
  test('names client, redirect URI, code, scope, and a state of 256 bits that is new each time', async () => {
    const platform = await createPlatformAccess({ basePath: '/v1' });
    const urls: URL[] = [];
    const visit = async (url: string) => {
      urls.push(new URL(url));
      await get((await consent(url)).href);
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
});

describe('4.1: a login that was allowed', () => {
  test('stores the refresh token in the file, which keeps its other fields and is its owner’s alone', async () => {
    const platform = await createPlatformAccess();
    const before = await platform.stored();
    const result = await logIn(platform, async (url) => get((await consent(url)).href));
    expect(result).toEqual({ scope: 'reporting:read', stored: true });
    expect(await platform.stored()).toEqual({
      ...before,
      refresh_token: expect.stringMatching(/^sbx_rt_/),
      refresh_token_issued_at: expect.any(String),
    });
    expect((await stat(platform.file)).mode & 0o777).toBe(0o600);
    expect(await readdir(platform.directory)).toEqual(['credential.json']);
  });

  test('4.2: needs nobody at the screen where consent was granted by arrangement', async () => {
    const platform = await createPlatformAccess({ credentials: [{ consentGranted: true }] });
    const visit = async (url: string) => {
      const { status, headers } = await get(url);
      expect(status).toBe(302);
      await get(String(headers.location));
    };
    expect(await logIn(platform, visit)).toEqual({ scope: 'reporting:read', stored: true });
    expect(exchanges(platform.sandbox)).toBe(1);
  });

  test('ends on a page that can be closed, is not stored, and hands its address to nobody', async () => {
    const platform = await createPlatformAccess();
    const shown: Shown[] = [];
    await logIn(platform, async (url) => shown.push(await get((await consent(url)).href)));
    expect(shown[0]).toMatchObject({
      status: 200,
      text: expect.stringContaining('This page can be closed'),
      headers: { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
    });
    expect(shown[0]?.text).not.toContain('sbx_');
  });

  test.each(['127.0.0.1', 'localhost'])('returns to the redirect URI that was given, on %s', async (host) => {
    const platform = await createPlatformAccess();
    const redirectUri = `http://${host}:${await freePort()}/oauth/return`;
    const visited: string[] = [];
    const visit = async (url: string) => {
      const redirected = await consent(url);
      visited.push(redirected.origin + redirected.pathname);
      await get(redirected.href);
    };
    await logIn(platform, visit, { redirectUri });
    expect(visited).toEqual([redirectUri]);
    expect(await platform.stored()).toHaveProperty('refresh_token');
  });
});

describe('4.2: a redirect is refused, and its code never exchanged,', () => {
  const forgeries: [string, (url: URL) => void, RegExp][] = [
    ['where its state is another', (url) => url.searchParams.set('state', 'a'.repeat(43)), /not that of/],
    ['where its state is missing', (url) => url.searchParams.delete('state'), /carried no state/],
    ['where its state is empty', (url) => url.searchParams.set('state', ''), /not that of/],
    ['where it has two states', (url) => url.searchParams.append('state', 'another'), /not that of/],
    ['where it has two codes', (url) => url.searchParams.append('code', 'another'), /neither one code/],
    ['where it has no code', (url) => url.searchParams.delete('code'), /neither one code/],
  ];
  test.each(forgeries)('%s', async (_, forge, message) => {
    const platform = await createPlatformAccess();
    const shown: Shown[] = [];
    const visit = async (url: string) => {
      const redirected = await consent(url);
      forge(redirected);
      shown.push(await get(redirected.href));
    };
    await expect(logIn(platform, visit)).rejects.toThrow(message);
    expect(shown).toMatchObject([{ status: 400 }]);
    expect(exchanges(platform.sandbox)).toBe(0);
    expect(await platform.stored()).not.toHaveProperty('refresh_token');
  });

  test('where it comes a second time', async () => {
    const platform = await createPlatformAccess({ faults: ['token trickle=2'] });
    const visit = async (url: string) => {
      const redirected = await consent(url);
      return Promise.all([get(redirected.href), get(redirected.href)]);
    };
    const answers: Shown[] = [];
    await logIn(platform, async (url) => answers.push(...(await visit(url))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(exchanges(platform.sandbox)).toBe(1);
  });

  test('where its state was that of an earlier login', async () => {
    const platform = await createPlatformAccess();
    let earlier = new URL('http://127.0.0.1');
    await logIn(platform, async (url) => {
      earlier = await consent(url);
      await get(earlier.href);
    });
    const visit = async (url: string) => {
      const redirected = await consent(url);
      redirected.searchParams.set('state', earlier.searchParams.get('state') ?? '');
      await get(redirected.href);
    };
    await expect(logIn(platform, visit)).rejects.toThrow(/not that of this login/);
    expect(exchanges(platform.sandbox)).toBe(1);
  });

  test('and is not even heard at another path, under another host name, or by another method', async () => {
    const platform = await createPlatformAccess();
    const statuses: number[] = [];
    const visit = async (url: string) => {
      const redirected = await consent(url);
      const { origin, search, port, href } = redirected;
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
  test('4.2: says that access was denied', async () => {
    const platform = await createPlatformAccess();
    const visit = async (url: string) => get((await consent(url, 'deny')).href);
    await expect(logIn(platform, visit)).rejects.toThrow(/Access was denied in the browser/);
    expect(exchanges(platform.sandbox)).toBe(0);
  });

  test('4.2: shows another error without the characters that a terminal obeys', async () => {
    const platform = await createPlatformAccess();
    const visit = async (url: string) => {
      const redirected = await consent(url, 'deny');
      redirected.searchParams.set('error', 'server_error');
      redirected.searchParams.set('error_description', 'no\u001b[31m luck\r\nat all');
      await get(redirected.href);
    };
    await expect(logIn(platform, visit)).rejects.toThrow('server_error (no [31m luck at all)');
  });

  test('7.3: names the token endpoint’s error and stores nothing', async () => {
    const platform = await createPlatformAccess({
      faults: ['token status=400 body={"error":"invalid_grant","error_description":"used"}'],
    });
    const shown: Shown[] = [];
    const visit = async (url: string) => shown.push(await get((await consent(url)).href));
    await expect(logIn(platform, visit)).rejects.toThrow(/400 invalid_grant: used\. Nothing was stored/);
    expect(shown).toMatchObject([{ status: 400 }]);
    expect(await platform.stored()).not.toHaveProperty('refresh_token');
  });

  test('2.1: fails where no refresh token comes', async () => {
    const platform = await createPlatformAccess({ faults: ['token omit=refresh_token'] });
    const visit = async (url: string) => get((await consent(url)).href);
    await expect(logIn(platform, visit)).rejects.toThrow(/gave no refresh token/);
  });

  test('never repeats the code, the state or a secret in its error', async () => {
    const platform = await createPlatformAccess({ faults: ['token status=400'] });
    const secrets: string[] = [(await platform.stored()).client_secret ?? ''];
    const visit = async (url: string) => {
      const redirected = await consent(url);
      secrets.push(...redirected.searchParams.values());
      await get(redirected.href);
    };
    const error: unknown = await logIn(platform, visit).catch((one) => one);
    expect(error).toBeInstanceOf(CommandFailed);
    for (const secret of secrets) expect(String(error)).not.toContain(secret);
  });
});

test('a state is good once, and not after a wrong one was tried', () => {
  const [once, tried] = [newState(), newState()];
  expect(once.spend(once.value)).toBe(true);
  expect(once.spend(once.value)).toBe(false);
  expect(tried.spend('wrong')).toBe(false);
  expect(tried.spend(tried.value)).toBe(false);
});

test('5.2: a login is stored in the deployed secret, whose calls name no value', async () => {
  const { sandbox } = await createPlatformAccess();
  const { clientId: client_id, clientSecret: client_secret } = sandbox;
  const { store, stored, server } = await openDeployed(JSON.stringify({ client_id, client_secret }));
  await using local = await openTarget('acme', { local: true, baseUrl: sandbox.baseUrl, credential: '' });
  const options = { scope: 'reporting:read' };
  const visit = async (url: string) => void consent(url).then(({ href }) => get(href));
  const { signal } = new AbortController();
  expect(await login({ ...local, store }, options, { visit, signal })).toMatchObject({ stored: true });
  expect(await stored()).toMatchObject({ client_id, client_secret, refresh_token: expect.any(String) });
  expect(server.journal.map(({ operation }) => operation)).toEqual([
    ...['GetSecretValue', 'GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'],
  ]);
  expect(JSON.stringify(server.journal)).not.toContain('sbx_');
});

describe('--no-browser', () => {
  test('takes the address that is pasted, with the same checks', async () => {
    const platform = await createPlatformAccess();
    const { input, paste } = pasted();
    await logIn(platform, async (url) => paste(`  ${await consent(url)}  `), { paste: input });
    expect(await platform.stored()).toHaveProperty('refresh_token');
  });

  test('may use a registered redirect URI on another machine', async () => {
    const redirectUri = 'https://tools.example/return';
    const platform = await createPlatformAccess({ credentials: [{ redirectUris: [redirectUri] }] });
    const { input, paste } = pasted();
    await logIn(platform, async (url) => paste((await consent(url)).href), { paste: input, redirectUri });
    expect(await platform.stored()).toHaveProperty('refresh_token');
  });

  test.each<[string, (redirected: URL) => string, RegExp]>([
    [
      'a forged state',
      ({ href }) => href.replace(/state=./, 'state=').replace(/$/, 'x'),
      /not that of this login/,
    ],
    ['another address', ({ href }) => href.replace('/callback', '/elsewhere'), /not an address that begins/],
    ['something else', () => 'code', /not an address that begins/],
    ['nothing', () => '', /No address was pasted/],
  ])('refuses %s', async (_, change, message) => {
    const platform = await createPlatformAccess();
    const { input, paste } = pasted();
    const visit = async (url: string) => paste(change(await consent(url)));
    await expect(logIn(platform, visit, { paste: input })).rejects.toThrow(message);
    expect(exchanges(platform.sandbox)).toBe(0);
  });
});

test('a login that is stopped listens no longer and stores nothing', async () => {
  const platform = await createPlatformAccess();
  const stop = new AbortController();
  let redirected = new URL('http://127.0.0.1');
  const visit = async (url: string) => {
    redirected = await consent(url);
    stop.abort(new Error('stopped'));
  };
  await expect(logIn(platform, visit, { signal: stop.signal })).rejects.toThrow('stopped');
  await expect(get(redirected.href)).rejects.toThrow('ECONNREFUSED');
  expect(exchanges(platform.sandbox)).toBe(0);
});

test('a port that is taken is named', async () => {
  const platform = await createPlatformAccess();
  const redirectUri = `${platform.sandbox.baseUrl}/callback`;
  await expect(logIn(platform, async () => {}, { redirectUri })).rejects.toThrow(/Port \d+.*EADDRINUSE/);
});

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net');
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
