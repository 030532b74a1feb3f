import { afterAll, expect, it } from 'vitest';
import { runExport } from '../support/run-export.ts';
import { startWorkflow } from '../support/workflow.ts';

// What is written and said after the object is complete: its manifest, the event, and the failure of a failure.
const workflow = await startWorkflow({
  speed: 1000,
  sandbox: { tokenSeconds: 86_400, report: { secondsToProcessing: 0, secondsToReady: 0, rows: 3 } },
});
afterAll(() => workflow.close());

const PUT = { operation: 'PutObject' } as const;

function keysOf(name: string | undefined, file: string): Promise<string[]> {
  return workflow
    .keys()
    .then((keys) => keys.filter((key) => key.includes(`/export=${name}/`) && key.endsWith(file)));
}

it.each([
  'SlowDown',
  'InternalError',
  'reset',
  'lost answer',
] as const)('31: a manifest whose writing ends with %s is written again, and nothing is announced before', async (answer) => {
  const outcome = await runExport(workflow, { s3: [{ ...PUT, key: '_manifest.json', answer, times: 3 }] });
  expect(outcome.status).toBe('SUCCEEDED');
  const tries = outcome.s3.filter(({ key }) => key.endsWith('_manifest.json'));
  expect(tries).toHaveLength(4);
  expect(outcome.to('create')).toHaveLength(1);
  expect(outcome.announced).toHaveLength(1);
});

it('31: a manifest that can never be written ends the export, typed, and the object has none', async () => {
  const outcome = await runExport(workflow, {
    s3: [{ ...PUT, key: '_manifest.json', answer: 'SlowDown', times: 99 }],
  });
  expect([outcome.status, outcome.error]).toEqual(['FAILED', 'ServiceUnavailable']);
  expect(outcome.manifest).toBeUndefined();
  expect(outcome.s3.filter(({ key }) => key.endsWith('_manifest.json'))).toHaveLength(6);
  expect(outcome.failure?.timeline.at(-1)).toMatchObject({
    step: 'PublishWindow',
    outcome: 'ServiceUnavailable',
    tries: 6,
  });
});

it('31: an event that cannot be announced is announced again, once', async () => {
  const outcome = await runExport(workflow, { events: 6 });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.announced).toHaveLength(1);
});

it('31: an export that can never be announced fails, and is announced without another delivery once that is asked for', async () => {
  workflow.bus.failNext(7);
  const over = { start_date: '2025-10-01', end_date: '2025-10-08' };
  const request = workflow.request({ name: 'unannounced', ...over });
  const { status, error, cause } = await workflow.run(request);
  expect([status, error]).toEqual(['FAILED', 'EventBridge.FailedEntry']);
  expect(workflow.bus.events.at(-1)).toMatchObject({ 'detail-type': 'Report Export Failed' });
  expect(await keysOf('unannounced', '_manifest.json')).toHaveLength(1);
  const [left] = await keysOf('unannounced', '_failure.json');
  expect(JSON.parse(String(await workflow.object(left ?? '')))).toEqual(JSON.parse(cause ?? ''));

  const calls = workflow.sandbox.journal.length;
  const { output } = await workflow.run({ ...request, only_missing: true });
  expect(output).toMatchObject({ already_delivered: 1, windows: [] });
  expect(workflow.bus.events.at(-1)).toMatchObject({ 'detail-type': 'Report Exported', detail: output });
  expect(workflow.sandbox.journal).toHaveLength(calls);
  expect(await keysOf('unannounced', '_failure.json')).toEqual([]);
});

it('31: a failure that can never be announced is still the execution’s Cause, and lies beside where the objects would', async () => {
  workflow.bus.failNext(99);
  workflow.sandbox.faults.add('create status=403');
  const { status, error, cause } = await workflow.run(workflow.request({ name: 'silent' }));
  workflow.bus.failNext(0);
  expect([status, error]).toEqual(['FAILED', 'RequestRefused']);
  const [left] = await keysOf('silent', '_failure.json');
  expect(JSON.parse(String(await workflow.object(left ?? '')))).toEqual(JSON.parse(cause ?? ''));
});

it.each([
  'AccessDenied',
  'NoSuchBucket',
  'reset',
  'stall',
] as const)('a failure whose writing ends with %s is announced all the same, and the log says so', async (answer) => {
  const outcome = await runExport(workflow, {
    faults: ['create status=403'],
    s3: [{ ...PUT, key: '_failure.json', answer, times: 99 }],
  });
  expect([outcome.status, outcome.error]).toEqual(['FAILED', 'RequestRefused']);
  expect(await keysOf(outcome.failure?.export, '_failure.json')).toEqual([]);
  expect(outcome.logged.join('\n')).toContain('could not be written');
}, 60_000);

it('removes the failure of a former failure before the manifest is written, and tries again where it cannot', async () => {
  const { failure } = await runExport(workflow, { faults: ['create status=403'] });
  expect(await keysOf(failure?.export, '_failure.json')).toHaveLength(1);
  const outcome = await runExport(workflow, {
    request: { name: failure?.export },
    s3: [{ operation: 'DeleteObject', answer: 'SlowDown', times: 2 }],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(await keysOf(failure?.export, '_failure.json')).toEqual([]);
  const operations = outcome.s3.flatMap(({ operation, key, status }) =>
    status < 300 && key.includes('/_') ? [operation] : [],
  );
  expect(operations).toEqual(['DeleteObject', 'PutObject']);
});

it('27: says that s3:DeleteObject is missing where the failure of a former failure may not be removed', async () => {
  const outcome = await runExport(workflow, {
    s3: [{ operation: 'DeleteObject', answer: 'AccessDenied', times: 99 }],
  });
  expect([outcome.status, outcome.error]).toEqual(['FAILED', 'AccessRefused']);
  expect(outcome.failure?.happened).toContain('s3:DeleteObject');
  expect(outcome.manifest).toBeUndefined();
});
