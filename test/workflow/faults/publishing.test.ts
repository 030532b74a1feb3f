import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../infra/local/s3/faults.ts';
import { keysOf, runExport, shareWorkflow } from '../../support/run-export.ts';
import { ONES, report } from '../../support/week-table.ts';
import { removeObject } from '../../support/workflow-objects.ts';

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
  it.each([
    'SlowDown',
    'InternalError',
    'reset',
    'lost answer',
  ] as const)('31: is written again after "%s", and announced only then', async (answer) => {
    const outcome = await runExport(workflow, fails('_manifest.json', answer, 3));
    expect(outcome.status).toBe('SUCCEEDED');
    expect(outcome.s3.filter(({ key }) => key.endsWith('_manifest.json'))).toHaveLength(4);
    expect(outcome.callsTo('storage')).toHaveLength(1);
    expect(outcome.announced).toHaveLength(1);
  });

  it.each([
    'SlowDown',
    'InternalError',
  ] as const)('31: that always meets "%s" fails the export after six tries', async (answer) => {
    const outcome = await runExport(workflow, fails('_manifest.json', answer));
    expect([outcome.status, outcome.error]).toEqual(['FAILED', 'ServiceUnavailable']);
    expect([outcome.object === undefined, outcome.manifest]).toEqual([false, undefined]);
    expect(outcome.s3.filter(({ key }) => key.endsWith('_manifest.json'))).toHaveLength(6);
    expect(outcome.failure?.timeline.at(-1)).toMatchObject({
      step: 'PublishWindow',
      outcome: 'ServiceUnavailable',
      tries: 6,
    });
  });

  it.each([
    'AccessDenied',
    'KMS.DisabledException',
    'NoSuchBucket',
  ] as const)('27: that is refused with %s fails the export at once and names the permission', async (answer) => {
    const outcome = await runExport(workflow, fails('_manifest.json', answer));
    expect([outcome.status, outcome.error, outcome.manifest]).toEqual(['FAILED', 'AccessRefused', undefined]);
    expect(outcome.failure?.happened).toContain('s3:PutObject');
    expect(outcome.s3.filter(({ error }) => error === answer)).toHaveLength(1);
  });

  it('27: that is refused leaves a failure report with the days that the table shows already', async () => {
    const request = { name: 'shown' };
    await runExport(workflow, { request, faults: [ONES] });
    const delivered = await keysOf(workflow, 'shown');
    await removeObject(workflow, delivered.find((each) => each.endsWith('_manifest.json')) ?? '');
    const faults = [report([1, 2, 1, 2, 1, 1, 1])];
    const { announced } = await runExport(workflow, {
      ...{ request, faults },
      ...fails('_manifest.json', 'AccessDenied'),
    });
    const restated = { restated: 2, first_restated: '2026-10-02', last_restated: '2026-10-04' };
    expect(announced).toMatchObject([{ detail: { ...restated, failed_windows: [restated] } }]);
    const [key = ''] = await failureReportsOf('shown');
    expect(JSON.parse(String(await workflow.object(key)))).toMatchObject({ failed_windows: [restated] });
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
  it.each([
    'AccessDenied',
    'NoSuchBucket',
    'reset',
    'stall',
  ] as const)('that cannot be written ("%s") is announced anyway, with a line in the log', async (answer) => {
    const outcome = await runExport(workflow, {
      faults: ['create status=403'],
      ...fails('_failure.json', answer),
    });
    expect([outcome.status, outcome.error]).toEqual(['FAILED', 'RequestRefused']);
    expect(await failureReportsOf(outcome.failure?.export)).toEqual([]);
    expect(outcome.logged.join('\n')).toContain('could not be written');
  });

  it('of an earlier run is removed before the manifest is written, with retries', async () => {
    const request = { name: 'failed-before' };
    await runExport(workflow, { request, faults: ['create status=403'] });
    expect(await failureReportsOf(request.name)).toHaveLength(1);
    const outcome = await runExport(workflow, {
      request,
      s3: [{ operation: 'DeleteObject', answer: 'SlowDown', times: 2 }],
    });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(await failureReportsOf(request.name)).toEqual([]);
    const written = outcome.s3.filter(({ key, status }) => status < 300 && /\/_(manifest|failure)/.test(key));
    expect(written.map(({ operation }) => operation)).toEqual(['DeleteObject', 'PutObject']);
  });

  it('27: of an earlier run that may not be removed fails the export and names s3:DeleteObject', async () => {
    const outcome = await runExport(workflow, {
      s3: [{ operation: 'DeleteObject', answer: 'AccessDenied', times: ENDLESS }],
    });
    expect([outcome.status, outcome.error]).toEqual(['FAILED', 'AccessRefused']);
    expect(outcome.failure?.happened).toContain('s3:DeleteObject');
    expect(outcome.manifest).toBeUndefined();
  });
});
