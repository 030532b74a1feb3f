import { describe, expect, it } from 'vitest';
import { parseCredential, updateCredential } from '../../../functions/token/credential.ts';
import { CredentialUnusable } from '../../../functions/workflow/errors.ts';
import { errorOf } from '../../support/platform.ts';
import { CREDENTIAL, LOGIN, startAccount } from '../../support/secrets.ts';

describe('32: parseCredential', () => {
  it.each([
    ['text that is not JSON', 'canary', 'the credential is not a JSON object'],
    ['a list', '["canary"]', 'the credential is not a JSON object'],
    ['a missing field', '{"client_id":"canary"}', 'client_secret is missing or not a string'],
    ['an empty value', '{"client_id":"","client_secret":"canary"}', 'client_id is empty'],
    ['a line break', '{"client_id":"a","client_secret":"canary\\n"}', 'client_secret contains a line break'],
    ['a space in an API key', '{"api_key":"canary canary"}', 'api_key is empty, or contains a space'],
  ])('refuses %s, with the name of the field and without its value', async (_, text, expected) => {
    const error = await refusalOf(text);
    expect(error.message).toContain(expected);
    expect(error.message).toContain('account acme');
    expect(error.message).not.toContain('canary');
  });

  it('names every wrong field', async () => {
    const faults = ['client_id is empty', 'client_secret is missing or not a string'];
    const happened = `The credential of account acme cannot be used: ${faults.join('; ')}. Store it as`;
    expect(await refusalOf('{"client_id":""}')).toMatchObject({
      message: expect.stringContaining(happened),
      facts: { account: 'acme', faults },
    });
  });

  it('accepts any printable ASCII in client_id and client_secret, spaces included (RFC 6749, appendix A)', () => {
    const ascii = String.fromCharCode(...Array.from({ length: 95 }, (_, at) => 0x20 + at));
    const client = { client_id: 'a b', client_secret: ascii };
    expect(parseCredential(JSON.stringify(client), 'acme')).toEqual(client);
  });
});

it('32: a credential that was never stored is named', async () => {
  const { store } = await startAccount();
  const message = expect.stringContaining(`The secret ${CREDENTIAL} does not exist`);
  await expect(store.read()).rejects.toMatchObject({ name: 'CredentialUnusable', message });
});

describe('updateCredential', () => {
  const stored = { ...LOGIN, note: 'from the operator' };

  it('writes nothing if no fields are returned', async () => {
    const { store, calls } = await startAccount({ credential: JSON.stringify(stored) });
    expect(await updateCredential(store, 'acme', () => undefined)).toBe(false);
    expect(calls()).toEqual(['GetSecretValue']);
  });
});

function refusalOf(text: string): Promise<Error> {
  return errorOf(CredentialUnusable, (async () => parseCredential(text, 'acme'))());
}
