import { beforeEach, describe, expect, it } from 'vitest';
import {
  expectFailed,
  type Outcome,
  runExport,
  shareWorkflow,
  startFastWorkflow,
} from '../support/run-export.ts';
import { expectNoSecretWritten } from '../support/secrecy.ts';
import {
  CONSENTED,
  forgetTokens,
  logIn,
  secretId,
  storeCredential,
  storedCredential,
} from '../support/workflow-secrets.ts';

// Slow enough for a token that lives 60 s to be used before it ends.
const workflow = await shareWorkflow({
  speed: 100,
  sandbox: { credentials: [CONSENTED], tokenSeconds: 86_400 },
  settings: { REFRESH_PARAMETERS: JSON.stringify({ audience: 'ads' }) },
});

function formsOf(outcome: Outcome): URLSearchParams[] {
  return outcome.callsTo('token').map(({ body }) => new URLSearchParams(body));
}

function grantsOf(outcome: Outcome): (string | null)[] {
  return formsOf(outcome).map((form) => form.get('grant_type'));
}

const CLIENT = JSON.stringify(await storedCredential(workflow));

beforeEach(async () => {
  await storeCredential(workflow, CLIENT);
  await forgetTokens(workflow);
});

describe('client credentials', () => {
  it('1: renew a token that ends while the report is waited for, and keep the report (contract 7.2)', async () => {
    // The platform ends the token after 60 s, although it announced an hour.
    const outcome = await runExport(workflow, {
      sandbox: { tokenSeconds: 60, report: { secondsToReady: 150 } },
      faults: ['token set.expires_in=3600 times=always'],
    });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.reports).toHaveLength(1);
    const refused = outcome.calls.filter(({ status }) => status === 401);
    expect(refused.length).toBeGreaterThan(0);
    expect(outcome.callsTo('token')).toHaveLength(1 + refused.length);
  });
});

describe('4.1: a refresh token', () => {
  beforeEach(async () => storeCredential(workflow, await logIn(workflow)));

  it.each([
    true,
    false,
  ])('serves 3 windows that outlast a token (rotated: %s)', async (rotateRefreshTokens) => {
    const first = (await storedCredential(workflow)).refresh_token;
    const outcome = await runExport(workflow, {
      sandbox: { rotateRefreshTokens, tokenSeconds: 100, report: { secondsToReady: 90 } },
      request: { start_date: '2026-01-01', end_date: '2026-04-02', max_parallel: 1, table: false },
    });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.reports).toHaveLength(3);
    expect(new Set(grantsOf(outcome))).toEqual(new Set(['refresh_token']));
    expect(grantsOf(outcome).length).toBeGreaterThanOrEqual(2);
    expect((await storedCredential(workflow)).refresh_token !== first).toBe(rotateRefreshTokens);
  });

  it('is sent with the parameters that the config sets, because the contract shows none', async () => {
    const [form, ...others] = formsOf(await runExport(workflow));
    expect([...(form?.keys() ?? [])].sort()).toEqual(['audience', 'grant_type', 'refresh_token']);
    expect(others).toEqual([]);
  });

  it('3: that is dead fails the export and names the command to sign in', async () => {
    const stored = await storedCredential(workflow);
    await storeCredential(workflow, JSON.stringify({ ...stored, refresh_token: 'sbx_rt_dead' }));
    const outcome = await runExport(workflow);
    expectFailed(outcome, 'LoginRequired');
    expect(outcome.failure.happened).toContain('npm run export -- login --account sandbox');
  });

  it('that was rotated is stored although Secrets Manager throttles the write', async () => {
    const write = { operation: 'PutSecretValue', secret: secretId(workflow, 'credential') } as const;
    const outcome = await runExport(workflow, {
      sandbox: { rotateRefreshTokens: true },
      secrets: [{ ...write, answer: 'ThrottlingException', times: 2 }],
    });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(grantsOf(outcome)).toEqual(['refresh_token']);
    const writes = outcome.secrets.filter(
      ({ operation, secret }) => operation === write.operation && secret === write.secret,
    );
    expect(writes).toHaveLength(3);
  });
});

describe('5.7: an API key', () => {
  const KEY = 'sbx_ak_test';
  const startWithKey = (now: string) =>
    startFastWorkflow({
      ...{ now, sandbox: { credentials: [{ apiKey: KEY }] } },
      credentials: { sandbox: JSON.stringify({ api_key: KEY }) },
    });

  it.each([
    ['2026-11-21T06:00:00Z', 41],
    ['2026-12-31T06:00:00Z', 1],
  ])('39: exports at %s and warns in result, log and metric of %i days left (contract 9.6)', async (now, days) => {
    await using workflow = await startWithKey(now);
    const outcome = await runExport(workflow);
    expect(outcome).toMatchObject({
      status: 'SUCCEEDED',
      output: { warnings: [expect.stringMatching(`disables on 2027-01-01: ${days} day`)] },
    });
    expect(outcome.callsTo('token')).toEqual([]);
    const logged = JSON.stringify(outcome.logged);
    expect(logged).toContain('disables on 2027-01-01');
    expect(logged).toMatch(new RegExp(`ApiKeyDaysLeft[^\\d]+${days}\\b`));
    await expectNoSecretWritten(workflow);
  });

  it('39: is refused from 2027-01-01 on before any call (contract 9.6)', async () => {
    await using workflow = await startWithKey('2027-01-01T00:00:10Z');
    const outcome = await runExport(workflow);
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.failure.happened).toContain('Store {"client_id","client_secret"}');
    expect(outcome.calls).toEqual([]);
    await expectNoSecretWritten(workflow);
  });

  it('is refused at once for a list, and when the platform refuses it', async () => {
    await using workflow = await startWithKey('2026-11-21T06:00:00Z');
    const listed = await runExport(workflow, { request: { kind: 'list' } });
    expectFailed(listed, 'CredentialUnusable');
    expect(listed.calls).toEqual([]);
    const refused = await runExport(workflow, { faults: ['create status=401'] });
    expectFailed(refused, 'CredentialUnusable');
    expect(refused.calls).toHaveLength(1);
  });
});
