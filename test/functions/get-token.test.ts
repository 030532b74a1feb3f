import { describe, expect, it } from 'vitest';
import { getToken } from '../../functions/get-token.ts';
import type { Credential } from '../../functions/token/credential.ts';
import { LoginRequired, PlatformUnavailable } from '../../functions/workflow/errors.ts';
import { startGetToken as start } from '../support/get-token.ts';
import { reportRef } from '../support/steps.ts';

const refused = { Error: 'TokenRefused', Cause: '{}' };

describe('GetToken', () => {
  it('requests a token once and reuses it for its lifetime (contract 5.4, 8)', async () => {
    const { dependencies, window, clock, issued } = start();
    const first = await getToken(window, dependencies);
    clock.pass(3500);
    expect(await getToken(window, dependencies)).toEqual(first);
    expect(issued()).toBe(1);
    clock.pass(80);
    expect((await getToken(window, dependencies)).token.version).toBe('v2');
    expect(issued()).toBe(2);
  });

  it('returns a reference and never the token', async () => {
    const { dependencies, window, lines } = start();
    const state = await getToken(window, dependencies);
    expect(state.token).toEqual({
      version: 'v1',
      scope: 'reporting:read',
      expires_at: '2026-11-21T07:00:00.000Z',
      unproven: false,
    });
    expect(JSON.stringify([state, lines])).not.toContain('canary');
  });

  it('1: renews a refused token and removes the caught error from the state', async () => {
    const { dependencies, window, issued } = start();
    const authorized = await getToken(window, dependencies);
    const renewed = await getToken({ ...authorized, caught: refused }, dependencies);
    expect(renewed.token).toMatchObject({ version: 'v2', unproven: true });
    expect(renewed).not.toHaveProperty('caught');
    // Another window had the same token.
    const again = await getToken({ ...authorized, caught: refused }, dependencies);
    expect(again.token).toEqual(renewed.token);
    expect(issued()).toBe(2);
  });

  it('1: renews at most 24 refused tokens per window', async () => {
    const { dependencies, window, clock, issued } = start();
    let state = await getToken(window, dependencies);
    for (let renewal = 1; renewal <= 24; renewal += 1) {
      clock.pass(60);
      const { token } = await getToken({ ...state, caught: refused }, dependencies);
      state = { ...state, renewals: renewal, token: { ...token, unproven: false } };
    }
    expect(issued()).toBe(25);
    await expect(getToken({ ...state, caught: refused }, dependencies)).rejects.toMatchObject({
      name: 'TokenRefusedAgain',
      message: expect.stringContaining('refused 25 tokens'),
    });
    expect(issued()).toBe(25);
  });

  it('34: stores a token whose request took half of its life', async () => {
    const { dependencies, window, clock, versions } = start();
    const requestToken: typeof dependencies.requestToken = async (...asked) => {
      clock.pass(30);
      return { ...(await dependencies.requestToken(...asked)), expiresIn: 60 };
    };
    const { token } = await getToken(window, { ...dependencies, requestToken });
    expect(versions).toEqual([{ [token.scope]: expect.objectContaining({ expires_at: token.expires_at }) }]);
  });

  it('sets begun_at with the first token of a window, and not for a plan', async () => {
    const { dependencies, window, clock } = start();
    const { begun_at: _, ...planned } = window;
    const first = await getToken(planned, dependencies);
    expect(first.begun_at).toBe('2026-11-21T06:00:00.000Z');
    clock.pass(7200);
    const again = await getToken({ ...first, caught: refused }, dependencies);
    expect(again).toMatchObject({ begun_at: first.begun_at, renewals: 1 });
    const { reports: __, ...plan } = planned;
    expect(await getToken(plan, dependencies)).not.toHaveProperty('begun_at');
  });

  it('1: fails if the platform refuses the token that it just issued', async () => {
    const { dependencies, window, issued } = start();
    const authorized = await getToken(window, dependencies);
    const unproven = await getToken({ ...authorized, caught: refused }, dependencies);
    const errorMessage = 'Refused.\n{"status":401,"request_id":"r-2"}';
    const again = { ...refused, Cause: JSON.stringify({ errorMessage }) };
    const watching = { ...unproven, reports: [reportRef('r1')] };
    await expect(getToken({ ...watching, caught: again }, dependencies)).rejects.toMatchObject({
      name: 'TokenRefusedAgain',
      facts: { account: 'acme', report_ids: ['r1'], request_id: 'r-2' },
    });
    expect(issued()).toBe(2);
    // Without a status, it was not found where it was stored.
    expect((await getToken({ ...watching, caught: refused }, dependencies)).token.version).toBe('v3');
  });

  it('1: renews again if the renewed token expired before its first use', async () => {
    const { dependencies, window, clock, issued } = start();
    const authorized = await getToken(window, dependencies);
    const unproven = await getToken({ ...authorized, caught: refused }, dependencies);
    clock.pass(3601);
    expect((await getToken({ ...unproven, caught: refused }, dependencies)).token.unproven).toBe(true);
    expect(issued()).toBe(3);
  });

  it('does not use a token of another client or platform', async () => {
    const { dependencies, window, issued, setCredential } = start();
    await getToken(window, dependencies);
    setCredential({ client_id: 'other', client_secret: 's' });
    await getToken(window, dependencies);
    await getToken(window, { ...dependencies, baseUrl: 'https://other.example.com' });
    expect(issued()).toBe(3);
  });

  it('2: fails with the error of the token request, and caches it', async () => {
    const failure = new LoginRequired('It is dead.', { status: 400 });
    const { dependencies, window, versions } = start({ failure });
    await expect(getToken(window, dependencies)).rejects.toBe(failure);
    expect(versions).toHaveLength(1);
    expect(JSON.stringify(versions)).not.toContain('canary');
  });
});

it('fails at once if the host of base_url does not exist, unless it gave this account a token before', async () => {
  const failure = new PlatformUnavailable('No answer.', { code: 'ENOTFOUND', host: 'api.exmaple.com' });
  const { dependencies, window, clock } = start({ failure });
  await expect(getToken(window, dependencies)).rejects.toMatchObject({
    name: 'RequestRefused',
    message: expect.stringMatching(/^There is no host api.exmaple.com \(ENOTFOUND\). Correct base_url./),
  });
  await getToken(window, { ...dependencies, requestToken: start().dependencies.requestToken });
  clock.pass(24 * 3600);
  await expect(getToken(window, dependencies)).rejects.toMatchObject({ name: 'PlatformUnavailable' });
  const moved = { ...dependencies, baseUrl: 'https://api.exmaple.com' };
  await expect(getToken(window, moved)).rejects.toMatchObject({ name: 'RequestRefused' });
});

const LOGIN = { client_id: 'client', client_secret: 'canary-secret', refresh_token: 'canary-first' };

describe('4.1: a credential with a login', () => {
  it('is refreshed without a scope, and keeps its refresh token if the answer has none', async () => {
    const { dependencies, window, asked, credential, setCredential } = start();
    setCredential(LOGIN);
    const { token } = await getToken(window, dependencies);
    expect(asked).toEqual([{ refresh_token: 'canary-first', scope: undefined }]);
    expect(token.scope).toBe('');
    expect(credential()).toEqual(LOGIN);
  });

  it('stores a rotated refresh token before the access token', async () => {
    const { dependencies, window, rotations, versions, credential, setCredential, beforeReplacing } = start();
    setCredential({ ...LOGIN, note: 'kept' } as Credential);
    rotations.push('canary-second');
    beforeReplacing(() => expect(versions).toEqual([]));
    await getToken(window, dependencies);
    expect(credential()).toMatchObject({ ...LOGIN, refresh_token: 'canary-second', note: 'kept' });
    expect(versions).toHaveLength(1);
  });
});

it('5.3: each scope has its own token, which does not replace the tokens of other scopes', async () => {
  const { dependencies, window, asked, versions, clock } = start();
  const request = { ...window.request, kind: 'list', resource: 'campaigns' } as never;
  const report = await getToken(window, dependencies);
  const list = await getToken({ ...window, request }, dependencies);
  expect(await getToken(window, dependencies)).toMatchObject({ token: { scope: 'reporting:read' } });
  expect(asked.map(({ scope }) => scope)).toEqual(['reporting:read', 'campaigns:read']);
  expect(list.token.scope).toBe('campaigns:read');
  // The newer version holds the refused token of the other scope too; it is still refused.
  await getToken({ ...report, caught: refused }, dependencies);
  expect(asked).toHaveLength(3);
  clock.pass(3600);
  await getToken(window, dependencies);
  expect(Object.keys(versions.at(-1) ?? {})).toEqual(['reporting:read']);
});
