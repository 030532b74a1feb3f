import { expect, it } from 'vitest';
import type { Fault } from '../../support/faulty-services.ts';
import { expectFailed, type Outcome, runExport, shareWorkflow } from '../../support/run-export.ts';
import { openUploads } from '../../support/workflow-objects.ts';

// The state machine after a fault of our S3. test/functions/copy judges which answers of S3 become which error. The
// pauses between two tries of a call are real time, so they are 20 times shorter here.
const workflow = await shareWorkflow({ shortTimeouts: true, settings: { MAX_CURATE_BYTES: '5000000' } });

/** Runs an export whose file takes this operation: two parts of an upload, or one PutObject. */
async function store(
  operation: Fault['operation'],
  answer: Fault['answer'],
  times: number,
): Promise<Outcome> {
  const bytes = operation === 'PutObject' ? 50_000 : 9 * 1024 * 1024;
  const outcome = await runExport(workflow, {
    s3: [{ operation, key: 'report.json', answer, times }],
    sandbox: { report: { bytes } },
  });
  expect(await openUploads(workflow)).toBe(0);
  return outcome;
}

// The SDK gives up after five tries.
it.each([
  ['25', 'PutObject', 'SlowDown', 5],
  ['25', 'CompleteMultipartUpload', 'error inside 200', 5],
  ['26', 'UploadPart', 'wrong checksum', 1],
] as const)('%s: SaveReport delivers after %s met "%s" (%i times), and leaves no partial object', async (_, operation, answer, times) => {
  // Its tries are not counted: a busy machine may exceed the short time-outs, and SaveReport then runs once more.
  const outcome = await store(operation, answer, times);
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
});

it.each([
  ['25', 'PutObject', 'SlowDown', 'ServiceUnavailable'],
  ['26', 'CompleteMultipartUpload', 'BadDigest', 'CopyFailed'],
] as const)('%s: %s that always meets %s fails with nothing visible', async (_, operation, answer, error) => {
  expectFailed(await store(operation, answer, 999), error);
});

it('27: S3 that denies access fails the export at once and names the permission', async () => {
  const outcome = await store('UploadPart', 'AccessDenied', 99);
  expectFailed(outcome, 'AccessRefused');
  expect(outcome.failure.happened).toMatch(/s3:PutObject.*kms:GenerateDataKey/);
  // The calls of S3 are not counted: the scaled clock looks like a wrong one, after which the SDK repeats any call.
  expect(outcome.callsTo('storage')).toHaveLength(1);
});
