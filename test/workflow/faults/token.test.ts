import { beforeEach, describe, expect, it, vi } from 'vitest';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { commonWorkflow, expectFailed, gapsIn, runExport, shareWorkflow } from '../../support/run-export.ts';
import { startWorkflow } from '../../support/workflow.ts';
import { forgetTokens, secretId, storeCredential } from '../../support/workflow-secrets.ts';

// Faults of the token endpoint (contract 4.1, 7.3). Each export needs a new token.
const workflow = await commonWorkflow();

const { clientId: client_id, clientSecret: client_secret } = workflow.sandbox;

beforeEach(async () => {
  await storeCredential(workflow, JSON.stringify({ client_id, client_secret }));
  await forgetTokens(workflow);
});

/** Dates that are split into this many windows. Without a table: forty windows would write 1,800 days. */
function windows(count: number, max_parallel: number) {
  const start_date = '2023-01-01';
  return { start_date, end_date: addDays(start_date, 45 * count), max_parallel, table: false };
}

describe('a credential that the token endpoint refuses', () => {
  it.each([
    ['2', 'invalid_client with WWW-Authenticate', 'status=401 header.www-authenticate="Basic realm=x"'],
    ['2', 'invalid_client without WWW-Authenticate', 'status=401 without_header=www-authenticate'],
    ['3', 'invalid_grant', 'status=400 body={"error":"invalid_grant"} header.content-type=application/json'],
  ])('%s: with %s is read once more, and the export fails before its first window', async (number, _, fault) => {
    const outcome = await runExport(workflow, {
      faults: [`token ${fault} times=always`],
      request: windows(100, 40),
    });
    expectFailed(outcome, number === '2' ? 'CredentialUnusable' : 'LoginRequired');
    expect(outcome.failure.happened).toContain(number === '2' ? 'invalid_client' : 'login --account');
    expect(outcome.calls).toHaveLength(1);
    const credential = secretId(workflow, 'credential');
    expect(outcome.secrets.filter(({ secret }) => secret === credential)).toHaveLength(2);
    expect(outcome.events.filter(({ state }) => state === 'ExportWindows')).toEqual([]);
  });

  it.each([1, 4])('2: is not tried again by four windows, %i at a time', async (max_parallel) => {
    expect((await runExport(workflow)).status).toBe('SUCCEEDED');
    const outcome = await runExport(workflow, {
      faults: ['token status=401 times=always', 'create status=401 times=always'],
      request: windows(4, max_parallel),
    });
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.failure.windows_failed).toBe(4);
    expect(outcome.callsTo('token').map(({ status }) => status)).toEqual([401]);
    // A new export asks the platform again, even if the credential is unchanged.
    expect((await runExport(workflow)).status).toBe('SUCCEEDED');
  });

  it('2: is replaced at once if an operator stores another one meanwhile', async () => {
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
    expect(outcome.callsTo('token').map(({ status }) => status)).toEqual([401, 200]);
  });
});

it.each([
  ['answers 500', 'status=500'],
  ['answers 503', 'status=503'],
  ['answers 429', 'status=429'],
  ['resets the connection', 'reset=before'],
  ['loses its answer', 'reset=after'],
])('7: a token endpoint that %s is retried, and fails after twelve requests', async (_, fault) => {
  const passing = await runExport(workflow, { faults: [`token ${fault} times=2`] });
  expect(passing.status).toBe('SUCCEEDED');
  expect(passing.callsTo('token')).toHaveLength(3);
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
  ['204 instead of 200', 'status=204'],
])('11: a token request answered with %s is retried once', async (_, fault) => {
  expect((await runExport(workflow, { faults: [`token ${fault}`] })).status).toBe('SUCCEEDED');
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [`token ${fault} times=always`] });
  expectFailed(outcome, 'AnswerUnreadable');
  expect(outcome.calls).toHaveLength(2);
  expect(outcome.failure.request_ids).toEqual(['absent']);
});

describe('one token request', () => {
  /** Slow enough for fifty executions to wait in line for GetToken, which runs one at a time. */
  const startSlower = () =>
    startWorkflow({ speed: 25, sandbox: { tokenSeconds: 86_400, report: { secondsToReady: 30 } } });

  it('40: serves fifty executions that start at once', async () => {
    await using workflow = await startSlower();
    // A slow answer: every execution starts before there is a token.
    workflow.sandbox.faults.add('token trickle=5 times=always');
    const runs = Array.from({ length: 50 }, (_, n) =>
      workflow.run(workflow.request({ name: `at-once-${n}`, table: false })),
    );
    expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(runs.map(() => 'SUCCEEDED'));
    expect(workflow.sandbox.journal.filter(({ endpoint }) => endpoint === 'token')).toHaveLength(1);
  });

  it('1, 29: renews a token that is refused in forty windows at once', async () => {
    // A new workflow loads its functions while the windows start, which keeps the windows in step.
    await using workflow = await startSlower();
    const outcome = await runExport(workflow, {
      faults: ['create nth=40 revoke'],
      request: windows(40, 40),
    });
    expect(outcome.status).toBe('SUCCEEDED');
    const refused = outcome.events.filter(
      ({ type, error }) => type === 'StateFailed' && error === 'TokenRefused',
    );
    expect(new Set(refused.map(({ window }) => window)).size).toBeGreaterThan(30);
    expect(outcome.callsTo('token')).toHaveLength(2);
    expect(outcome.reports).toHaveLength(40);
    expect(gapsIn(outcome).length).toBeGreaterThanOrEqual(40);
  });
});

describe('expires_in', async () => {
  const MINUTE = 60;
  const HOUR = 60 * MINUTE;
  // A minute takes 2 s, longer than a busy machine needs from one state to the next.
  const slower = await shareWorkflow({ speed: 30 });

  it.each([
    ['absent', 'omit=expires_in', HOUR],
    ['null', 'set.expires_in=null', HOUR],
    ['a word', 'set.expires_in=soon', HOUR],
    ['a number in a string', 'set.expires_in="7200"', 2 * HOUR],
    ['0', 'set.expires_in=0', MINUTE],
    ['5', 'set.expires_in=5', MINUTE],
    ['negative', 'set.expires_in=-1', MINUTE],
    ['huge', 'set.expires_in=1e12', 24 * HOUR],
  ])('34: %s is bounded and never causes a loop of token requests', async (_, fault, seconds) => {
    await forgetTokens(slower);
    const first = await runExport(slower, { faults: [`token ${fault} times=always`] });
    const second = await runExport(slower, { faults: [`token ${fault} times=always`] });
    expect([first.status, second.status]).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    // An export looks for a token twice: before its windows, and in its window.
    const most = seconds === MINUTE ? [2, 2] : [1, 0];
    const asked = [first, second].map((outcome) => outcome.callsTo('token'));
    for (const [at, calls] of asked.entries()) expect(calls.length).toBeLessThanOrEqual(most[at] ?? 0);
    const [expiresAt] = /(?<="expires_at":")[^"]+/.exec(JSON.stringify(first.events)) ?? [];
    const lifetime = (Date.parse(expiresAt ?? '') - (asked[0]?.[0]?.at ?? 0)) / 1000;
    // The lifetime counts from before the request was sent, and a busy machine sends it late.
    expect(lifetime).toBeLessThanOrEqual(seconds);
    expect(lifetime).toBeGreaterThan(seconds - Math.min(15 * MINUTE, seconds));
  });
});
