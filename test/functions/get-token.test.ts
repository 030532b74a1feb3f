import { describe, expect, it } from 'vitest';
import type { CachedToken } from '../../functions/aws/secrets.ts';
import { getToken } from '../../functions/get-token.ts';
import { OAuthError } from '../../functions/platform/errors.ts';
import type { Token } from '../../functions/platform/token.ts';
import type { Credential } from '../../functions/workflow/credential.ts';
import { keepLog, stoppedClock, windowOf } from '../support/steps.ts';

const BASE_URL = 'https://api.example.com/v1';

/** Secrets in memory, and a token endpoint that counts. */
function start(options: { expiresIn?: number; failure?: Error } = {}) {
  const clock = stoppedClock();
  const versions: CachedToken[] = [];
  let credential: Credential = { client_id: 'client', client_secret: 'canary-secret' };
  let issued = 0;
  const { lines, log } = keepLog();
  const dependencies = {
    log,
    now: clock.now,
    baseUrl: BASE_URL,
    secrets: {
      readCredential: async () => credential,
      async readNewestToken() {
        const token = versions.at(-1);
        return token && { version: `v${versions.length}`, token };
      },
      async writeToken(_: string, token: CachedToken) {
        versions.push(token);
        return `v${versions.length}`;
      },
    },
    async requestToken(): Promise<Token> {
      if (options.failure) throw options.failure;
      issued += 1;
      return {
        accessToken: `canary-token-${issued}`,
        tokenType: 'Bearer',
        expiresIn: options.expiresIn ?? 3600,
      };
    },
  };
  const { token: _, ...window } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
  return {
    clock,
    dependencies,
    lines,
    versions,
    window,
    issued: () => issued,
    setCredential: (next: Credential) => {
      credential = next;
    },
  };
}

const refused = { Error: 'TokenRefused', Cause: '{}' };

describe('GetToken', () => {
  it('requests a token once and reuses it for its lifetime (contract 5.4)', async () => {
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
    expect(state.token).toEqual({ version: 'v1', expires_at: '2026-11-21T07:00:00.000Z', unproven: false });
    expect(JSON.stringify([state, lines])).not.toContain('canary');
  });

  it('1: renews a refused token, and goes on without the mark of the refusal', async () => {
    const { dependencies, window, issued } = start();
    const authorized = await getToken(window, dependencies);
    const renewed = await getToken({ ...authorized, caught: refused }, dependencies);
    expect(renewed.token).toMatchObject({ version: 'v2', unproven: true });
    expect(renewed).not.toHaveProperty('caught');
    expect(issued()).toBe(2);
  });

  it('1: takes the token that another window has renewed meanwhile', async () => {
    const { dependencies, window, issued } = start();
    const authorized = await getToken(window, dependencies);
    const both = [
      await getToken({ ...authorized, caught: refused }, dependencies),
      await getToken({ ...authorized, caught: refused }, dependencies),
    ];
    expect(both.map(({ token }) => token.version)).toEqual(['v2', 'v2']);
    expect(issued()).toBe(2);
  });

  it('1: fails where the platform refuses the token that it has just issued', async () => {
    const { dependencies, window, issued } = start();
    const authorized = await getToken(window, dependencies);
    const unproven = await getToken({ ...authorized, caught: refused }, dependencies);
    await expect(getToken({ ...unproven, caught: refused }, dependencies)).rejects.toMatchObject({
      name: 'TokenRefusedAgain',
    });
    expect(issued()).toBe(2);
  });

  it('does not reuse a token that was issued to another client or by another platform', async () => {
    const { dependencies, window, issued, setCredential } = start();
    await getToken(window, dependencies);
    setCredential({ client_id: 'other', client_secret: 's' });
    await getToken(window, dependencies);
    await getToken(window, { ...dependencies, baseUrl: 'https://other.example.com' });
    expect(issued()).toBe(3);
  });

  it('34: asks once for a token of the shortest lifetime, not at every call', async () => {
    const { dependencies, window, issued } = start({ expiresIn: 60 });
    await getToken(window, dependencies);
    await getToken(window, dependencies);
    expect(issued()).toBe(1);
  });

  it.each([
    ['2: a revoked client', 401, 'invalid_client', 'CredentialUnusable'],
    ['3: a dead refresh token', 400, 'invalid_grant', 'LoginRequired'],
  ])('%s fails typed', async (_, status, error, name) => {
    const failure = new OAuthError('POST https://api.example.com/oauth2/token', {
      status,
      error,
      requestId: 'absent',
    });
    const { dependencies, window, versions } = start({ failure });
    await expect(getToken(window, dependencies)).rejects.toMatchObject({
      name,
      facts: { account: 'acme', status },
    });
    expect(versions).toEqual([]);
  });
});
