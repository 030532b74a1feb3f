import { describe, expect, it, onTestFinished } from 'vitest';
import { createSecrets } from '../../../functions/aws/secrets.ts';
import type { SecretsFaultAnswer, SecretsOperation } from '../../../infra/local/secrets-manager.ts';
import { awsEnvironment, setEnvironment } from '../../support/lambda.ts';
import { json, listen } from '../../support/listen.ts';
import { CREDENTIAL, errorOf, LOGIN, openAccount, TOKEN } from '../../support/secrets.ts';

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

describe('what is sent to Secrets Manager', () => {
  /** Secrets Manager that answers every call so, and what it was asked. */
  async function openAnswering(body: object) {
    const server = await listen((_, response) => json(response, 200, body));
    onTestFinished(() => server[Symbol.asyncDispose]());
    setEnvironment(awsEnvironment({ SECRETS_MANAGER: server.url }));
    const asked = () =>
      server.requests.map(({ headers, body }) => [
        String(headers['x-amz-target']).replace('secretsmanager.', ''),
        JSON.parse(body),
      ]);
    return { secrets: createSecrets('exports'), asked };
  }

  it('of a replaced credential is a version aside, and then the label moved to that from the one that was read', async () => {
    const { secrets, asked } = await openAnswering({});
    await secrets.replaceCredential('acme', 'v1', 'text');
    const [[, put] = []] = asked();
    const id = put.ClientRequestToken;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    const version = { SecretString: 'text', ClientRequestToken: id, VersionStages: ['REFRESHED'] };
    const move = { VersionStage: 'AWSCURRENT', MoveToVersionId: id, RemoveFromVersionId: 'v1' };
    expect(asked()).toEqual([
      ['PutSecretValue', { SecretId: CREDENTIAL, ...version }],
      ['UpdateSecretVersionStage', { SecretId: CREDENTIAL, ...move }],
    ]);
  });

  it('of what is read is its name, and the version where one is named', async () => {
    const { secrets, asked } = await openAnswering({ SecretString: '{}', VersionId: 'v1' });
    await secrets.readTokens('acme');
    await secrets.readTokens('acme', 'v1');
    expect(asked()).toEqual([
      ['GetSecretValue', { SecretId: TOKEN }],
      ['GetSecretValue', { SecretId: TOKEN, VersionId: 'v1' }],
    ]);
  });

  it.each([
    ['bytes', { SecretBinary: btoa('x'), VersionId: 'v1' }],
    ['a text of no version', { SecretString: JSON.stringify(LOGIN) }],
  ])('32: may be answered with %s, which are no credential', async (_, body) => {
    const { secrets } = await openAnswering(body);
    expect(await errorOf(secrets.readCredential('acme'))).toMatchObject({
      name: 'CredentialUnusable',
      happened: expect.stringContaining('does not exist or has no value yet'),
    });
  });

  it('33: may be answered with no version, under which nobody could read the token', async () => {
    const { secrets } = await openAnswering({});
    expect(await errorOf(secrets.writeTokens('acme', {}))).toMatchObject({ name: 'ServiceUnavailable' });
  });
});
