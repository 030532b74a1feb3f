import { describe, expect, it } from 'vitest';
import { parseCredential } from '../../../functions/token/credential.ts';

describe('32: a credential secret', () => {
  it.each([
    ['not JSON', 'canary', 'the secret is not a JSON object'],
    ['no object', '["canary"]', 'the secret is not a JSON object'],
    ['null', 'null', 'the secret is not a JSON object'],
    ['a field missing', '{"client_id":"canary"}', 'client_secret is missing or not a string'],
    [
      'a number for a string',
      '{"client_id":"canary","client_secret":7}',
      'client_secret is missing or not a string',
    ],
    ['an empty value', '{"client_id":"","client_secret":"canary"}', 'client_id is empty'],
    [
      'a newline in a value',
      '{"client_id":"a","client_secret":"canary\\n"}',
      'client_secret holds a line break',
    ],
    ['a space in a key', '{"api_key":"canary canary"}', 'api_key holds a line break, a space'],
  ])('with %s names the field and never the value', (_, text, expected) => {
    const failure = refusal(text);
    expect(failure.name).toBe('CredentialUnusable');
    expect(failure.message).toContain(expected);
    expect(failure.message).toContain('account acme');
    expect(failure.message).not.toContain('canary');
  });

  it('tells every field that is wrong, as facts as well', () => {
    const faults = ['client_id is empty', 'client_secret is missing or not a string'];
    const form = '{"client_id","client_secret"} or {"api_key"}';
    expect(refusal('{"client_id":""}')).toMatchObject({
      message: expect.stringContaining(
        `The credential of account acme cannot be used: ${faults.join('; ')}. Store it as ${form}.`,
      ),
      facts: { account: 'acme', faults },
    });
  });

  it('is taken in either form', () => {
    const login = { client_id: 'a', client_secret: 'b', refresh_token: 'c' };
    expect(parseCredential(JSON.stringify(login), 'acme')).toEqual(login);
    expect(parseCredential('{"api_key":"k"}', 'acme')).toEqual({ api_key: 'k' });
  });
});

function refusal(text: string): Error {
  try {
    parseCredential(text, 'acme');
  } catch (error) {
    return error as Error;
  }
  throw new Error('It was taken.');
}
