import { describe, expect, it } from 'vitest';
import {
  credentialWarnings,
  parseCredential,
  readCredential,
  updateCredential,
} from '../../../functions/token/credential.ts';
import { errorOf, LOGIN, startAccount } from '../../support/secrets.ts';

describe('32: parseCredential', () => {
  it.each([
    ['text that is not JSON', 'canary', 'the secret is not a JSON object'],
    ['a list', '["canary"]', 'the secret is not a JSON object'],
    ['null', 'null', 'the secret is not a JSON object'],
    ['a missing field', '{"client_id":"canary"}', 'client_secret is missing or not a string'],
    [
      'a number for a string',
      '{"client_id":"canary","client_secret":7}',
      'client_secret is missing or not a string',
    ],
    ['an empty value', '{"client_id":"","client_secret":"canary"}', 'client_id is empty'],
    [
      'a line break in a value',
      '{"client_id":"a","client_secret":"canary\\n"}',
      'client_secret contains a line break',
    ],
    [
      'a letter outside ASCII',
      '{"client_id":"a","client_secret":"canary é"}',
      'client_secret contains a line break or another character that is not printable ASCII',
    ],
    ['a space in an API key', '{"api_key":"canary canary"}', 'api_key is empty, or contains a space'],
  ])('refuses %s, with the name of the field and without its value', (_, text, expected) => {
    const error = refusalOf(text);
    expect(error.name).toBe('CredentialUnusable');
    expect(error.message).toContain(expected);
    expect(error.message).toContain('account acme');
    expect(error.message).not.toContain('canary');
  });

  it('names every wrong field', () => {
    const faults = ['client_id is empty', 'client_secret is missing or not a string'];
    expect(refusalOf('{"client_id":""}')).toMatchObject({
      message: expect.stringContaining(
        `The credential of account acme cannot be used: ${faults.join('; ')}. Store it as {"client_id","client_secret"}.`,
      ),
      facts: { account: 'acme', faults },
    });
  });

  it('accepts a client, a login and an API key', () => {
    const client = { client_id: 'a', client_secret: 'b' };
    for (const credential of [client, { ...client, refresh_token: 'c' }, { api_key: 'k' }])
      expect(parseCredential(JSON.stringify(credential), 'acme')).toEqual(credential);
  });

  it('accepts any printable ASCII in client_id and client_secret, spaces included (RFC 6749, appendix A)', () => {
    const ascii = String.fromCharCode(...Array.from({ length: 95 }, (_, at) => 0x20 + at));
    const client = { client_id: 'a b', client_secret: ascii };
    expect(parseCredential(JSON.stringify(client), 'acme')).toEqual(client);
  });
});

describe('credentialWarnings', () => {
  it.each([
    [{ client_id: 'a', client_secret: 'b c' }, []],
    [{ client_id: ' a', client_secret: 'b ' }, ['client_id', 'client_secret']],
    [{ client_id: 'a', client_secret: 'b', refresh_token: ' c' }, ['refresh_token']],
  ])('names the values of %j that begin or end with a space', (credential, fields) => {
    const ends = 'begins or ends with a space: make sure that the space is part of it';
    expect(credentialWarnings(credential)).toEqual(fields.map((field) => `${field} ${ends}`));
  });
});

describe('a stored credential', () => {
  it('is read from the secret of the account, with its text and version', async () => {
    const text = JSON.stringify({ ...LOGIN, note: 'from the operator' });
    const { store, idOf } = await startAccount({ credential: text });
    expect(await readCredential(store, 'acme')).toStrictEqual({
      ...{ credential: LOGIN, text, version: await idOf('credential') },
    });
  });

  it('32: is reported as missing if the secret has no value', async () => {
    const { store } = await startAccount();
    expect(await errorOf(readCredential(store, 'acme'))).toEqual({
      name: 'CredentialUnusable',
      happened: 'The secret exports/acme/credential does not exist or has no value yet. Store it.',
      facts: { account: 'acme' },
    });
  });

  it.each([
    ['', 'the secret is not a JSON object'],
    ['{"client_id":"canary"}', 'client_secret is missing or not a string'],
  ])('32: is refused with its faults if it is %j', async (credential, fault) => {
    const { store } = await startAccount({ credential });
    const { name, facts } = await errorOf(readCredential(store, 'acme'));
    expect([name, facts]).toEqual(['CredentialUnusable', { account: 'acme', faults: [fault] }]);
  });
});

describe('updateCredential', () => {
  const stored = { ...LOGIN, note: 'from the operator' };

  it('changes the returned fields and keeps the others', async () => {
    const { store, textOf } = await startAccount({ credential: JSON.stringify(stored) });
    expect(await updateCredential(store, 'acme', () => ({ refresh_token: 'new' }))).toBe(true);
    expect(JSON.parse((await textOf('credential')) ?? '')).toEqual({ ...stored, refresh_token: 'new' });
  });

  it('writes nothing if no fields are returned', async () => {
    const { store, calls } = await startAccount({ credential: JSON.stringify(stored) });
    expect(await updateCredential(store, 'acme', () => undefined)).toBe(false);
    expect(calls()).toEqual(['GetSecretValue']);
  });

  it('reads again if another write came first', async () => {
    const account = await startAccount({ credential: JSON.stringify(stored) });
    const seen: unknown[] = [];
    await updateCredential(
      {
        ...account.store,
        async replace(version, text) {
          if (seen.length === 1) await account.stored.credential.put('1'.repeat(32), '{"api_key":"k"}');
          return account.store.replace(version, text);
        },
      },
      'acme',
      (current) => {
        seen.push(current);
        return seen.length === 1 ? { refresh_token: 'new' } : undefined;
      },
    );
    expect(seen).toEqual([LOGIN, { api_key: 'k' }]);
    expect(await account.textOf('credential')).toBe('{"api_key":"k"}');
  });

  it('fails after ten tries', async () => {
    let tries = 0;
    const store = {
      read: async () => ({ text: JSON.stringify(stored), version: 'v1' }),
      async replace() {
        tries += 1;
        return false;
      },
    };
    const update = updateCredential(store, 'acme', () => ({ refresh_token: 'new' }));
    await expect(update).rejects.toMatchObject({ name: 'ServiceUnavailable', facts: { account: 'acme' } });
    expect(tries).toBe(10);
  });
});

function refusalOf(text: string): Error {
  try {
    parseCredential(text, 'acme');
  } catch (error) {
    return error as Error;
  }
  throw new Error('The text was accepted.');
}
