import { describe, expect, it } from 'vitest';
import { OAuthError } from '../../../functions/platform/errors.ts';
import type { Token } from '../../../functions/platform/oauth.ts';
import type { Credential, OAuthCredential } from '../../../functions/token/credential.ts';
import { grantToken } from '../../../functions/token/grant.ts';
import { PlatformUnavailable } from '../../../functions/workflow/errors.ts';
import { keepLog } from '../../support/steps.ts';

const client = { client_id: 'client', client_secret: 'one' };
const login = { ...client, refresh_token: 'r1' };

function refusal(error: string) {
  return new OAuthError({ status: 400, error, requestId: undefined });
}

/** A token endpoint that gives these answers in turn, and the credential that is stored by then. */
function start(current: Credential, answers: (Error | Partial<Token>)[]) {
  const requests: OAuthCredential[] = [];
  const written: string[] = [];
  const { lines, log } = keepLog();
  const access = {
    log,
    store: {
      read: async () => ({ text: JSON.stringify(current), version: 'v1' }),
      async replace(version: string, text: string) {
        written.push(`${version} ${JSON.parse(text).refresh_token}`);
        return true;
      },
    },
    async requestToken(credential: OAuthCredential): Promise<Token> {
      requests.push(credential);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return { accessToken: 'token', expiresIn: 3600, ...answer } as Token;
    },
  };
  const grant = (credential: OAuthCredential) =>
    grantToken('acme', { credential, text: JSON.stringify(credential), version: 'v1' }, undefined, access);
  const logged = () => lines.map(({ level, fields }) => [level, fields]);
  return { requests, written, grant, logged };
}

describe('a refused credential', () => {
  it.each(['invalid_client', 'invalid_grant'])('2: is replaced by a changed one after %s', async (error) => {
    const changed = { ...client, client_secret: 'two' };
    const { grant, requests, logged } = start(changed, [refusal(error), {}]);
    expect(await grant(client)).toMatchObject({ accessToken: 'token' });
    expect(requests).toEqual([client, changed]);
    expect(logged()).toEqual([['warn', { account: 'acme', error }]]);
  });

  it.each<[string, Credential, Error]>([
    ['it has not changed', client, refusal('invalid_client')],
    ['it is an API key now', { api_key: 'key' }, refusal('invalid_client')],
    ['the scope was refused', { ...client, client_secret: 'two' }, refusal('invalid_scope')],
    ['the answer was lost', { ...client, client_secret: 'two' }, new PlatformUnavailable('It was lost.')],
  ])('2: is not tried again if %s', async (_, current, error) => {
    const { grant, requests } = start(current, [error, {}]);
    await expect(grant(client)).rejects.toBe(error);
    expect(requests).toHaveLength(1);
  });
});

describe('a refresh token', () => {
  it.each<[string, OAuthCredential, Partial<Token>]>([
    ['it is the used one', login, { refreshToken: 'r1' }],
    ['the credential has no login', client, { refreshToken: 'r2' }],
  ])('is not stored if %s', async (_, credential, answer) => {
    const { grant, written } = start(credential, [answer]);
    await grant(credential);
    expect(written).toEqual([]);
  });

  it.each<[string, Credential]>([
    ['an API key', { api_key: 'key' }],
    ['another login', { ...client, refresh_token: 'r9' }],
    ['a client without a login', client],
  ])('does not replace %s that was stored in the meantime', async (_, current) => {
    const { grant, written, logged } = start(current, [{ refreshToken: 'r2' }]);
    expect(await grant(login)).toMatchObject({ accessToken: 'token', refreshToken: 'r2' });
    expect(written).toEqual([]);
    expect(logged()).toEqual([['warn', { account: 'acme' }]]);
  });
});
