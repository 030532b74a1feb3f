import { expect, it } from 'vitest';
import { deliver, keysOf, shareWorkflow } from '../../support/run-export.ts';

// Faults of our S3 and of the event bus. test/functions judges which answers of S3 become which error. S3's
// time-outs and pauses are 20 times shorter than the SDK's.
const workflow = await shareWorkflow({ shortTimeouts: true });

async function failureReportOf(name: string): Promise<unknown> {
  const [key] = (await keysOf(workflow, name)).filter((stored) => stored.endsWith('_failure.json'));
  return key && JSON.parse(String(await workflow.object(key)));
}

it('25, 31: a file, a manifest and an event that are refused for a while are written again, in order', async () => {
  const outcome = await deliver(workflow, {
    // The SDK gives up after five tries.
    s3: [
      { operation: 'PutObject', key: 'report.json', answer: 'SlowDown', times: 6 },
      { operation: 'PutObject', key: '_manifest.json', answer: 'lost answer', times: 6 },
    ],
    events: 6,
  });
  expect(outcome.reports).toHaveLength(1);
  expect(outcome.s3.filter(({ key }) => key.endsWith('_manifest.json')).length).toBeGreaterThan(6);
  expect(outcome.announced).toHaveLength(1);
});

it('25, 31: a refused event fails the export; only_missing announces it without another copy', async () => {
  workflow.bus.failNext(7);
  const request = workflow.request({
    name: 'not-announced',
    start_date: '2025-10-01',
    end_date: '2025-10-08',
  });
  const { status, error, cause } = await workflow.run(request);
  expect({ status, error }).toEqual({ status: 'FAILED', error: 'EventBridge.FailedEntry' });
  expect(workflow.bus.events.at(-1)).toMatchObject({ 'detail-type': 'Report Export Failed' });
  const keys = await keysOf(workflow, 'not-announced');
  expect(keys.filter((key) => key.endsWith('_manifest.json'))).toHaveLength(1);
  expect(await failureReportOf('not-announced')).toEqual(JSON.parse(cause ?? ''));

  // The SDK gives up after five tries.
  workflow.s3.faults.push({ operation: 'ListObjectsV2', answer: 'SlowDown', times: 6 });
  const calls = workflow.sandbox.journal.length;
  const { output } = await workflow.run({ ...request, only_missing: true });
  expect(workflow.s3.faults.splice(0)).toMatchObject([{ times: 0 }]);
  expect(output).toMatchObject({ already_delivered: 1, windows: [] });
  expect(workflow.bus.events.at(-1)).toMatchObject({ 'detail-type': 'Report Exported', detail: output });
  expect(workflow.sandbox.journal).toHaveLength(calls);
});

it('31: a failure that the bus always refuses leaves the Cause and _failure.json', async () => {
  workflow.bus.failNext(99);
  workflow.sandbox.faults.add('create status=403');
  const { status, error, cause } = await workflow.run(workflow.request({ name: 'silent' }));
  workflow.bus.failNext(0);
  expect({ status, error }).toEqual({ status: 'FAILED', error: 'RequestRefused' });
  expect(await failureReportOf('silent')).toEqual(JSON.parse(cause ?? ''));
});
