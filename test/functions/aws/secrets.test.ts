import { describe, expect, it } from 'vitest';
import type { Fault } from '../../support/faulty-services.ts';
import { shortenTimeouts } from '../../support/lambda.ts';
import { CREDENTIAL, errorOf, startAccount, TOKEN } from '../../support/secrets.ts';

const OLD = 'canary-old';
const NEW = 'canary-new';

describe('33: a call', () => {
  it.each<[Fault['answer'], number]>([
    ['ThrottlingException', 1],
    ['InternalServiceError', 4],
    ['lost answer', 1],
  ])('that ends with %s %i times is sent again by the SDK', async (answer, times) => {
    const { secrets, fail, calls, stored } = await startAccount({ token: OLD });
    fail('GetSecretValue', answer, times);
    expect(await secrets.read(TOKEN)).toMatchObject({ text: OLD });
    fail('PutSecretValue', answer, times);
    await secrets.write(TOKEN, NEW);
    expect(stored.token.versions()).toHaveLength(2);
    expect(calls()).toHaveLength(2 * (times + 1));
  });

  it('is left to the state machine after five tries', async () => {
    const { secrets, fail, calls } = await startAccount({ token: OLD });
    fail('GetSecretValue', 'InternalServiceError', 9);
    expect(await errorOf(secrets.read(TOKEN))).toMatchObject({
      name: 'ServiceUnavailable',
      happened: expect.stringContaining(`read the secret ${TOKEN} (InternalServiceError)`),
    });
    expect(calls()).toHaveLength(5);
  });

  const DENIALS = ['AccessDeniedException', 'DecryptionFailure'] as const;
  it.each(DENIALS)('that ends with %s fails at once and names the permission', async (answer) => {
    const { secrets, fail, textOf } = await startAccount({ credential: OLD });
    for (const [operation, call, doing, permission] of [
      ['GetSecretValue', () => secrets.read(CREDENTIAL), 'read', 'secretsmanager:GetSecretValue'],
      ['PutSecretValue', () => secrets.write(CREDENTIAL, NEW), 'write', 'secretsmanager:PutSecretValue'],
    ] as const) {
      fail(operation, answer);
      expect(await errorOf(call())).toMatchObject({
        name: 'AccessRefused',
        happened: expect.stringContaining(`${doing} the secret ${CREDENTIAL} (${answer})`),
        facts: { permission },
      });
    }
    expect(await textOf('credential')).toBe(OLD);
  });

  it('that is never answered ends after 10 s', async () => {
    const timeouts = shortenTimeouts();
    const { secrets, fail } = await startAccount({ token: OLD });
    fail('GetSecretValue', 'stall');
    await expect(secrets.read(TOKEN)).rejects.toMatchObject({ name: 'ServiceUnavailable' });
    fail('PutSecretValue', 'stall');
    await expect(secrets.write(TOKEN, NEW)).rejects.toMatchObject({ name: 'ServiceUnavailable' });
    expect(timeouts.mock.calls).toEqual([[10_000], [10_000]]);
  });
});
