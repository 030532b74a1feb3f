import { describe, expect, it } from 'vitest';
import type { Fault } from '../../support/faulty-services.ts';
import { keysOf, runExport, shareWorkflow } from '../../support/run-export.ts';

// Faults after the object is complete: while the manifest, the event or a failure report is written. S3's time-outs and
// pauses are 20 times shorter than the SDK's.
const workflow = await shareWorkflow({ shortTimeouts: true });

const ENDLESS = 99;

function fails(key: string, answer: Fault['answer'], times = ENDLESS): { s3: Fault[] } {
  return { s3: [{ operation: 'PutObject', key, answer, times }] };
}

async function failureReportsOf(name = ''): Promise<string[]> {
  return (await keysOf(workflow, name)).filter((key) => key.endsWith('_failure.json'));
}

describe('31: a manifest', () => {
  it('31: is written again after a lost answer, and announced only then', async () => {
    const outcome = await runExport(workflow, fails('_manifest.json', 'lost answer', 3));
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.s3.filter(({ key }) => key.endsWith('_manifest.json')).length).toBeGreaterThan(3);
    expect(outcome.announced).toHaveLength(1);
  });

  it('27: that is refused leaves a failure report, which is announced', async () => {
    const request = { name: 'refused' };
    const { announced } = await runExport(workflow, { request, ...fails('_manifest.json', 'AccessDenied') });
    const failed_windows = [{ error: 'AccessRefused' }];
    expect(announced).toMatchObject([{ detail: { failed_windows } }]);
    const [key = ''] = await failureReportsOf('refused');
    expect(JSON.parse(String(await workflow.object(key)))).toMatchObject({ failed_windows });
  });
});

describe('31: an event', () => {
  it('31: that the bus refuses six times is announced once', async () => {
    const outcome = await runExport(workflow, { events: 6 });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.announced).toHaveLength(1);
  });

  it('31: that the bus always refuses fails the export; only_missing announces it without another copy', async () => {
    workflow.bus.failNext(7);
    const request = workflow.request({
      name: 'unannounced',
      start_date: '2025-10-01',
      end_date: '2025-10-08',
    });
    const { status, error, cause } = await workflow.run(request);
    expect([status, error]).toEqual(['FAILED', 'EventBridge.FailedEntry']);
    expect(workflow.bus.events.at(-1)).toMatchObject({ 'detail-type': 'Report Export Failed' });
    const keys = await keysOf(workflow, 'unannounced');
    expect(keys.filter((key) => key.endsWith('_manifest.json'))).toHaveLength(1);
    const [report = ''] = await failureReportsOf('unannounced');
    expect(JSON.parse(String(await workflow.object(report)))).toEqual(JSON.parse(cause ?? ''));

    const calls = workflow.sandbox.journal.length;
    const { output } = await workflow.run({ ...request, only_missing: true });
    expect(output).toMatchObject({ already_delivered: 1, windows: [] });
    expect(workflow.bus.events.at(-1)).toMatchObject({ 'detail-type': 'Report Exported', detail: output });
    expect(workflow.sandbox.journal).toHaveLength(calls);
    expect(await failureReportsOf('unannounced')).toEqual([]);
  });

  it('31: of a failure that the bus always refuses leaves the Cause and _failure.json', async () => {
    workflow.bus.failNext(ENDLESS);
    workflow.sandbox.faults.add('create status=403');
    const { status, error, cause } = await workflow.run(workflow.request({ name: 'silent' }));
    workflow.bus.failNext(0);
    expect([status, error]).toEqual(['FAILED', 'RequestRefused']);
    const [report = ''] = await failureReportsOf('silent');
    expect(JSON.parse(String(await workflow.object(report)))).toEqual(JSON.parse(cause ?? ''));
  });
});

describe('a failure report', () => {
  it('that cannot be written is announced anyway, with a line in the log', async () => {
    const outcome = await runExport(workflow, {
      faults: ['create status=403'],
      ...fails('_failure.json', 'AccessDenied'),
    });
    expect([outcome.status, outcome.error]).toEqual(['FAILED', 'RequestRefused']);
    expect(await failureReportsOf(outcome.failure?.export)).toEqual([]);
    expect(outcome.logged.join('\n')).toContain('could not be written');
  });
});
