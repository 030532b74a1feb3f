import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { expectFailed, type Outcome, runExport, shareWorkflow } from '../support/run-export.ts';
import { expectNoSecretWritten } from '../support/secrecy.ts';
import { startWorkflow, type Workflow } from '../support/workflow.ts';
import {
  CONSENTED,
  forgetTokens,
  logIn,
  storeCredential,
  storedCredential,
} from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow({
  sandbox: { credentials: [CONSENTED], tokenSeconds: 86_400 },
  settings: { REFRESH_PARAMETERS: JSON.stringify({ audience: 'ads' }) },
});
const CLIENT = JSON.stringify(await storedCredential(workflow));

function formsOf(outcome: Outcome): URLSearchParams[] {
  return outcome.callsTo('token').map(({ body }) => new URLSearchParams(body));
}

function grantsOf(outcome: Outcome): (string | null)[] {
  return formsOf(outcome).map((form) => form.get('grant_type'));
}

beforeEach(() => forgetTokens(workflow));

describe('4.1: a refresh token', () => {
  beforeEach(async () => storeCredential(workflow, await logIn(workflow)));

  it.each([
    true,
    false,
  ])('lasts for 3 windows that take longer than a token lives, on one login (rotated: %s)', async (rotateRefreshTokens) => {
    const first = (await storedCredential(workflow)).refresh_token;
    const outcome = await runExport(workflow, {
      sandbox: { rotateRefreshTokens, tokenSeconds: 100, report: { secondsToReady: 90 } },
      request: { start_date: '2026-01-01', end_date: '2026-05-01', max_parallel: 1 },
    });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.reports).toHaveLength(3);
    expect(new Set(grantsOf(outcome))).toEqual(new Set(['refresh_token']));
    expect(grantsOf(outcome).length).toBeGreaterThanOrEqual(2);
    expect((await storedCredential(workflow)).refresh_token !== first).toBe(rotateRefreshTokens);
  });

  it('is asked for with the parameters that the config sets, since the contract shows none', async () => {
    const [form, ...others] = formsOf(await runExport(workflow));
    expect([...(form?.keys() ?? [])].sort()).toEqual(['audience', 'grant_type', 'refresh_token']);
    expect(others).toEqual([]);
  });

  it('3: that is dead ends in a failure that says to log in again, with the command', async () => {
    const stored = await storedCredential(workflow);
    await storeCredential(workflow, JSON.stringify({ ...stored, refresh_token: 'sbx_rt_dead' }));
    const outcome = await runExport(workflow);
    expectFailed(outcome, 'LoginRequired');
    expect(outcome.failure.happened).toContain('npm run export -- login --account sandbox');
  });

  it('that was rotated is stored although Secrets Manager throttles that write', async () => {
    const secret = 'ad-report-export/sandbox/credential';
    const throttled = {
      operation: 'PutSecretValue',
      secret,
      answer: 'ThrottlingException',
      times: 2,
    } as const;
    const outcome = await runExport(workflow, {
      sandbox: { rotateRefreshTokens: true },
      secrets: [throttled],
    });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(grantsOf(outcome)).toEqual(['refresh_token']);
    const writes = outcome.secrets.filter(
      ({ operation, secret: name }) => operation === 'PutSecretValue' && name === secret,
    );
    expect(writes).toHaveLength(3);
  });
});

describe('2: a revoked client', () => {
  it('is asked for a token once where its secret has not changed', async () => {
    await storeCredential(workflow, CLIENT);
    const outcome = await runExport(workflow, { faults: ['token status=401 times=always'] });
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.callsTo('token')).toHaveLength(1);
  });
});

describe('5.7: an API key', () => {
  const KEY = 'sbx_ak_test';
  const started = new Map<string, Promise<Workflow>>();
  const startWithKey = (now: string) =>
    startWorkflow({
      ...{ now, sandbox: { credentials: [{ apiKey: KEY }] } },
      credentials: { sandbox: JSON.stringify({ api_key: KEY }) },
    });
  /** A workflow in which it is this moment, or a little later. */
  const at = (now: string): Promise<Workflow> => {
    const workflow = started.get(now) ?? startWithKey(now);
    started.set(now, workflow);
    return workflow;
  };
  afterAll(async () => {
    for (const workflow of started.values()) await (await workflow).close();
  });

  it.each([
    ['2026-11-21T06:00:00Z', 41],
    ['2026-12-31T06:00:00Z', 1],
  ])('39: exports at %s, and warns in result, log and metric that %i days are left (contract 9.6)', async (now, days) => {
    const workflow = await at(now);
    const outcome = await runExport(workflow);
    expect(outcome).toMatchObject({
      status: 'SUCCEEDED',
      output: { warnings: [expect.stringMatching(`disables on 2027-01-01: ${days} day`)] },
    });
    expect(outcome.callsTo('token')).toEqual([]);
    const logged = JSON.stringify(outcome.logged);
    expect(logged).toContain('disables on 2027-01-01');
    expect(logged).toContain('AdReportExport');
    expect(logged).toMatch(new RegExp(`ApiKeyDaysLeft[^\\d]+${days}\\b`));
    await expectNoSecretWritten(workflow);
  });

  it('39: is refused from 2027-01-01 on, before any request (contract 9.6)', async () => {
    const workflow = await at('2027-01-01T00:00:10Z');
    const outcome = await runExport(workflow);
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.failure.happened).toContain('Store {"client_id","client_secret"}');
    expect(outcome.calls).toEqual([]);
    await expectNoSecretWritten(workflow);
  });

  it('is refused for a list, before any request', async () => {
    const notAReports = {
      start_date: undefined,
      end_date: undefined,
      advertiser_ids: undefined,
      metrics: undefined,
    };
    const outcome = await runExport(await at('2026-11-21T06:00:00Z'), {
      request: { ...notAReports, kind: 'list', resource: 'campaigns' },
    });
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.calls).toEqual([]);
  });

  it('that the platform refuses fails at once', async () => {
    const outcome = await runExport(await at('2026-11-21T06:00:00Z'), { faults: ['create status=401'] });
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.calls).toHaveLength(1);
  });
});
