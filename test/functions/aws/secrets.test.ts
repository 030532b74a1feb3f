import { describe, expect, it, onTestFinished } from 'vitest';
import { openSecrets } from '../../../functions/aws/secrets.ts';
import type { Refusal } from '../../../functions/workflow/refusal.ts';
import {
  type SecretsFaultAnswer,
  type SecretsOperation,
  startSecretsManager,
} from '../../../infra/local/secrets-manager.ts';
import { secretInMemory } from '../../../infra/local/secrets-store.ts';
import { awsEnvironment, setEnvironment } from '../../support/lambda.ts';

const CREDENTIAL = 'exports/acme/credential';
const TOKEN = 'exports/acme/token';
const LOGIN = { client_id: 'client', client_secret: 'canary-secret', refresh_token: 'canary-refresh' };
const REPORTING = {
  ...{ scheme: 'Bearer' as const, value: 'canary-token' },
  ...{ expires_at: '2026-11-21T07:00:00.000Z', issued_for: 'client' },
};
const REFUSAL: Refusal = {
  credential: 'c1',
  error: 'CredentialUnusable',
  message: 'The token endpoint answered 401 (invalid_client).\n{}',
};

/** The secrets of one account, in Secrets Manager on this machine. */
async function openAccount({ credential, token }: { credential?: string; token?: string } = {}) {
  const stored = {
    credential: secretInMemory(Date.now, credential),
    token: secretInMemory(Date.now, token),
  };
  const manager = await startSecretsManager({
    secrets: new Map([
      [CREDENTIAL, stored.credential],
      [TOKEN, stored.token],
    ]),
  });
  onTestFinished(() => manager.close());
  setEnvironment(awsEnvironment({ SECRETS_MANAGER: manager.endpoint }));
  const idOf = async (secret: keyof typeof stored) => (await stored[secret].versions()).at(-1)?.id ?? '';
  const textOf = async (secret: keyof typeof stored) => (await stored[secret].versions()).at(-1)?.text;
  const fail = (operation: SecretsOperation, answer: SecretsFaultAnswer, times = 1) =>
    manager.faults.push({ operation, answer, times });
  const calls = () => manager.journal.map(({ operation }) => operation);
  return { secrets: openSecrets('exports'), manager, stored, idOf, textOf, fail, calls };
}

/** What a call throws, which never says a secret. */
async function errorOf(call: Promise<unknown>) {
  const error = await call.then(
    () => new Error('nothing was thrown'),
    (thrown) => thrown,
  );
  expect(JSON.stringify([error.message, error.facts])).not.toContain('canary');
  return { name: error.name, happened: error.message.split('\n')[0], facts: error.facts };
}

describe('a credential', () => {
  it('is read from the account’s own secret, with its text and its version', async () => {
    const text = JSON.stringify({ ...LOGIN, note: 'of the operator' });
    const { secrets, idOf } = await openAccount({ credential: text });
    expect(await secrets.readCredential('acme')).toStrictEqual({
      ...{ credential: LOGIN, text, version: await idOf('credential') },
    });
  });

  it.each(['acme', 'globex'])('32: is named as missing where %s has none', async (account) => {
    const { secrets } = await openAccount();
    expect(await errorOf(secrets.readCredential(account))).toEqual({
      name: 'CredentialUnusable',
      happened: `The secret exports/${account}/credential does not exist or has no value yet. Store it.`,
      facts: { account },
    });
  });

  it('32: is refused where a field of it is missing, which is named, and no value is', async () => {
    const { secrets } = await openAccount({ credential: '{"client_id":"canary"}' });
    const { name, facts } = await errorOf(secrets.readCredential('acme'));
    expect(name).toBe('CredentialUnusable');
    expect(facts).toEqual({ account: 'acme', faults: ['client_secret is missing or not a string'] });
  });

  it('32: is refused where it is empty, as something else than one that is missing', async () => {
    const { secrets } = await openAccount({ credential: '' });
    const { facts } = await errorOf(secrets.readCredential('acme'));
    expect(facts).toEqual({ account: 'acme', faults: ['the secret is not a JSON object'] });
  });
});

describe('a credential that is replaced', () => {
  const rotated = JSON.stringify({ ...LOGIN, refresh_token: 'canary-rotated' });

  it('takes the place of the version that was read, and the next to read it gets the new one', async () => {
    const { secrets, textOf, calls } = await openAccount({ credential: JSON.stringify(LOGIN) });
    const { version } = await secrets.readCredential('acme');
    expect(await secrets.replaceCredential('acme', version, rotated)).toBe(true);
    expect(await textOf('credential')).toBe(rotated);
    const after = await secrets.readCredential('acme');
    expect([after.text, after.version === version]).toEqual([rotated, false]);
    const [read, put, move] = ['GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'];
    expect(calls()).toEqual([read, put, move, read]);
  });

  it('stays as somebody else has stored it in the meantime', async () => {
    const { secrets, stored, textOf } = await openAccount({ credential: JSON.stringify(LOGIN) });
    const { version } = await secrets.readCredential('acme');
    await stored.credential.put('1'.repeat(32), 'of somebody else');
    expect(await secrets.replaceCredential('acme', version, rotated)).toBe(false);
    expect(await textOf('credential')).toBe('of somebody else');
  });

  it.each<[string, SecretsOperation, SecretsFaultAnswer]>([
    ['the version', 'PutSecretValue', 'lost answer'],
    ['the label', 'UpdateSecretVersionStage', 'lost answer'],
    ['the version', 'PutSecretValue', 'reset'],
    ['the label', 'UpdateSecretVersionStage', 'InternalServiceError'],
  ])('33: is replaced once where the answer about %s (%s) ends with %s', async (_, operation, answer) => {
    const { secrets, fail, textOf, stored } = await openAccount({ credential: JSON.stringify(LOGIN) });
    const { version } = await secrets.readCredential('acme');
    fail(operation, answer);
    expect(await secrets.replaceCredential('acme', version, rotated)).toBe(true);
    expect(await textOf('credential')).toBe(rotated);
    expect(await stored.credential.versions()).toHaveLength(2);
  });

  it('33: is tried five times, since a rotated refresh token that is not stored is lost', async () => {
    const { secrets, fail, textOf, calls } = await openAccount({ credential: JSON.stringify(LOGIN) });
    const { version } = await secrets.readCredential('acme');
    fail('PutSecretValue', 'InternalServiceError', 4);
    expect(await secrets.replaceCredential('acme', version, rotated)).toBe(true);
    expect(await textOf('credential')).toBe(rotated);
    expect(calls().filter((operation) => operation === 'PutSecretValue')).toHaveLength(5);
  });

  it.each<[SecretsFaultAnswer, string]>([
    ['AccessDeniedException', 'AccessRefused'],
    ['InternalServiceError', 'ServiceUnavailable'],
  ])('33: fails where it cannot be stored: %s is %s', async (answer, name) => {
    for (const operation of ['PutSecretValue', 'UpdateSecretVersionStage'] as const) {
      const { secrets, fail, textOf } = await openAccount({ credential: JSON.stringify(LOGIN) });
      const { version } = await secrets.readCredential('acme');
      fail(operation, answer, 5);
      expect(await errorOf(secrets.replaceCredential('acme', version, rotated))).toMatchObject({
        name,
        happened: expect.stringContaining(`write the secret ${CREDENTIAL} (${answer})`),
      });
      expect(await textOf('credential')).toBe(JSON.stringify(LOGIN));
    }
  });

  it('33: names both permissions where it may not be stored', async () => {
    const { secrets, fail } = await openAccount({ credential: JSON.stringify(LOGIN) });
    const { version } = await secrets.readCredential('acme');
    fail('PutSecretValue', 'AccessDeniedException');
    expect(await errorOf(secrets.replaceCredential('acme', version, rotated))).toMatchObject({
      facts: { permission: 'secretsmanager:PutSecretValue and UpdateSecretVersionStage' },
    });
  });

  it('is not where there is none any more', async () => {
    const { secrets } = await openAccount();
    expect(await secrets.replaceCredential('globex', 'v1', rotated)).toBe(false);
  });
});

describe('the tokens of an account', () => {
  const tokens = { 'reporting:read': REPORTING };

  it('are read back by the version under which they were written', async () => {
    const { secrets, manager } = await openAccount();
    const first = await secrets.writeTokens('acme', tokens);
    const second = await secrets.writeTokens('acme', {});
    expect(await secrets.readTokens('acme', first)).toStrictEqual({ version: first, tokens });
    expect(await secrets.readTokens('acme', second)).toStrictEqual({ version: second, tokens: {} });
    expect(await secrets.readTokens('acme')).toStrictEqual({ version: second, tokens: {} });
    expect(new Set(manager.journal.map(({ secret }) => secret))).toEqual(new Set([TOKEN]));
  });

  it('are none where none are stored, under that version or at all', async () => {
    const { secrets } = await openAccount();
    expect(await secrets.readTokens('acme')).toBeUndefined();
    expect(await secrets.readTokens('globex')).toBeUndefined();
    await secrets.writeTokens('acme', tokens);
    expect(await secrets.readTokens('acme', '0'.repeat(32))).toBeUndefined();
  });

  it.each([
    ['no JSON', 'canary'],
    ['no object', '"canary"'],
    ['a token of another form', '{"reporting:read":{"access_token":"canary"}}'],
    ['a token of another scheme', JSON.stringify({ x: { ...REPORTING, scheme: 'Basic' } })],
    ['empty', ''],
  ])('are none where the text is %s', async (_, token) => {
    const { secrets } = await openAccount({ token });
    expect(await secrets.readTokens('acme')).toBeUndefined();
  });

  it('2: may be a refusal that is remembered', async () => {
    const { secrets } = await openAccount();
    const both = { ...tokens, 'campaigns:read': REFUSAL };
    const version = await secrets.writeTokens('acme', both);
    expect(await secrets.readTokens('acme')).toStrictEqual({ version, tokens: both });
  });

  it.each<[SecretsFaultAnswer, string]>([
    ['ThrottlingException', 'ServiceUnavailable'],
    ['InternalServiceError', 'ServiceUnavailable'],
    ['reset', 'ServiceUnavailable'],
    ['AccessDeniedException', 'AccessRefused'],
    ['DecryptionFailure', 'AccessRefused'],
  ])('33: are neither read nor written with %s: once, and then it is for the state machine (%s)', async (answer, name) => {
    const { secrets, fail, calls } = await openAccount({ token: JSON.stringify(tokens) });
    fail('GetSecretValue', answer, 9);
    fail('PutSecretValue', answer, 9);
    const about = (doing: string) => ({
      name,
      happened: expect.stringContaining(`${doing} the secret ${TOKEN}`),
    });
    expect(await errorOf(secrets.readTokens('acme'))).toMatchObject(about('read'));
    expect(await errorOf(secrets.writeTokens('acme', tokens))).toMatchObject(about('write'));
    expect(calls()).toEqual(['GetSecretValue', 'PutSecretValue']);
  });

  it('33: name the permission that is missing', async () => {
    const { secrets, fail } = await openAccount({ token: JSON.stringify(tokens) });
    fail('GetSecretValue', 'AccessDeniedException');
    fail('PutSecretValue', 'AccessDeniedException');
    const reading = await errorOf(secrets.readTokens('acme'));
    const writing = await errorOf(secrets.writeTokens('acme', tokens));
    expect([reading.facts.permission, writing.facts.permission]).toEqual([
      'secretsmanager:GetSecretValue',
      'secretsmanager:PutSecretValue',
    ]);
  });
});

describe('the token that a state names', () => {
  it('is that of its version and scope, whatever was renewed in between', async () => {
    const { secrets } = await openAccount();
    const list = { ...REPORTING, value: 'canary-list' };
    const version = await secrets.writeTokens('acme', {
      'reporting:read': REPORTING,
      'campaigns:read': list,
    });
    await secrets.writeTokens('acme', { 'reporting:read': list });
    expect(await secrets.readToken('acme', { version, scope: 'reporting:read' })).toEqual(REPORTING);
    expect(await secrets.readToken('acme', { version, scope: 'campaigns:read' })).toEqual(list);
  });

  it.each([
    ['its version is not kept any more', { version: '0'.repeat(32), scope: 'reporting:read' }],
    ['it has none of its scope', { scope: 'campaigns:read' }],
    ['it is a refusal by now', { scope: 'refused' }],
  ])('1: is to be renewed where %s', async (_, named) => {
    const { secrets } = await openAccount();
    const version = await secrets.writeTokens('acme', { 'reporting:read': REPORTING, refused: REFUSAL });
    expect(await errorOf(secrets.readToken('acme', { version, ...named }))).toEqual({
      name: 'TokenRefused',
      happened: 'The token of account acme that this window was given is gone.',
      facts: { account: 'acme' },
    });
  });
});
