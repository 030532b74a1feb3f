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
  it('that lacks a field fails before any request, with 100 windows too, and names the field, not the value', async () => {
    await storeCredential(workflow, '{"client_id":"canary-value"}');
    const request = { start_date: '2023-01-01', end_date: addDays('2023-01-01', 4500) };
    const outcome = await runExport(workflow, { canaries: ['canary-value'], request });
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.failure.faults?.join()).toContain('client_secret is missing or not a string');
    expect(outcome.calls).toEqual([]);
    expect(outcome.events.filter(({ state }) => state === 'ExportWindows')).toEqual([]);
  });

  it('that was never stored fails before any request and names the secret', async () => {
    const missing = { operation: 'GetSecretValue', secret: CREDENTIAL, times: 9 } as const;
    const outcome = await runExport(workflow, {
      secrets: [{ ...missing, answer: 'ResourceNotFoundException' }],
    });
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.failure.happened).toContain(CREDENTIAL);
    expect(outcome.calls).toEqual([]);
  });
});

describe('33: Secrets Manager', () => {
  it('that fails is asked again by the state machine', async () => {
    // The SDK gives up after five tries.
    const fault = { operation: 'GetSecretValue', secret: TOKEN, answer: 'InternalServiceError' } as const;
    const outcome = await runExport(workflow, { secrets: [{ ...fault, times: 6 }] });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.secrets.filter(({ error }) => error !== undefined)).toHaveLength(6);
  });

  it('that denies access fails the export and names the permission', async () => {
    const fault = { operation: 'PutSecretValue', secret: TOKEN, answer: 'AccessDeniedException' } as const;
    const outcome = await runExport(workflow, { secrets: [{ ...fault, times: 99 }] });
    expectFailed(outcome, 'AccessRefused');
    expect(outcome.failure.happened).toContain('secretsmanager:PutSecretValue');
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
