import { describe, expect, it } from 'vitest';
import { getToken } from '../../../functions/get-token.ts';
import { apiKeyWarning } from '../../../functions/token/api-key.ts';
import { startGetToken } from '../../support/get-token.ts';

const INSTEAD = 'Store {"client_id","client_secret"} in its credential secret instead.';
const LAST = '2026-12-31T23:59:59.000Z';
const SUNSET = '2027-01-01T00:00:00.000Z';

it.each([
  ['2026-12-30T00:00:00.001Z', '2 days are left'],
  [LAST, '1 day is left'],
])('39: the warning at %s says that %s (contract 9.6)', (at, left) => {
  const expected = `account acme uses an API key, which the platform disables on 2027-01-01: ${left}. ${INSTEAD}`;
  expect(apiKeyWarning('acme', new Date(at))).toBe(expected);
});

describe('5.7: GetToken with an API key', () => {
  function start(now: string, kind = 'report') {
    const started = startGetToken({ now });
    started.setCredential({ api_key: 'canary-key' });
    const request = { ...started.window.request, kind, resource: 'campaigns' } as never;
    return { ...started, window: { ...started.window, request } };
  }

  it('caches its header, and warns in result and log', async () => {
    const { dependencies, window, versions, lines, issued } = start('2026-11-21T06:00:00Z', 'purchases');
    const state = await getToken(window, dependencies);
    const again = await getToken(state, dependencies);
    expect(versions).toMatchObject([
      { 'reporting:read': { headers: { 'X-API-Key': 'canary-key' }, secret: 'canary-key' } },
    ]);
    expect(again.token).toMatchObject({ version: 'v1', expires_at: SUNSET });
    expect(again.warnings).toEqual([expect.stringContaining(': 41 days are left')]);
    expect(lines).toContainEqual(expect.objectContaining({ level: 'warn', message: again.warnings[0] }));
    expect(issued()).toBe(0);
    expect(JSON.stringify([again, lines])).not.toContain('canary');
  });

  it.each([
    ['report', SUNSET, 'the platform disabled on 2027-01-01'],
    ['list', LAST, 'works only for reports and purchases, neither for lists nor for all advertisers'],
  ])('39: refuses a %s at %s', async (kind, now, why) => {
    const { dependencies, window, issued } = start(now, kind);
    await expect(getToken(window, dependencies)).rejects.toMatchObject({
      name: 'CredentialUnusable',
      message: expect.stringContaining(`Account acme uses an API key, which ${why}. ${INSTEAD}\n`),
      facts: { account: 'acme' },
    });
    expect(issued()).toBe(0);
  });

  it('uses a key until its last moment, and refuses it then, cached or not', async () => {
    const { dependencies, window, clock } = start('2026-12-31T23:59:00Z');
    const state = await getToken(window, dependencies);
    clock.pass(59);
    expect((await getToken(state, dependencies)).warnings).toHaveLength(1);
    clock.pass(1);
    await expect(getToken(state, dependencies)).rejects.toMatchObject({ name: 'CredentialUnusable' });
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
    const { token } = await getToken(state, dependencies);
    expect(token).toMatchObject({ version: 'v3', unproven: true });
  });
});
