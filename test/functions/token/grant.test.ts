import { describe, expect, it } from 'vitest';
import { NoAnswer, OAuthError } from '../../../functions/platform/errors.ts';
import type { Token } from '../../../functions/platform/token.ts';
import type { Credential, OAuthCredential } from '../../../functions/token/credential.ts';
import { grantToken } from '../../../functions/token/grant.ts';
import { keepLog, stoppedClock } from '../../support/steps.ts';

const client = { client_id: 'client', client_secret: 'one' };
const signedIn = { ...client, refresh_token: 'r1' };

function refusal(error: string) {
  return new OAuthError('POST', { status: 400, error, requestId: 'absent' });
}

/** A token endpoint that answers in turn, and a secret that others may have changed since it was read. */
function start(now: Credential, answers: (Error | Partial<Token>)[], isWon: () => boolean = () => true) {
  const asked: OAuthCredential[] = [];
  const stored: string[] = [];
  const text = JSON.stringify(now);
  const { lines, log } = keepLog();
  const access = {
    ...{ log, now: stoppedClock().now },
    secrets: {
      readCredential: async () => ({ credential: now, text, version: 'v1' }),
      async replaceCredential(_: string, version: string, next: string) {
        stored.push(`${version} ${JSON.parse(next).refresh_token}`);
        return isWon();
      },
    },
    async requestToken(credential: OAuthCredential): Promise<Token> {
      asked.push(credential);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return { accessToken: 'token', tokenType: 'Bearer', expiresIn: 3600, ...answer } as Token;
    },
  };
  const grant = (credential: OAuthCredential) =>
    grantToken('acme', { credential, text: JSON.stringify(credential), version: 'v1' }, undefined, access);
  return { asked, stored, grant, lines };
}

describe('a refused credential', () => {
  it.each([
    'invalid_client',
    'invalid_grant',
  ])('2: is tried again where it was changed since: %s', async (error) => {
    const changed = { ...client, client_secret: 'two' };
    const { grant, asked, lines } = start(changed, [refusal(error), {}]);
    expect(await grant(client)).toMatchObject({ accessToken: 'token' });
    expect(asked).toEqual([client, changed]);
    expect(lines.map(({ level, fields }) => [level, fields])).toEqual([['warn', { account: 'acme', error }]]);
  });

  it.each<[string, Credential, Error]>([
    ['is the same as before', client, refusal('invalid_client')],
    ['is an API key by now', { api_key: 'key' }, refusal('invalid_client')],
  ])('2: is not tried again where it %s', async (_, now, error) => {
    const { grant, asked } = start(now, [error, {}]);
    await expect(grant(client)).rejects.toMatchObject({ name: 'CredentialUnusable' });
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['CredentialUnusable', refusal('invalid_scope')],
    ['PlatformUnavailable', new NoAnswer('POST', true, 'ECONNRESET')],
  ])('is not tried again where another one would not help: %s', async (name, error) => {
    const { grant, asked } = start({ ...client, client_secret: 'two' }, [error, {}]);
    await expect(grant(client)).rejects.toMatchObject({ name });
    expect(asked).toHaveLength(1);
  });
});

describe('a refresh token', () => {
  it('is stored where it was rotated, at the version that was read', async () => {
    const { grant, stored, lines } = start(signedIn, [{ refreshToken: 'r2' }]);
    await grant(signedIn);
    expect(stored).toEqual(['v1 r2']);
    expect(lines.map(({ level, fields }) => [level, fields])).toEqual([['info', { account: 'acme' }]]);
  });

  it.each<[string, OAuthCredential, Partial<Token>]>([
    ['is the one that was used', signedIn, { refreshToken: 'r1' }],
    ['is not in the answer', signedIn, {}],
    ['was not asked for', client, { refreshToken: 'r2' }],
  ])('is not stored where it %s', async (_, credential, answer) => {
    const { grant, stored } = start(credential, [answer]);
    await grant(credential);
    expect(stored).toEqual([]);
  });

  it.each<[string, Credential]>([
    ['an API key', { api_key: 'key' }],
    ['another login', { ...client, refresh_token: 'r9' }],
    ['a client without a login', client],
  ])('is not stored over %s that was stored meanwhile', async (_, now) => {
    const { grant, stored, lines } = start(now, [{ refreshToken: 'r2' }]);
    expect(await grant(signedIn)).toMatchObject({ accessToken: 'token', refreshToken: 'r2' });
    expect(stored).toEqual([]);
    expect(lines.map(({ level, fields }) => [level, fields])).toEqual([['warn', { account: 'acme' }]]);
  });

  it('is put five times at most against others who write as well, and then typed', async () => {
    const { grant, stored } = start(signedIn, [{ refreshToken: 'r2' }], () => false);
    await expect(grant(signedIn)).rejects.toMatchObject({
      name: 'ServiceUnavailable',
      facts: { account: 'acme' },
    });
    expect(stored).toHaveLength(5);
  });
});
