import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { forgetTokens, gapsIn, keysOf, shareWorkflow, sinceNow } from '../support/bad-day.ts';
import { follow } from '../support/workflow.ts';

// A token has ended long before the execution is redriven.
const workflow = await shareWorkflow({ sandbox: { tokenSeconds: 40 } });

beforeEach(() => forgetTokens(workflow));

/** A request for three windows, one at a time. */
function threeWindows(name: string) {
  return workflow.request({ name, end_date: '2027-01-20', max_parallel: 1 });
}

function plant(fault: string): void {
  workflow.sandbox.faults.add(fault);
  onTestFinished(() => workflow.sandbox.faults.clear());
}

async function abortAt(request: unknown, state: string, window: number): Promise<string> {
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
    plant('create nth=2 status=403');
    const since = sinceNow(workflow);
    const first = await workflow.run(threeWindows('failed'));
    expect([first.status, first.error]).toEqual(['FAILED', 'RequestRefused']);
    expect(JSON.parse(first.cause ?? '')).toMatchObject({ windows_delivered: 2, windows_failed: 1 });
    const before = since();

    const again = await follow(workflow.redrive(first.name));
    expect(again.status).toBe('SUCCEEDED');
    expect(since().reports).toHaveLength(before.reports.length + 1);
    expect(since().to('token').length).toBeGreaterThan(before.to('token').length);
    const keys = await keysOf(workflow, 'failed');
    expect(keys.filter((key) => key.endsWith('_manifest.json'))).toHaveLength(3);
    expect(since().announced.map((event) => event['detail-type'])).toEqual([
      'Report Export Failed',
      'Report Exported',
    ]);
  });

  it('30: of one that was to refresh what an earlier one had delivered exports all of it', async () => {
    const since = sinceNow(workflow);
    await workflow.run(threeWindows('refreshed'));
    await forgetTokens(workflow);
    plant('token status=401');
    const { name, error } = await workflow.run(threeWindows('refreshed'));
    expect(error).toBe('CredentialUnusable');
    const again = await follow(workflow.redrive(name));
    expect(again.output).toMatchObject({ already_delivered: 0, windows: [{}, {}, {}] });
    expect(since().reports).toHaveLength(6);
  });

  it('30: fails with a card again where nothing has changed, as often as it is redriven', async () => {
    plant('create status=403 times=always');
    const since = sinceNow(workflow);
    const { name } = await workflow.run();
    for (const creates of [2, 3]) {
      const again = await follow(workflow.redrive(name));
      expect([again.status, again.error]).toEqual(['FAILED', 'RequestRefused']);
      expect(JSON.parse(again.cause ?? '').execution).toBe(name);
      expect(since().to('create')).toHaveLength(creates);
    }
  });

  it('30: of one that was aborted in the middle of a window goes on with its report, after its token has ended', async () => {
    workflow.sandbox.options.report = { secondsToReady: 60 };
    onTestFinished(() => void delete workflow.sandbox.options.report);
    const since = sinceNow(workflow);
    const name = await abortAt(threeWindows('aborted'), 'CheckReport', 1);
    const created = since().reports.map(({ id }) => id);
    expect(created).toHaveLength(2);
    const until = workflow.clock.now() + 60_000;
    await expect.poll(() => workflow.clock.now(), { interval: 50 }).toBeGreaterThan(until);

    const again = await follow(workflow.redrive(name));
    expect(again.status).toBe('SUCCEEDED');
    const reports = since().reports.map(({ id }) => id);
    expect(reports).toHaveLength(3);
    expect(reports.slice(0, 2)).toEqual(created);
    const caught = again.events.filter(({ type, window }) => type === 'StateCaught' && window === 1);
    expect(caught.length).toBeGreaterThan(0);
    const keys = await keysOf(workflow, 'aborted');
    expect(keys.filter((key) => key.endsWith('report.json'))).toHaveLength(3);
    expect(Math.min(...gapsIn(since()))).toBeGreaterThanOrEqual(10);
  });
});
