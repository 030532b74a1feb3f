import { describe, expect, it } from 'vitest';
import type { Secrets } from '../../../functions/aws/secrets.ts';
import type { Refusal } from '../../../functions/token/refusal.ts';
import type { SecretsFaultAnswer } from '../../../infra/local/secrets-manager.ts';
import { hurry } from '../../support/hurried.ts';
import { errorOf, openAccount, TOKEN } from '../../support/secrets.ts';

const REPORTING = {
  ...{ scheme: 'Bearer' as const, value: 'canary-token' },
  ...{ expires_at: '2026-11-21T07:00:00.000Z', issued_for: 'client' },
};
const REFUSAL: Refusal = {
  credential: 'c1',
  error: 'CredentialUnusable',
  message: 'The token endpoint answered 401 (invalid_client).\n{}',
};

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

  it.each([
    ['GetSecretValue', ({ readTokens }: Secrets) => readTokens('acme')],
    ['PutSecretValue', ({ writeTokens }: Secrets) => writeTokens('acme', tokens)],
  ] as const)('33: are given up after 5 s where %s is not answered', async (operation, call) => {
    const hurried = hurry();
    const { secrets, fail } = await openAccount({ token: JSON.stringify(tokens) });
    fail(operation, 'hang');
    await expect(call(secrets)).rejects.toMatchObject({ name: 'ServiceUnavailable' });
    expect(hurried.mock.calls).toEqual([[5_000]]);
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
