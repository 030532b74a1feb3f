import { describe, expect, it } from 'vitest';
import { removeObject } from '../support/bad-day.ts';
import { callsTo } from '../support/journal.ts';
import { startWorkflow, type Workflow } from '../support/workflow.ts';

/** A request for three windows, one at a time. */
function threeWindows(workflow: Workflow, fields = {}) {
  return workflow.request({ end_date: '2027-01-20', max_parallel: 1, ...fields });
}

function calls({ sandbox }: Workflow): number {
  return sandbox.journal.length;
}

describe('an export of only what is missing', () => {
  it('asks the platform for the windows that failed, and for nothing else', async () => {
    await using workflow = await startWorkflow({ sandbox: { faults: ['create nth=2 status=403'] } });
    expect((await workflow.run(threeWindows(workflow))).status).toBe('FAILED');
    const failures = (await workflow.keys()).filter((key) => key.endsWith('_failure.json'));
    expect(failures.map((key) => key.split('/').slice(3, 5).join(' '))).toEqual([
      'start_date=2026-10-01 end_date=2027-01-20',
      'start_date=2026-11-15 end_date=2026-12-30',
    ]);

    const { status, output } = await workflow.run(threeWindows(workflow, { only_missing: true }));
    expect(status).toBe('SUCCEEDED');
    expect(output).toMatchObject({
      already_delivered: 2,
      windows: [{ window: { start_date: '2026-11-15', end_date: '2026-12-30' } }],
    });
    expect(workflow.bus.events.at(-1)?.detail).toEqual(output);
    expect(callsTo(workflow.sandbox, 'create')).toHaveLength(4);
    const keys = await workflow.keys();
    expect(keys.filter((key) => key.endsWith('_manifest.json'))).toHaveLength(3);
    expect(keys.filter((key) => key.endsWith('_failure.json'))).toEqual([]);
  });

  it.each<[string, Record<string, unknown>]>([
    ['report', {}],
    ['purchases', { kind: 'purchases', advertiser_ids: undefined, metrics: undefined }],
    ['list', { kind: 'list', resource: 'campaigns', advertiser_ids: undefined, metrics: undefined }],
  ])('of kind %s is delivered without a call where nothing is missing', async (kind, fields) => {
    await using workflow = await startWorkflow();
    const dates = kind === 'list' ? { start_date: undefined, end_date: undefined } : {};
    const advertiser = kind === 'purchases' ? { advertiser_id: workflow.sandbox.advertiserIds[0] } : {};
    const request = JSON.parse(JSON.stringify(workflow.request({ ...fields, ...dates, ...advertiser })));
    expect((await workflow.run(request)).status).toBe('SUCCEEDED');
    const before = calls(workflow);
    const { status, output } = await workflow.run({ ...request, only_missing: true });
    expect(status).toBe('SUCCEEDED');
    expect(output).toMatchObject({ already_delivered: 1, windows: [], bytes: 0 });
    expect(output).not.toHaveProperty('empty');
    expect(calls(workflow)).toBe(before);
    expect(workflow.bus.events.map((event) => event['detail-type'])).toEqual([
      'Report Exported',
      'Report Exported',
    ]);
  });

  it('exports again, with a warning, what was delivered for another request', async () => {
    await using workflow = await startWorkflow();
    await workflow.run();
    const request = workflow.request({ metrics: ['impressions'], only_missing: true });
    const { output } = await workflow.run(request);
    expect(output).toMatchObject({
      already_delivered: 0,
      warnings: [expect.stringContaining('another request')],
    });
    expect(callsTo(workflow.sandbox, 'create')).toHaveLength(2);
  });

  it('exports again what has failed since it was delivered, and leaves no failure behind', async () => {
    await using workflow = await startWorkflow();
    await workflow.run(threeWindows(workflow));
    workflow.sandbox.faults.add('create nth=2 status=403');
    expect((await workflow.run(threeWindows(workflow))).status).toBe('FAILED');
    const { output } = await workflow.run(threeWindows(workflow, { only_missing: true }));
    expect(output).toMatchObject({
      already_delivered: 2,
      windows: [{ window: { start_date: '2026-11-15' } }],
    });
    expect((await workflow.keys()).filter((key) => key.endsWith('_failure.json'))).toEqual([]);
  });

  it('exports again what somebody has removed since', async () => {
    await using workflow = await startWorkflow();
    await workflow.run();
    const isReport = (key: string) => key.endsWith('report.json');
    const key = (await workflow.keys()).find(isReport) ?? '';
    await removeObject(workflow, key);
    const { output } = await workflow.run(workflow.request({ only_missing: true }));
    expect(output).toMatchObject({ already_delivered: 0, windows: [{ key }], warnings: [] });
    expect((await workflow.keys()).filter(isReport)).toEqual([key]);
  });

  it('says which permissions it lacks where S3 refuses to look at an object', async () => {
    await using workflow = await startWorkflow();
    await workflow.run();
    workflow.s3.faults.push({ operation: 'HeadObject', answer: 'AccessDenied' });
    const { error, cause } = await workflow.run(workflow.request({ only_missing: true }));
    expect(error).toBe('AccessRefused');
    expect(JSON.parse(cause ?? '').happened).toContain('s3:GetObject and s3:ListBucket');
  });

  it('says which permissions it lacks where S3 refuses to say what is there', async () => {
    await using workflow = await startWorkflow();
    workflow.s3.faults.push({ operation: 'GetObject', answer: 'AccessDenied' });
    const { status, error, cause } = await workflow.run(workflow.request({ only_missing: true }));
    expect({ status, error }).toEqual({ status: 'FAILED', error: 'AccessRefused' });
    expect(JSON.parse(cause ?? '').happened).toContain('s3:GetObject and s3:ListBucket');
    expect(workflow.sandbox.journal).toEqual([]);
  });

  it('looks again where S3 is not available', async () => {
    await using workflow = await startWorkflow();
    workflow.s3.faults.push({ operation: 'GetObject', answer: 'SlowDown', times: 2 });
    expect((await workflow.run(workflow.request({ only_missing: true }))).status).toBe('SUCCEEDED');
  });
});

describe('a report without rows', () => {
  it('23: is delivered, and manifest and event say that it is empty', async () => {
    await using workflow = await startWorkflow({ sandbox: { report: { rows: 0 } } });
    const { status, output } = await workflow.run();
    expect(status).toBe('SUCCEEDED');
    expect(workflow.bus.events).toMatchObject([
      { 'detail-type': 'Report Exported', detail: { rows: 0, empty: true, windows: [{ rows: 0 }] } },
    ]);
    const { key, manifest_key } = (output as { windows: { key: string; manifest_key: string }[] })
      .windows[0] ?? { key: '', manifest_key: '' };
    expect(String(await workflow.object(key))).toBe('[]');
    expect(JSON.parse(String(await workflow.object(manifest_key)))).toMatchObject({ rows: 0, empty: true });
  });

  it('23: is told apart from one with rows', async () => {
    await using workflow = await startWorkflow({ sandbox: { report: { rows: 1 } } });
    expect((await workflow.run()).output).toMatchObject({ rows: 1, empty: false });
  });
});
