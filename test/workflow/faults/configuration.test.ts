import { beforeEach, expect, it } from 'vitest';
import { storeCredential } from '../../support/log-in.ts';
import { expectFailed, forgetTokens, runExport, shareWorkflow } from '../../support/run-export.ts';
import { startWorkflow } from '../../support/workflow.ts';

// Secrets and clocks.
const workflow = await shareWorkflow({
  speed: 1000,
  sandbox: { tokenSeconds: 86_400, report: { secondsToProcessing: 0, secondsToReady: 0 } },
});

const { clientId: client_id, clientSecret: client_secret } = workflow.sandbox;
const CREDENTIAL = 'ad-report-export/sandbox/credential';
const TOKEN = 'ad-report-export/sandbox/token';

beforeEach(async () => {
  await storeCredential(workflow, JSON.stringify({ client_id, client_secret }));
  await forgetTokens(workflow);
});

it.each([
  ['is not JSON', 'canary-value', 'the secret is not a JSON object'],
  ['is a list', '["canary-value"]', 'the secret is not a JSON object'],
  ['lacks a field', '{"client_id":"canary-value"}', 'client_secret is missing or not a string'],
  ['has an empty field', '{"client_id":"canary-value","client_secret":""}', 'client_secret is empty'],
  ['has a number for a text', '{"client_id":7,"client_secret":"canary-value"}', 'client_id is missing'],
  [
    'has a line break in a value',
    '{"client_id":"i","client_secret":"canary-value\\n"}',
    'client_secret contains a line break',
  ],
  ['has an API key with a space', '{"api_key":"canary-value "}', 'api_key is empty, or contains a space'],
])('32: a credential that %s fails before any request, naming the field and not the value', async (_, text, fault) => {
  await storeCredential(workflow, text);
  const outcome = await runExport(workflow, { canaries: ['canary-value'] });
  expectFailed(outcome, 'CredentialUnusable');
  expect(outcome.failure.faults?.join()).toContain(fault);
  expect(outcome.calls).toEqual([]);
});

it('32: a credential that was never stored fails before any request, naming the secret', async () => {
  const outcome = await runExport(workflow, {
    secrets: [
      { operation: 'GetSecretValue', secret: CREDENTIAL, answer: 'ResourceNotFoundException', times: 9 },
    ],
  });
  expectFailed(outcome, 'CredentialUnusable');
  expect(outcome.failure.happened).toContain(CREDENTIAL);
  expect(outcome.calls).toEqual([]);
});

const OPERATIONS = [
  ['the credential is read', 'GetSecretValue', CREDENTIAL],
  ['the token is read', 'GetSecretValue', TOKEN],
  ['the token is written', 'PutSecretValue', TOKEN],
] as const;

it.each(
  OPERATIONS.flatMap(([when, operation, secret]) =>
    (['ThrottlingException', 'InternalServiceError', 'reset'] as const).map(
      (answer) => [answer, when, operation, secret] as const,
    ),
  ),
)('33: Secrets Manager that answers "%s" when %s is asked again', async (answer, _, operation, secret) => {
  const outcome = await runExport(workflow, { secrets: [{ operation, secret, answer, times: 3 }] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.secrets.filter(({ error }) => error !== undefined)).toHaveLength(3);
});

it.each(
  OPERATIONS,
)('33: Secrets Manager that throttles for ever when %s fails, typed, after twelve calls', async (_, operation, secret) => {
  const outcome = await runExport(workflow, {
    secrets: [{ operation, secret, answer: 'ThrottlingException', times: 99 }],
  });
  expectFailed(outcome, 'ServiceUnavailable');
  expect(outcome.secrets.filter(({ error }) => error !== undefined)).toHaveLength(12);
});

it.each(
  OPERATIONS.flatMap(([when, operation, secret]) =>
    (['AccessDeniedException', 'DecryptionFailure'] as const).map(
      (answer) => [answer, when, operation, secret] as const,
    ),
  ),
)('33: Secrets Manager that answers "%s" when %s fails at once, naming the permission', async (answer, _, operation, secret) => {
  const outcome = await runExport(workflow, { secrets: [{ operation, secret, answer, times: 99 }] });
  expectFailed(outcome, 'AccessRefused');
  expect(outcome.failure.happened).toContain(`secretsmanager:${operation}`);
  expect(outcome.secrets.filter(({ error }) => error !== undefined)).toHaveLength(1);
});

it('35: a token that the platform ends before our clock says so is renewed by way of its 401', async () => {
  expect((await runExport(workflow)).to('token')).toHaveLength(1);
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
  await using apart = await startWorkflow({
    ...{ speed: 1000, platformAhead },
    sandbox: { tokenSeconds: 86_400, report: { secondsToProcessing: 0, secondsToReady: 0 } },
  });
  const outcome = await runExport(apart, { faults: ['create status=429 retry_after=date:120'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.to('token')).toHaveLength(1);
  expect(outcome.reports).toHaveLength(1);
});
