import { describe, expect, it } from 'vitest';
import { callsTo, gaps } from '../support/journal.ts';
import { type Ended, startWorkflow } from '../support/workflow.ts';

function stateErrors({ events }: Ended): string[] {
  return events.filter(({ type }) => type === 'StateFailed').map(({ state, error }) => `${state} ${error}`);
}

describe('a token', () => {
  it('1: that expires during the wait is renewed, and the same report goes on (contract 7.2)', async () => {
    // The platform ends it after 60 s, whatever it said of its lifetime.
    await using workflow = await startWorkflow({
      sandbox: {
        tokenSeconds: 60,
        report: { secondsToReady: 150 },
        faults: ['token set.expires_in=3600 times=always'],
      },
    });
    const ended = await workflow.run();
    expect(ended.status).toBe('SUCCEEDED');
    expect(workflow.sandbox.reports()).toHaveLength(1);
    expect(stateErrors(ended).filter((error) => error.endsWith('TokenRefused')).length).toBeGreaterThan(0);
    const refused = workflow.sandbox.journal.filter(({ status }) => status === 401);
    expect(callsTo(workflow.sandbox, 'token')).toHaveLength(1 + refused.length);
    expect(Math.min(...gaps(workflow.sandbox))).toBeGreaterThanOrEqual(10);
  });

  it('1: that is refused twice in a row ends the export, typed', async () => {
    await using workflow = await startWorkflow({ sandbox: { faults: ['report status=401 times=always'] } });
    const { status, error } = await workflow.run();
    expect({ status, error }).toEqual({ status: 'FAILED', error: 'TokenRefusedAgain' });
    expect(callsTo(workflow.sandbox, 'token')).toHaveLength(2);
    expect(callsTo(workflow.sandbox, 'report')).toHaveLength(2);
  });
});

describe('an export that cannot succeed', () => {
  it('5: ends with a card that names the fault and the request_id: the same in Cause and event (contract 7.1)', async () => {
    await using workflow = await startWorkflow();
    const { status, error, cause } = await workflow.run(workflow.request({ metrics: ['no_such_metric'] }));
    expect({ status, error }).toEqual({ status: 'FAILED', error: 'RequestRefused' });
    const card = JSON.parse(cause ?? '');
    const refused = callsTo(workflow.sandbox, 'create')[0];
    expect(card).toMatchObject({
      version: '1',
      account: 'sandbox',
      export: 'daily-campaigns',
      windows_failed: 1,
    });
    expect(card.request_ids).toEqual([refused?.requestId]);
    expect(card.faults.join()).toContain('no_such_metric');
    expect(workflow.bus.events).toMatchObject([{ 'detail-type': 'Report Export Failed', detail: card }]);
    expect(await workflow.keys()).toEqual([expect.stringMatching(/_failure\.json$/)]);
  });

  it('does not stop the windows that can', async () => {
    await using workflow = await startWorkflow({ sandbox: { faults: ['create nth=2 status=403'] } });
    const { status, cause } = await workflow.run(
      workflow.request({ end_date: '2027-01-20', max_parallel: 1 }),
    );
    expect(status).toBe('FAILED');
    expect(JSON.parse(cause ?? '')).toMatchObject({
      error: 'RequestRefused',
      windows_delivered: 2,
      windows_failed: 1,
    });
    const delivered = (await workflow.keys()).filter((key) => !key.endsWith('_failure.json'));
    expect(delivered).toHaveLength(4);
  });

  it('7: ends in bounded time where the platform answers 500 for ever (contract 7.2)', async () => {
    await using workflow = await startWorkflow({
      speed: 1000,
      sandbox: { faults: ['report status=500 times=always'] },
    });
    const { status, error, cause } = await workflow.run();
    expect({ status, error }).toEqual({ status: 'FAILED', error: 'PlatformUnavailable' });
    const last = callsTo(workflow.sandbox, 'report').at(-1);
    expect(JSON.parse(cause ?? '').request_ids).toEqual([last?.requestId]);
    expect(Math.min(...gaps(workflow.sandbox))).toBeGreaterThanOrEqual(10);
  });

  it('12: ends after three reports where none is ever READY (contract 3)', async () => {
    await using workflow = await startWorkflow({ speed: 1000, sandbox: { report: { secondsToReady: 1e9 } } });
    const { status, error, cause } = await workflow.run();
    expect({ status, error }).toEqual({ status: 'FAILED', error: 'ReportStuck' });
    const ids = workflow.sandbox.reports().map(({ id }) => id);
    expect(ids).toHaveLength(3);
    expect(JSON.parse(cause ?? '').report_ids).toEqual(ids);
  });

  it('36: is refused before any request where its input is faulty', async () => {
    await using workflow = await startWorkflow();
    const { status, error, cause } = await workflow.run(
      workflow.request({ end_date: '2026-09-01', metrics: [], dimensions: ['conv_integration_os'] }),
    );
    expect({ status, error }).toEqual({ status: 'FAILED', error: 'InvalidInput' });
    expect(JSON.parse(cause ?? '').faults).toHaveLength(3);
    expect(workflow.sandbox.journal).toEqual([]);
    expect(workflow.bus.events).toHaveLength(1);
  });

  it('36: has a card that can be read, however long the names are that were refused', async () => {
    await using workflow = await startWorkflow();
    const { error, cause } = await workflow.run(workflow.request({ name: 'x'.repeat(100_000) }));
    expect(error).toBe('InvalidInput');
    expect(JSON.parse(cause ?? '')).toMatchObject({ account: 'sandbox', export: 'x'.repeat(64) });
    expect(cause?.length).toBeLessThan(32_768);
  });

  it('names an answer to several windows once', async () => {
    const quoted = 'create times=always status=422 header.x-request-id=req_1 body={}';
    await using workflow = await startWorkflow({ sandbox: { faults: [quoted] } });
    const { cause } = await workflow.run(workflow.request({ end_date: '2027-01-20' }));
    expect(JSON.parse(cause ?? '')).toMatchObject({ windows_failed: 3, request_ids: ['req_1'] });
  });

  it('is refused before any request where nobody has stored a credential for its account', async () => {
    await using workflow = await startWorkflow();
    const { error } = await workflow.run(workflow.request({ account: 'elsewhere' }));
    expect(error).toBe('InvalidInput');
    expect(workflow.sandbox.journal).toEqual([]);
  });
});
