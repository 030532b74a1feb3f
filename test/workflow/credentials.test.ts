import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../infra/local/sandbox/settings.ts';
import { callsTo } from '../support/journal.ts';
import { CONSENTED, logIn, storeCredential, storedCredential } from '../support/log-in.ts';
import { expectNoSecretWritten } from '../support/secrecy.ts';
import { startWorkflow, type Workflow, type WorkflowOptions } from '../support/workflow.ts';

function grantsOf({ sandbox }: Workflow): (string | null)[] {
  return callsTo(sandbox, 'token').map(({ body }) => new URLSearchParams(body).get('grant_type'));
}

async function startLoggedIn(sandbox: SandboxOptions = {}, options: WorkflowOptions = {}) {
  const workflow = await startWorkflow({ ...options, sandbox: { ...sandbox, credentials: [CONSENTED] } });
  await storeCredential(workflow, await logIn(workflow));
  return workflow;
}

describe('4.1: a refresh token', () => {
  it.each([
    true,
    false,
  ])('lasts for 3 windows that take longer than a token lives, on one login (rotated: %s)', async (rotateRefreshTokens) => {
    await using workflow = await startLoggedIn({
      ...{ rotateRefreshTokens, tokenSeconds: 100, report: { secondsToReady: 90 } },
    });
    const first = (await storedCredential(workflow)).refresh_token;
    const range = { start_date: '2026-01-01', end_date: '2026-05-01', max_parallel: 1 };
    const ended = await workflow.run(workflow.request(range));
    expect(ended.status).toBe('SUCCEEDED');
    expect(workflow.sandbox.reports()).toHaveLength(3);
    const [login, ...refreshes] = grantsOf(workflow);
    expect(login).toBe('authorization_code');
    expect(new Set(refreshes)).toEqual(new Set(['refresh_token']));
    expect(refreshes.length).toBeGreaterThanOrEqual(2);
    expect((await storedCredential(workflow)).refresh_token !== first).toBe(rotateRefreshTokens);
    await expectNoSecretWritten(workflow);
  });

  it('is asked for with the parameters that the config sets, since the contract shows none', async () => {
    await using workflow = await startLoggedIn({}, { config: { refresh_parameters: { audience: 'ads' } } });
    expect((await workflow.run()).status).toBe('SUCCEEDED');
    const form = new URLSearchParams(callsTo(workflow.sandbox, 'token').at(-1)?.body);
    expect([...form.keys()].sort()).toEqual(['audience', 'grant_type', 'refresh_token']);
  });

  it('3: that is dead ends in a failure that says to log in again, with the command', async () => {
    await using workflow = await startLoggedIn();
    await storeCredential(
      workflow,
      JSON.stringify({ ...(await storedCredential(workflow)), refresh_token: 'sbx_rt_dead' }),
    );
    const ended = await workflow.run();
    expect(ended).toMatchObject({ status: 'FAILED', error: 'LoginRequired' });
    expect(JSON.parse(ended.cause ?? '').happened).toContain('npm run export -- login --account sandbox');
    await expectNoSecretWritten(workflow);
  });

  it('that was rotated is stored although Secrets Manager throttles that write', async () => {
    await using workflow = await startLoggedIn({ rotateRefreshTokens: true });
    const secret = 'ad-report-export/sandbox/credential';
    workflow.secrets.faults.push({
      ...{ operation: 'PutSecretValue', secret, answer: 'ThrottlingException', times: 2 },
    });
    expect((await workflow.run()).status).toBe('SUCCEEDED');
    expect(grantsOf(workflow)).toEqual(['authorization_code', 'refresh_token']);
  });
});

describe('2: a revoked client', () => {
  it('is asked for a token once where its secret has not changed', async () => {
    await using workflow = await startWorkflow({ sandbox: { faults: ['token status=401 times=always'] } });
    expect((await workflow.run()).error).toBe('CredentialUnusable');
    expect(callsTo(workflow.sandbox, 'token')).toHaveLength(1);
  });
});

describe('5.7: an API key', () => {
  const KEY = 'sbx_ak_test';
  const startWithKey = (now: string, sandbox: SandboxOptions = {}) =>
    startWorkflow({
      ...{ now, sandbox: { ...sandbox, credentials: [{ apiKey: KEY }] } },
      credentials: { sandbox: JSON.stringify({ api_key: KEY }) },
    });

  it.each([
    ['2026-11-21T06:00:00Z', 41],
    ['2026-12-31T06:00:00Z', 1],
  ])('39: exports at %s, and warns in result, log and metric that %i days are left (contract 9.6)', async (now, days) => {
    await using workflow = await startWithKey(now);
    const ended = await workflow.run();
    expect(ended).toMatchObject({
      status: 'SUCCEEDED',
      output: { warnings: [expect.stringMatching(`disables on 2027-01-01: ${days} day`)] },
    });
    expect(callsTo(workflow.sandbox, 'token')).toEqual([]);
    const logged = JSON.stringify(workflow.logs);
    expect(logged).toContain('disables on 2027-01-01');
    expect(logged).toContain('AdReportExport');
    expect(logged).toMatch(new RegExp(`ApiKeyDaysLeft[^\\d]+${days}\\b`));
    await expectNoSecretWritten(workflow);
  });

  it('39: is refused from 2027-01-01 on, before any request (contract 9.6)', async () => {
    await using workflow = await startWithKey('2027-01-01T00:00:10Z');
    const ended = await workflow.run();
    expect(ended.error).toBe('CredentialUnusable');
    expect(JSON.parse(ended.cause ?? '').happened).toContain('Store {"client_id","client_secret"}');
    expect(workflow.sandbox.journal).toEqual([]);
    await expectNoSecretWritten(workflow);
  });

  it('is refused for a list, before any request', async () => {
    await using workflow = await startWithKey('2026-11-21T06:00:00Z');
    const list = { name: 'list', account: 'sandbox', kind: 'list', resource: 'campaigns' };
    expect((await workflow.run(list)).error).toBe('CredentialUnusable');
    expect(workflow.sandbox.journal).toEqual([]);
  });

  it('that the platform refuses fails at once', async () => {
    await using workflow = await startWithKey('2026-11-21T06:00:00Z', { faults: ['create status=401'] });
    expect((await workflow.run()).error).toBe('CredentialUnusable');
    expect(workflow.sandbox.journal).toHaveLength(1);
  });
});
