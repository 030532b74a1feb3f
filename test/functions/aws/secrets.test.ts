import { describe, expect, it, onTestFinished } from 'vitest';
import { createSecrets } from '../../../functions/aws/secrets.ts';
import type { SecretsFaultAnswer, SecretsOperation } from '../../../infra/local/secrets-manager.ts';
import { awsEnvironment, setEnvironment } from '../../support/lambda.ts';
import { json, listen } from '../../support/listen.ts';
import { CREDENTIAL, errorOf, startAccount, TOKEN } from '../../support/secrets.ts';
import { shortenTimeouts } from '../../support/short-timeouts.ts';

const OLD = 'canary-old';
const NEW = 'canary-new';

/** A Secrets Manager that answers each call with this body, and the calls that it got. */
async function startAnswering(body: object) {
  const server = await listen((_, response) => json(response, 200, body));
  onTestFinished(() => server[Symbol.asyncDispose]());
  setEnvironment(awsEnvironment({ SECRETS_MANAGER: server.url }));
  const calls = () =>
    server.requests.map(({ headers, body }) => [
      String(headers['x-amz-target']).replace('secretsmanager.', ''),
      JSON.parse(body),
    ]);
  return { secrets: createSecrets(), calls };
}

describe('reading and writing', () => {
  it('reads back each version, and the newest one by default', async () => {
    const { secrets } = await startAccount();
    const first = await secrets.write(TOKEN, OLD);
    const second = await secrets.write(TOKEN, '');
    expect(await secrets.read(TOKEN, first)).toStrictEqual({ text: OLD, version: first });
    expect(await secrets.read(TOKEN, second)).toStrictEqual({ text: '', version: second });
    expect(await secrets.read(TOKEN)).toStrictEqual({ text: '', version: second });
  });

  it('returns undefined for a secret without a value, a missing version and a missing secret', async () => {
    const { secrets } = await startAccount();
    expect(await secrets.read(TOKEN)).toBeUndefined();
    expect(await secrets.read('exports/globex/token')).toBeUndefined();
    await secrets.write(TOKEN, OLD);
    expect(await secrets.read(TOKEN, '0'.repeat(32))).toBeUndefined();
  });

  it.each([
    ['bytes', { SecretBinary: btoa('x'), VersionId: 'v1' }],
    ['a text without a version', { SecretString: OLD }],
  ])('returns undefined for %s', async (_, body) => {
    const { secrets } = await startAnswering(body);
    expect(await secrets.read(CREDENTIAL)).toBeUndefined();
  });

  it('33: fails if a write returns no version, because nobody could read it back', async () => {
    const { secrets } = await startAnswering({});
    expect(await errorOf(secrets.write(TOKEN, NEW))).toMatchObject({ name: 'ServiceUnavailable' });
  });

  it('sends a version only if the caller names one', async () => {
    const { secrets, calls } = await startAnswering({ SecretString: '{}', VersionId: 'v1' });
    await secrets.read(TOKEN);
    await secrets.read(TOKEN, 'v1');
    expect(calls()).toEqual([
      ['GetSecretValue', { SecretId: TOKEN }],
      ['GetSecretValue', { SecretId: TOKEN, VersionId: 'v1' }],
    ]);
  });

  it.each<[SecretsFaultAnswer, string]>([
    ['ThrottlingException', 'ServiceUnavailable'],
    ['InternalServiceError', 'ServiceUnavailable'],
    ['reset', 'ServiceUnavailable'],
    ['AccessDeniedException', 'AccessRefused'],
    ['DecryptionFailure', 'AccessRefused'],
  ])('33: tries once and leaves %s to the state machine (%s)', async (answer, name) => {
    const { secrets, fail, calls } = await startAccount({ token: OLD });
    fail('GetSecretValue', answer, 9);
    fail('PutSecretValue', answer, 9);
    const about = (doing: string) => ({
      name,
      happened: expect.stringContaining(`${doing} the secret ${TOKEN}`),
    });
    expect(await errorOf(secrets.read(TOKEN))).toMatchObject(about('read'));
    expect(await errorOf(secrets.write(TOKEN, NEW))).toMatchObject(about('write'));
    expect(calls()).toEqual(['GetSecretValue', 'PutSecretValue']);
  });

  it.each(['GetSecretValue', 'PutSecretValue'] as const)('33: %s times out after 5 s', async (operation) => {
    const timeouts = shortenTimeouts();
    const { secrets, fail } = await startAccount({ token: OLD });
    fail(operation, 'hang');
    const call = operation === 'GetSecretValue' ? secrets.read(TOKEN) : secrets.write(TOKEN, NEW);
    await expect(call).rejects.toMatchObject({ name: 'ServiceUnavailable' });
    expect(timeouts.mock.calls).toEqual([[5_000]]);
  });

  it('33: names the missing permission', async () => {
    const { secrets, fail } = await startAccount({ token: OLD });
    fail('GetSecretValue', 'AccessDeniedException');
    fail('PutSecretValue', 'AccessDeniedException');
    const reading = await errorOf(secrets.read(TOKEN));
    const writing = await errorOf(secrets.write(TOKEN, NEW));
    expect([reading.facts.permission, writing.facts.permission]).toEqual([
      'secretsmanager:GetSecretValue',
      'secretsmanager:PutSecretValue',
    ]);
  });
});

describe('replace', () => {
  async function startRead() {
    const account = await startAccount({ credential: OLD });
    const { version = '' } = (await account.secrets.read(CREDENTIAL)) ?? {};
    return { ...account, version };
  }

  it('replaces the version that was read', async () => {
    const { secrets, version, textOf, calls } = await startRead();
    expect(await secrets.replace(CREDENTIAL, version, NEW)).toBe(true);
    expect(await textOf('credential')).toBe(NEW);
    const after = await secrets.read(CREDENTIAL);
    expect([after?.text, after?.version === version]).toEqual([NEW, false]);
    const [read, put, move] = ['GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'];
    expect(calls()).toEqual([read, put, move, read]);
  });

  it('keeps a version that was stored since the read', async () => {
    const { secrets, version, stored, textOf } = await startRead();
    await stored.credential.put('1'.repeat(32), 'another text');
    expect(await secrets.replace(CREDENTIAL, version, NEW)).toBe(false);
    expect(await textOf('credential')).toBe('another text');
  });

  it('returns false if the secret is gone', async () => {
    const { secrets } = await startAccount();
    expect(await secrets.replace('exports/globex/credential', 'v1', NEW)).toBe(false);
  });

  it('stores the version under another label, then moves AWSCURRENT from the version that was read', async () => {
    const { secrets, calls } = await startAnswering({});
    await secrets.replace(CREDENTIAL, 'v1', 'text');
    const [[, put] = []] = calls();
    const id = put.ClientRequestToken;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    const version = { SecretString: 'text', ClientRequestToken: id, VersionStages: ['REFRESHED'] };
    const move = { VersionStage: 'AWSCURRENT', MoveToVersionId: id, RemoveFromVersionId: 'v1' };
    expect(calls()).toEqual([
      ['PutSecretValue', { SecretId: CREDENTIAL, ...version }],
      ['UpdateSecretVersionStage', { SecretId: CREDENTIAL, ...move }],
    ]);
  });

  it.each<[SecretsOperation, SecretsFaultAnswer]>([
    ['PutSecretValue', 'lost answer'],
    ['UpdateSecretVersionStage', 'lost answer'],
    ['PutSecretValue', 'reset'],
    ['UpdateSecretVersionStage', 'InternalServiceError'],
  ])('33: stores one new version although %s ends with: %s', async (operation, answer) => {
    const { secrets, version, fail, textOf, stored } = await startRead();
    fail(operation, answer);
    expect(await secrets.replace(CREDENTIAL, version, NEW)).toBe(true);
    expect(await textOf('credential')).toBe(NEW);
    expect(await stored.credential.versions()).toHaveLength(2);
  });

  it('33: tries five times, because a rotated refresh token that is not stored is lost', async () => {
    const { secrets, version, fail, textOf, calls } = await startRead();
    fail('PutSecretValue', 'InternalServiceError', 4);
    expect(await secrets.replace(CREDENTIAL, version, NEW)).toBe(true);
    expect(await textOf('credential')).toBe(NEW);
    expect(calls().filter((operation) => operation === 'PutSecretValue')).toHaveLength(5);
  });

  it.each<[SecretsFaultAnswer, string]>([
    ['AccessDeniedException', 'AccessRefused'],
    ['InternalServiceError', 'ServiceUnavailable'],
  ])('33: fails if the text cannot be stored: %s is %s', async (answer, name) => {
    for (const operation of ['PutSecretValue', 'UpdateSecretVersionStage'] as const) {
      const { secrets, version, fail, textOf } = await startRead();
      fail(operation, answer, 5);
      const { facts, ...error } = await errorOf(secrets.replace(CREDENTIAL, version, NEW));
      expect(error).toMatchObject({
        name,
        happened: expect.stringContaining(`write the secret ${CREDENTIAL} (${answer})`),
      });
      if (name === 'AccessRefused')
        expect(facts.permission).toBe(
          'secretsmanager:PutSecretValue and secretsmanager:UpdateSecretVersionStage',
        );
      expect(await textOf('credential')).toBe(OLD);
    }
  });
});
