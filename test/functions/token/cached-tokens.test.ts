import { describe, expect, it } from 'vitest';
import { errorOf, startAccount, TOKEN } from '../../support/secrets.ts';

const REPORTING = {
  headers: { authorization: 'Bearer canary-token' },
  secret: 'canary-token',
  expires_at: '2026-11-21T07:00:00.000Z',
  issued_for: 'client',
};
const REFUSED = {
  credential: 'c1',
  error: 'CredentialUnusable',
  message: 'The token endpoint answered 401 (invalid_client).\n{}',
} as const;

describe('the token cache', () => {
  const all = { 'reporting:read': REPORTING, 'campaigns:read': REFUSED };

  it('2: reads back tokens and refusals by version', async () => {
    const { tokens, manager } = await startAccount();
    const first = await tokens.write('acme', all);
    const second = await tokens.write('acme', {});
    expect(await tokens.read('acme', first)).toStrictEqual({ version: first, tokens: all });
    expect(await tokens.read('acme')).toStrictEqual({ version: second, tokens: {} });
    expect(new Set(manager.journal.map(({ secret }) => secret))).toEqual(new Set([TOKEN]));
  });

  it.each([
    ['not JSON', 'canary'],
    ['a token of another shape', '{"reporting:read":{"access_token":"canary"}}'],
    ['not there', undefined],
  ])('has no tokens if the text is %s', async (_, token) => {
    const { tokens } = await startAccount(token === undefined ? {} : { token });
    expect(await tokens.read('acme')).toBeUndefined();
  });
});

describe('readToken', () => {
  it('reads the named version and scope, even if the token was renewed since', async () => {
    const { tokens } = await startAccount();
    const list = { ...REPORTING, secret: 'canary-list' };
    const version = await tokens.write('acme', { 'reporting:read': REPORTING, 'campaigns:read': list });
    await tokens.write('acme', { 'reporting:read': list });
    expect(await tokens.readToken('acme', { version, scope: 'reporting:read' })).toEqual(REPORTING);
    expect(await tokens.readToken('acme', { version, scope: 'campaigns:read' })).toEqual(list);
  });

  it.each([
    ['the version is gone', { version: '0'.repeat(32), scope: 'reporting:read' }],
    ['the scope has no token', { scope: 'campaigns:read' }],
    ['a refusal is in its place', { scope: 'refused' }],
  ])('1: asks for a new token if %s', async (_, named) => {
    const { tokens } = await startAccount();
    const version = await tokens.write('acme', { 'reporting:read': REPORTING, refused: REFUSED });
    expect(await errorOf(tokens.readToken('acme', { version, ...named }))).toEqual({
      name: 'TokenRefused',
      happened: 'The token of account acme for this window is no longer stored.',
      facts: { account: 'acme' },
    });
  });
});
