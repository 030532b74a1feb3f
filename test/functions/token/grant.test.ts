import { describe, expect, it } from 'vitest';
import type { Token } from '../../../functions/platform/oauth.ts';
import { type Credential, grantToken, type OAuthCredential } from '../../../functions/token/credential.ts';
import { keepLog } from '../../support/steps.ts';

const client = { client_id: 'client', client_secret: 'one' };
const login = { ...client, refresh_token: 'r1' };

/** A token endpoint with this answer, and the credential that is stored by then. */
function start(current: Credential, answer: Partial<Token>) {
  const written: string[] = [];
  const { lines, log } = keepLog();
  const access = {
    log,
    store: {
      read: async () => ({ text: JSON.stringify(current), version: 'v1' }),
      write: async (text: string) => written.push(JSON.parse(text).refresh_token),
    },
    requestToken: async (): Promise<Token> => ({ accessToken: 'token', expiresIn: 3600, ...answer }),
  };
  const grant = (credential: OAuthCredential) => grantToken('acme', credential, undefined, access);
  return { written, grant, logged: () => lines.map(({ level, fields }) => [level, fields]) };
}

describe('a refresh token', () => {
  it.each<[string, OAuthCredential, Partial<Token>]>([
    ['it is the used one', login, { refreshToken: 'r1' }],
    ['the credential has no login', client, { refreshToken: 'r2' }],
  ])('is not stored if %s', async (_, credential, answer) => {
    const { grant, written } = start(credential, answer);
    await grant(credential);
    expect(written).toEqual([]);
  });

  it.each<[string, Credential]>([
    ['an API key', { api_key: 'key' }],
    ['another login', { ...client, refresh_token: 'r9' }],
    ['a client without a login', client],
  ])('does not replace %s that was stored in the meantime', async (_, current) => {
    const { grant, written, logged } = start(current, { refreshToken: 'r2' });
    expect(await grant(login)).toMatchObject({ accessToken: 'token', refreshToken: 'r2' });
    expect(written).toEqual([]);
    expect(logged()).toEqual([['warn', { account: 'acme' }]]);
  });
});
