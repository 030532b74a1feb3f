import { describe, expect, it } from 'vitest';
import { getToken } from '../../../functions/get-token.ts';
import { apiKeyDaysLeft, apiKeyWarning } from '../../../functions/token/api-key.ts';
import { startGetToken } from '../../support/get-token.ts';

const INSTEAD = 'Store {"client_id","client_secret"} in its credential secret instead.';
const LAST = '2026-12-31T23:59:59.999Z';
const SUNSET = '2027-01-01T00:00:00.000Z';

describe('39: the warning about an API key (contract 9.6)', () => {
  it.each([
    ['2026-12-30T00:00:00.000Z', 2, 'disables on 2027-01-01: 2 days are left'],
    ['2026-12-30T00:00:00.001Z', 2, 'disables on 2027-01-01: 2 days are left'],
    ['2026-12-31T00:00:00.000Z', 1, 'disables on 2027-01-01: 1 day is left'],
    [LAST, 1, 'disables on 2027-01-01: 1 day is left'],
    [SUNSET, 0, 'disabled on 2027-01-01'],
    ['2027-01-03T00:00:00.000Z', -2, 'disabled on 2027-01-01'],
  ])('counts the days left: at %s %i', (at, days, what) => {
    const now = new Date(at);
    expect(apiKeyDaysLeft(now) + 0).toBe(days);
    expect(apiKeyWarning('acme', now)).toBe(
      `account acme uses an API key, which the platform ${what}. ${INSTEAD}`,
    );
  });
});

describe('5.7: GetToken with an API key', () => {
  function start(now: string, kind = 'report') {
    const started = startGetToken({ now });
    started.setCredential({ api_key: 'canary-key' });
    const request = { ...started.window.request, kind, resource: 'campaigns' } as never;
    return { ...started, window: { ...started.window, request } };
  }

  it.each([
    ['2026-11-21T06:00:00Z', 'report', 41],
    ['2026-12-31T12:00:00Z', 'report', 1],
    [LAST, 'purchases', 1],
  ])('39: at %s caches the key for a %s, and warns that %i days are left', async (now, kind, days) => {
    const { dependencies, window, versions, lines, measured, issued } = start(now, kind);
    const state = await getToken(window, dependencies);
    const again = await getToken(state, dependencies);
    expect(versions).toMatchObject([{ 'X-API-Key': { scheme: 'ApiKey', value: 'canary-key' } }]);
    expect(again.token).toEqual({ version: 'v1', scope: 'X-API-Key', expires_at: SUNSET, unproven: false });
    expect(again.warnings).toEqual([expect.stringContaining(`: ${days} day`)]);
    expect(lines).toContainEqual(expect.objectContaining({ level: 'warn', message: again.warnings[0] }));
    expect(measured).toEqual([{ values: { ApiKeyDaysLeft: days }, dimensions: {} }]);
    expect(issued()).toBe(0);
    expect(JSON.stringify([again, lines])).not.toContain('canary');
  });

  it.each([
    ['report', SUNSET, 'the platform disabled on 2027-01-01'],
    ['purchases', SUNSET, 'the platform disabled on 2027-01-01'],
    ['list', SUNSET, 'the platform disabled on 2027-01-01'],
    ['list', LAST, 'works only for reports and purchases, not for lists'],
  ])('39: refuses a %s at %s', async (kind, now, why) => {
    const { dependencies, window, versions } = start(now, kind);
    await expect(getToken(window, dependencies)).rejects.toMatchObject({
      name: 'CredentialUnusable',
      message: expect.stringContaining(`Account acme uses an API key, which ${why}. ${INSTEAD}\n`),
      facts: { account: 'acme' },
    });
    expect(versions).toEqual([]);
  });

  it('9: fails at once if the host of base_url does not exist, but only before the first window', async () => {
    const { dependencies, window, resolved, setCredential } = startGetToken({ hostFailure: 'ENOTFOUND' });
    setCredential({ api_key: 'canary-key' });
    const { reports: _, ...plan } = window;
    await expect(getToken(plan, dependencies)).rejects.toMatchObject({
      name: 'RequestRefused',
      message: expect.stringContaining('There is no host api.example.com (ENOTFOUND): check base_url.'),
    });
    expect(resolved).toEqual(['api.example.com']);
    expect(await getToken(window, dependencies)).toMatchObject({ token: { scope: 'X-API-Key' } });
  });

  it('leaves it to the first window to wait for a name server that does not answer', async () => {
    const { dependencies, window, setCredential } = startGetToken({ hostFailure: 'EAI_AGAIN' });
    setCredential({ api_key: 'canary-key' });
    const { reports: _, ...plan } = window;
    expect(await getToken(plan, dependencies)).toMatchObject({ token: { scope: 'X-API-Key' } });
  });

  it('fails if the platform refuses the key, until another key is stored', async () => {
    const { dependencies, window, setCredential } = start('2026-11-21T06:00:00Z');
    const caught = { Error: 'TokenRefused', Cause: 'Refused.\n{"request_id":"r-1"}' };
    const state = { ...(await getToken(window, dependencies)), caught };
    await expect(getToken(state, dependencies)).rejects.toMatchObject({
      name: 'CredentialUnusable',
      facts: { account: 'acme', request_id: 'r-1' },
    });
    setCredential({ api_key: 'canary-other' });
    expect((await getToken(state, dependencies)).token.version).toBe('v2');
  });
});
