import { beforeEach, describe, expect, it } from 'vitest';
import {
  expectFailed,
  gapsIn,
  keysOf,
  type Outcome,
  runExport,
  shareWorkflow,
} from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const THREE_WINDOWS = { end_date: '2027-01-20' };

const workflow = await shareWorkflow({ sandbox: { tokenSeconds: 86_400 } });
/** For what takes hours. */
const faster = await shareWorkflow({ speed: 1000, sandbox: { tokenSeconds: 86_400 } });

beforeEach(() => forgetTokens(workflow));

function stateErrors({ events }: Outcome): string[] {
  return events.filter(({ type }) => type === 'StateFailed').map(({ state, error }) => `${state} ${error}`);
}

describe('a token', () => {
  it('1: that expires during the wait is renewed, and the same report goes on (contract 7.2)', async () => {
    // The platform ends it after 60 s, whatever it said of its lifetime.
    const outcome = await runExport(workflow, {
      sandbox: { tokenSeconds: 60, report: { secondsToReady: 150 } },
      faults: ['token set.expires_in=3600 times=always'],
    });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.reports).toHaveLength(1);
    expect(stateErrors(outcome).filter((error) => error.endsWith('TokenRefused')).length).toBeGreaterThan(0);
    const refused = outcome.calls.filter(({ status }) => status === 401);
    expect(outcome.callsTo('token')).toHaveLength(1 + refused.length);
  });

  it('1: that is refused twice in a row ends the export, typed', async () => {
    const outcome = await runExport(workflow, { faults: ['report status=401 times=always'] });
    expectFailed(outcome, 'TokenRefusedAgain');
    expect(outcome.callsTo('token')).toHaveLength(2);
    expect(outcome.callsTo('report')).toHaveLength(2);
  });
});

describe('an export that cannot succeed', () => {
  it('5: ends with a failure that names the fault and the request_id: the same in Cause and event (contract 7.1)', async () => {
    const request = { name: 'refused', metrics: ['no_such_metric'] };
    const outcome = await runExport(workflow, { request });
    expectFailed(outcome, 'RequestRefused');
    const { failure, announced } = outcome;
    expect(failure).toMatchObject({ version: '1', account: 'sandbox', export: 'refused', windows_failed: 1 });
    expect(failure.request_ids).toEqual([outcome.callsTo('create')[0]?.requestId]);
    expect(failure.faults?.join()).toContain('no_such_metric');
    expect(announced).toMatchObject([{ 'detail-type': 'Report Export Failed', detail: failure }]);
    expect(await keysOf(workflow, 'refused')).toEqual([expect.stringMatching(/_failure\.json$/)]);
  });

  it('does not stop the windows that can', async () => {
    const request = workflow.request({ name: 'two-of-three', ...THREE_WINDOWS, max_parallel: 1 });
    workflow.sandbox.faults.add('create nth=2 status=403');
    const { status, cause } = await workflow.run(request);
    expect(status).toBe('FAILED');
    expect(JSON.parse(cause ?? '')).toMatchObject({
      error: 'RequestRefused',
      windows_delivered: 2,
      windows_failed: 1,
    });
    const keys = await keysOf(workflow, 'two-of-three');
    expect(keys.filter((key) => !key.endsWith('_failure.json'))).toHaveLength(4);
  });

  it('7: ends in bounded time where the platform answers 500 for ever (contract 7.2)', async () => {
    const outcome = await runExport(faster, { faults: ['report status=500 times=always'] });
    expectFailed(outcome, 'PlatformUnavailable');
    expect(outcome.failure.request_ids).toEqual([outcome.callsTo('report').at(-1)?.requestId]);
    expect(gapsIn(outcome).length).toBeGreaterThan(1);
  });

  it('12: ends after three reports where none is ever READY (contract 3)', async () => {
    const outcome = await runExport(faster, { sandbox: { report: { secondsToReady: 1e9 } } });
    expectFailed(outcome, 'ReportStuck');
    const ids = outcome.reports.map(({ id }) => id);
    expect(ids).toHaveLength(3);
    expect(outcome.failure.report_ids).toEqual(ids);
  });

  it('36: is refused before any request where its input is faulty', async () => {
    const request = { end_date: '2026-09-01', metrics: [], dimensions: ['conv_integration_os'] };
    const outcome = await runExport(workflow, { request });
    expectFailed(outcome, 'InvalidInput');
    expect(outcome.failure.faults).toHaveLength(3);
    expect(outcome.calls).toEqual([]);
  });

  it('36: has a failure that can be read, however long the names are that were refused', async () => {
    const outcome = await runExport(workflow, { request: { name: 'x'.repeat(100_000) } });
    expectFailed(outcome, 'InvalidInput');
    expect(outcome.failure).toMatchObject({ account: 'sandbox', export: 'x'.repeat(64) });
    expect(outcome.cause?.length).toBeLessThan(32_768);
  });

  it('names an answer to several windows once', async () => {
    const quoted = 'create times=always status=422 header.x-request-id=req_1 body={}';
    const { failure } = await runExport(workflow, { faults: [quoted], request: THREE_WINDOWS });
    expect(failure).toMatchObject({ windows_failed: 3, request_ids: ['req_1'] });
  });

  it('is refused before any request where nobody has stored a credential for its account', async () => {
    const outcome = await runExport(workflow, { request: { account: 'elsewhere' } });
    expectFailed(outcome, 'InvalidInput');
    expect(outcome.calls).toEqual([]);
  });
});
