import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { commonWorkflow, expectFailed, runExport, startFastWorkflow } from '../../support/run-export.ts';
import { forgetTokens, secretId, storeCredential } from '../../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

const { clientId: client_id, clientSecret: client_secret } = workflow.sandbox;
const CREDENTIAL = secretId(workflow, 'credential');
const TOKEN = secretId(workflow, 'token');

beforeEach(() => forgetTokens(workflow));
afterEach(() => storeCredential(workflow, JSON.stringify({ client_id, client_secret })));

describe('32: a credential', () => {
  const HUNDRED_WINDOWS = { start_date: '2023-01-01', end_date: addDays('2023-01-01', 4500) };

  it.each([
    ['is not JSON', 'canary-value', 'the secret is not a JSON object'],
    ['is a list', '["canary-value"]', 'the secret is not a JSON object'],
    ['lacks a field', '{"client_id":"canary-value"}', 'client_secret is missing or not a string'],
    ['has an empty field', '{"client_id":"canary-value","client_secret":""}', 'client_secret is empty'],
    ['has a number as client_id', '{"client_id":7,"client_secret":"canary-value"}', 'client_id is missing'],
    [
      'has a line break in a value',
      '{"client_id":"i","client_secret":"canary-value\\n"}',
      'client_secret contains a line break',
    ],
    ['has an API key with a space', '{"api_key":"canary-value "}', 'api_key is empty, or contains a space'],
  ])('32: that %s fails before any request and names the field, not the value', async (_, text, fault) => {
    await storeCredential(workflow, text);
    const outcome = await runExport(workflow, { canaries: ['canary-value'], request: HUNDRED_WINDOWS });
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.failure.faults?.join()).toContain(fault);
    expect(outcome.calls).toEqual([]);
    expect(outcome.events.filter(({ state }) => state === 'ExportWindows')).toEqual([]);
  });

  it('32: that was never stored fails before any request and names the secret', async () => {
    const missing = {
      operation: 'GetSecretValue',
      secret: CREDENTIAL,
      answer: 'ResourceNotFoundException',
    } as const;
    const outcome = await runExport(workflow, { secrets: [{ ...missing, times: 9 }] });
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.failure.happened).toContain(CREDENTIAL);
    expect(outcome.calls).toEqual([]);
  });
});

describe('33: Secrets Manager', () => {
  const OPERATIONS = [
    ['the credential is read', 'GetSecretValue', CREDENTIAL],
    ['the token is read', 'GetSecretValue', TOKEN],
    ['the token is written', 'PutSecretValue', TOKEN],
  ] as const;

  /** Each of these answers, for each operation. */
  function answers<A>(...all: A[]) {
    return OPERATIONS.flatMap((operation) => all.map((answer) => [answer, ...operation] as const));
  }

  it.each(
    answers('ThrottlingException' as const, 'InternalServiceError' as const, 'reset' as const),
  )('33: that answers "%s" when %s is asked again', async (answer, _, operation, secret) => {
    const outcome = await runExport(workflow, { secrets: [{ operation, secret, answer, times: 3 }] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.secrets.filter(({ error }) => error !== undefined)).toHaveLength(3);
  });

  it.each(
    answers('ThrottlingException' as const),
  )('33: that answers "%s" for ever when %s fails after twelve calls', async (answer, _, operation, secret) => {
    const outcome = await runExport(workflow, { secrets: [{ operation, secret, answer, times: 99 }] });
    expectFailed(outcome, 'ServiceUnavailable');
    expect(outcome.secrets.filter(({ error }) => error !== undefined)).toHaveLength(12);
  });

  it.each(
    answers('AccessDeniedException' as const, 'DecryptionFailure' as const),
  )('33: that answers "%s" when %s fails at once and names the permission', async (answer, _, operation, secret) => {
    const outcome = await runExport(workflow, { secrets: [{ operation, secret, answer, times: 99 }] });
    expectFailed(outcome, 'AccessRefused');
    expect(outcome.failure.happened).toContain(`secretsmanager:${operation}`);
    expect(outcome.secrets.filter(({ error }) => error !== undefined)).toHaveLength(1);
  });
});

describe('35: clocks that differ', () => {
  it('35: a token that the platform ends early is renewed after its 401', async () => {
    expect((await runExport(workflow)).callsTo('token')).toHaveLength(1);
    workflow.sandbox.revokeTokens();
    const outcome = await runExport(workflow);
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.calls.map(({ endpoint, status }) => `${endpoint} ${status}`)).toEqual([
      'create 401',
      'token 200',
      'create 201',
      'report 200',
      'report 200',
      'storage 200',
    ]);
  });

  it.each([
    -600, 600,
  ])('35: a platform whose clock is %i s ahead of ours costs nothing', async (platformAhead) => {
    await using apart = await startFastWorkflow({ platformAhead });
    const outcome = await runExport(apart, { faults: ['create status=429 retry_after=date:120'] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.callsTo('token')).toHaveLength(1);
    expect(outcome.reports).toHaveLength(1);
  });
});
