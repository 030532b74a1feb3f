import { beforeEach, expect, it, vi } from 'vitest';
import { storeCredential } from '../../support/log-in.ts';
import { expectFailed, forgetTokens, runExport, shareWorkflow } from '../../support/run-export.ts';

// What the token endpoint does (contract 4.1, 7.3). Every export here needs a token of its own.
const workflow = await shareWorkflow({
  speed: 1000,
  sandbox: { tokenSeconds: 86_400, report: { secondsToProcessing: 0, secondsToReady: 0 } },
});

const { clientId: client_id, clientSecret: client_secret } = workflow.sandbox;
const CREDENTIAL = 'ad-report-export/sandbox/credential';

beforeEach(async () => {
  await storeCredential(workflow, JSON.stringify({ client_id, client_secret }));
  await forgetTokens(workflow);
});

it.each([
  ['with', 'header.www-authenticate="Basic realm=x"'],
  ['without', 'without_header=www-authenticate'],
])('2: a revoked client (401 %s WWW-Authenticate) is looked up once more and fails, typed', async (_, header) => {
  const outcome = await runExport(workflow, { faults: [`token status=401 ${header} times=always`] });
  expectFailed(outcome, 'CredentialUnusable');
  expect(outcome.failure.happened).toContain('invalid_client');
  expect(outcome.calls).toHaveLength(1);
  expect(outcome.secrets.filter(({ secret }) => secret === CREDENTIAL)).toHaveLength(2);
});

it.each([
  1, 4,
])('2: a client that is revoked while an export of four windows runs, %i at a time, is asked for once more', async (max_parallel) => {
  expect((await runExport(workflow)).status).toBe('SUCCEEDED');
  const outcome = await runExport(workflow, {
    faults: ['token status=401 times=always', 'create status=401 times=always'],
    request: { start_date: '2026-01-01', end_date: '2026-06-01', max_parallel },
  });
  expectFailed(outcome, 'CredentialUnusable');
  expect(outcome.failure.windows_failed).toBe(4);
  expect(outcome.to('token').map(({ status }) => status)).toEqual([401]);
  // Who starts an export again asks the platform, whether the credential has changed or not.
  expect((await runExport(workflow)).status).toBe('SUCCEEDED');
});

it('2: a secret that an operator replaces while the old one is refused is used at once', async () => {
  const { journal } = workflow.sandbox;
  const before = journal.length;
  const outcome = await runExport(workflow, {
    faults: ['token status=401 trickle=30'],
    meanwhile: async () => {
      await vi.waitUntil(() => journal[before]?.endpoint === 'token', { timeout: 30_000 });
      await storeCredential(workflow, JSON.stringify({ client_id, client_secret, note: 'rotated' }));
    },
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.to('token').map(({ status }) => status)).toEqual([401, 200]);
});

it.each([
  ['answers 500', 'status=500'],
  ['answers 503', 'status=503'],
  ['answers 429', 'status=429'],
  ['resets the connection', 'reset=before'],
  ['loses its answer', 'reset=after'],
])('7: retries a token request when the endpoint %s, and fails after twelve requests', async (_, fault) => {
  const passing = await runExport(workflow, { faults: [`token ${fault} times=2`] });
  expect(passing.status).toBe('SUCCEEDED');
  expect(passing.to('token')).toHaveLength(3);
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [`token ${fault} times=always`] });
  expectFailed(outcome, 'PlatformUnavailable');
  expect(outcome.calls).toHaveLength(12);
});

it.each([
  ['HTML', 'body="<html>Bad gateway</html>"'],
  ['an empty body', 'body=""'],
  ['broken JSON', 'body="{\\"access_token\\":"'],
  ['no token', 'omit=access_token'],
  ['a token that no header can carry', 'set.access_token="a b"'],
  ['no type', 'omit=token_type'],
  ['another type', 'set.token_type=mac'],
  ['204 for 200', 'status=204'],
])('11: a token request answered with %s is tried again once', async (_, fault) => {
  expect((await runExport(workflow, { faults: [`token ${fault}`] })).status).toBe('SUCCEEDED');
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [`token ${fault} times=always`] });
  expectFailed(outcome, 'AnswerUnreadable');
  expect(outcome.calls).toHaveLength(2);
  expect(outcome.failure.request_ids).toEqual(['absent']);
});

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Here a minute takes 2 s, longer than a busy machine takes from one state to the next, and an hour 2 minutes. */
const slower = await shareWorkflow({
  speed: 30,
  sandbox: { tokenSeconds: 86_400, report: { secondsToProcessing: 0, secondsToReady: 0 } },
});

it.each([
  ['absent', 'omit=expires_in', HOUR],
  ['null', 'set.expires_in=null', HOUR],
  ['text', 'set.expires_in=soon', HOUR],
  ['a string', 'set.expires_in="7200"', 2 * HOUR],
  ['0', 'set.expires_in=0', MINUTE],
  ['5', 'set.expires_in=5', MINUTE],
  ['negative', 'set.expires_in=-1', MINUTE],
  ['huge', 'set.expires_in=1e12', 24 * HOUR],
])('34: expires_in that is %s is bounded, and asks for one token an export at most', async (_, fault, seconds) => {
  await forgetTokens(slower);
  const first = await runExport(slower, { faults: [`token ${fault} times=always`] });
  const second = await runExport(slower, { faults: [`token ${fault} times=always`] });
  expect([first.status, second.status]).toEqual(['SUCCEEDED', 'SUCCEEDED']);
  // An export looks for a token twice: before its windows, and in each.
  const most = seconds === MINUTE ? [2, 2] : [1, 0];
  const asked = [first, second].map((outcome) => outcome.to('token'));
  for (const [at, calls] of asked.entries()) expect(calls.length).toBeLessThanOrEqual(most[at] ?? 0);
  const [expiresAt] = /(?<="expires_at":")[^"]+/.exec(JSON.stringify(first.events)) ?? [];
  const lifetime = (Date.parse(expiresAt ?? '') - (asked[0]?.[0]?.at ?? 0)) / 1000;
  // The request was made before it arrived: how long before, a busy machine decides.
  expect(lifetime).toBeLessThanOrEqual(seconds);
  expect(lifetime).toBeGreaterThan(seconds - Math.min(15 * MINUTE, seconds));
});
