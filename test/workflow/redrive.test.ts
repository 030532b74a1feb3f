import { describe, expect, it } from 'vitest';
import { callsTo, gaps } from '../support/journal.ts';
import { follow, startWorkflow, type Workflow } from '../support/workflow.ts';

/** A request for three windows, one at a time. */
function threeWindows(workflow: Workflow) {
  return workflow.request({ end_date: '2027-01-20', max_parallel: 1 });
}

async function abortAt(workflow: Workflow, request: unknown, state: string, window: number): Promise<string> {
  const execution = workflow.export(request);
  for await (const event of execution.events) {
    if (event.type === 'StateEntered' && event.state === state && event.window === window) break;
  }
  execution.abort();
  expect((await execution.result).status).toBe('ABORTED');
  return execution.name;
}

describe('30: a redrive', () => {
  it('30: of an execution that failed exports what is missing, with a fresh token', async () => {
    await using workflow = await startWorkflow({
      sandbox: { faults: ['create nth=2 status=403'], tokenSeconds: 40 },
    });
    const first = await workflow.run(threeWindows(workflow));
    expect([first.status, first.error]).toEqual(['FAILED', 'RequestRefused']);
    expect(JSON.parse(first.cause ?? '')).toMatchObject({ windows_delivered: 2, windows_failed: 1 });
    const before = {
      created: workflow.sandbox.reports().length,
      tokens: callsTo(workflow.sandbox, 'token').length,
    };

    const again = await follow(workflow.redrive(first.name));
    expect(again.status).toBe('SUCCEEDED');
    expect(workflow.sandbox.reports()).toHaveLength(before.created + 1);
    expect(callsTo(workflow.sandbox, 'token').length).toBeGreaterThan(before.tokens);
    expect((await workflow.keys()).filter((key) => key.endsWith('_manifest.json'))).toHaveLength(3);
    expect(workflow.bus.events.map((event) => event['detail-type'])).toEqual([
      'Report Export Failed',
      'Report Exported',
    ]);
  });

  it('30: of one that was to refresh what an earlier one had delivered exports all of it', async () => {
    await using workflow = await startWorkflow({ sandbox: { tokenSeconds: 40 } });
    await workflow.run(threeWindows(workflow));
    workflow.sandbox.faults.add('token status=401');
    const { name, error } = await workflow.run(threeWindows(workflow));
    expect(error).toBe('CredentialUnusable');
    const again = await follow(workflow.redrive(name));
    expect(again.output).toMatchObject({ already_delivered: 0, windows: [{}, {}, {}] });
    expect(workflow.sandbox.reports()).toHaveLength(6);
  });

  it('30: fails with a card again where nothing has changed, as often as it is redriven', async () => {
    await using workflow = await startWorkflow({ sandbox: { faults: ['create status=403 times=always'] } });
    const { name } = await workflow.run();
    for (const creates of [2, 3]) {
      const again = await follow(workflow.redrive(name));
      expect([again.status, again.error]).toEqual(['FAILED', 'RequestRefused']);
      expect(JSON.parse(again.cause ?? '').execution).toBe(name);
      expect(callsTo(workflow.sandbox, 'create')).toHaveLength(creates);
    }
  });

  it('30: of one that was aborted in the middle of a window goes on with its report, after its token has ended', async () => {
    await using workflow = await startWorkflow({
      sandbox: { tokenSeconds: 40, report: { secondsToReady: 60 } },
    });
    const name = await abortAt(workflow, threeWindows(workflow), 'CheckReport', 1);
    const created = workflow.sandbox.reports().map(({ id }) => id);
    expect(created).toHaveLength(2);
    const until = workflow.clock.now() + 60_000;
    await expect.poll(() => workflow.clock.now(), { interval: 50 }).toBeGreaterThan(until);

    const again = await follow(workflow.redrive(name));
    expect(again.status).toBe('SUCCEEDED');
    const reports = workflow.sandbox.reports().map(({ id }) => id);
    expect(reports).toHaveLength(3);
    expect(reports.slice(0, 2)).toEqual(created);
    const caught = again.events.filter(({ type, window }) => type === 'StateCaught' && window === 1);
    expect(caught.length).toBeGreaterThan(0);
    expect((await workflow.keys()).filter((key) => key.endsWith('report.json'))).toHaveLength(3);
    expect(Math.min(...gaps(workflow.sandbox))).toBeGreaterThanOrEqual(10);
  });
});
