import { readdir, stat } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { CommandFailed } from '../../../../../infra/operate/place/errors.ts';
import { consent, countExchanges, logIn, startPlatform } from '../support.ts';

test('4.2: the consent URL has client, redirect URI, code, scope, and a new state of 256 bits', async () => {
  const platform = await startPlatform();
  const urls: URL[] = [];
  for (const scope of ['reporting:read campaigns:read', 'reporting:read']) {
    const input = new PassThrough();
    const showUrl = async (url: string) => {
      urls.push(new URL(url));
      input.end((await consent(url)).href);
    };
    await logIn(platform, undefined, { scope, showUrl, input });
  }
  const [first, second] = urls;
  expect(first?.pathname).toBe('/oauth2/auth');
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

  test('uses the registered redirect URI', async () => {
    const platform = await startPlatform();
    await logIn(platform, undefined, { redirectUri: 'http://localhost:1234/return' });
    expect(await platform.readStored()).toHaveProperty('refresh_token');
  });
});

test.each<[string, (redirect: URL) => string, RegExp]>([
  ['no address', ({ searchParams }) => searchParams.get('code') ?? '', /not an address with the state/],
  ['another state', ({ href }) => href.replace('state=', 'state=a'), /not an address with the state/],
  ['no state', ({ href }) => href.replace('state=', 'other='), /not an address with the state/],
  ['two states', ({ href }) => `${href}&state=another`, /not an address with the state/],
  ['two codes', ({ href }) => `${href}&code=another`, /neither exactly one code/],
  ['no code', ({ href }) => href.replace('code=', 'other='), /neither exactly one code/],
  ['nothing', () => '', /No address was pasted/],
])('4.2: %s is refused, and no code is exchanged', async (_, toPaste, message) => {
  const platform = await startPlatform();
  await expect(logIn(platform, toPaste)).rejects.toThrow(message);
  expect(countExchanges(platform.sandbox)).toBe(0);
  expect(await platform.readStored()).not.toHaveProperty('refresh_token');
});

describe('a login that the platform refuses', () => {
  test('4.2: is named, without control characters', async () => {
    const platform = await startPlatform();
    const deny = (redirect: URL) => {
      redirect.searchParams.set('error', 'no\u001b[31m luck\r\nat all');
      return redirect.href;
    };
    await expect(logIn(platform, deny, { decision: 'deny' })).rejects.toThrow(
      'in the browser: no [31m luck at all.',
    );
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
    const toPaste = ({ href, searchParams }: URL) => {
      secrets.push(...searchParams.values());
      return href;
    };
    const error: unknown = await logIn(platform, toPaste).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(CommandFailed);
    expect(String(error)).toMatch(message);
    for (const secret of secrets) expect(String(error)).not.toContain(secret);
    expect(await platform.readStored()).not.toHaveProperty('refresh_token');
  });
});
