import { expect, it } from 'vitest';
import { commonWorkflow, keysOf, recordJournals } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

it('25, 30: only_missing exports the windows that failed with a fresh token, and no others, also if S3 fails at first', async () => {
  const name = 'some-missing';
  // Three windows of days that are over, whenever the test runs.
  const range = { start_date: '2025-10-01', end_date: '2026-01-01' };
  const request = workflow.request({ name, ...range, max_parallel: 1, table: false });
  const since = recordJournals(workflow);
  workflow.sandbox.faults.add('create nth=2 status=403');
  const { status: failed, cause } = await workflow.run(request);
  expect(failed).toBe('FAILED');
  const delivered = { error: 'RequestRefused', windows_delivered: 2, windows_failed: 1 };
  expect(JSON.parse(cause ?? '')).toMatchObject(delivered);
  const before = since();
  await forgetTokens(workflow);
  const failures = async () => (await keysOf(workflow, name)).filter((key) => key.endsWith('_failure.json'));
  expect((await failures()).map((key) => key.split('/').slice(3, 5).join(' '))).toEqual([
    'start_date=2025-10-01 end_date=2026-01-01',
    'start_date=2025-11-15 end_date=2025-12-30',
  ]);

  // The SDK gives up after five tries.
  workflow.s3.faults.push({ operation: 'ListObjectsV2', answer: 'SlowDown', times: 6 });
  const { status, output } = await workflow.run({ ...request, only_missing: true });
  expect([status, workflow.s3.faults.splice(0)]).toMatchObject(['SUCCEEDED', [{ times: 0 }]]);
  expect(output).toMatchObject({
    already_delivered: 2,
    windows: [{ window: { start_date: '2025-11-15', end_date: '2025-12-30' } }],
  });
  expect(since().announced.at(-1)?.detail).toEqual(output);
  expect(since().callsTo('create')).toHaveLength(4);
  expect(since().callsTo('token').length).toBeGreaterThan(before.callsTo('token').length);
  const keys = await keysOf(workflow, name);
  expect(keys.filter((key) => key.endsWith('_manifest.json'))).toHaveLength(3);
  expect(keys.filter((key) => key.includes('/_plans/'))).toEqual([]);
});
