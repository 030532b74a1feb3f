import { expect, it } from 'vitest';
import type { ErrorCode } from '../../../infra/local/s3/answers.ts';
import type { Fault } from '../../../infra/local/s3/faults.ts';
import {
  type Conditions,
  expectFailed,
  type Outcome,
  runExport,
  shareWorkflow,
} from '../../support/run-export.ts';
import { openUploads } from '../../support/workflow-objects.ts';

// Faults of our S3 while the report's object is written. The pauses between two tries of a call are real time, so they are 20
// times shorter here. Nothing depends on the rows of the files of two parts.
const workflow = await shareWorkflow({ shortTimeouts: true, settings: { MAX_CURATE_BYTES: '5000000' } });

type Operation = Fault['operation'];

/** Runs an export whose file takes this operation: two parts of an upload, or one PutObject. */
async function store(operation: Operation, conditions: Conditions): Promise<Outcome> {
  const bytes = operation === 'PutObject' ? 50_000 : 9 * 1024 * 1024;
  const outcome = await runExport(workflow, { ...conditions, sandbox: { report: { bytes } } });
  expect(await openUploads(workflow)).toBe(0);
  return outcome;
}

function answersWith({ s3 }: Outcome, answer: ErrorCode): number {
  return s3.filter(({ error }) => error === answer).length;
}

it.each<[Operation, Fault['answer'], number]>([
  ['PutObject', 'SlowDown', 2],
  ['PutObject', 'InternalError', 5],
  ['PutObject', 'reset', 1],
  ['PutObject', 'lost answer', 1],
  ['CreateMultipartUpload', 'SlowDown', 2],
  ['CreateMultipartUpload', 'InternalError', 5],
  ['UploadPart', 'SlowDown', 1],
  ['UploadPart', 'InternalError', 1],
  ['UploadPart', 'reset', 1],
  ['CompleteMultipartUpload', 'InternalError', 1],
  ['CompleteMultipartUpload', 'error inside 200', 1],
  ['CompleteMultipartUpload', 'error inside 200', 5],
  ['CompleteMultipartUpload', 'lost answer', 1],
])('25: %s is retried after "%s" (%i times) and leaves no partial object', async (operation, answer, times) => {
  const outcome = await store(operation, { s3: [{ operation, key: 'report.json', answer, times }] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
});

it.each<Operation>([
  'PutObject',
  'UploadPart',
  'CompleteMultipartUpload',
])('26: %s is retried after a checksum that differs', async (operation) => {
  const fault: Fault = { operation, key: 'report.json', answer: 'BadDigest' };
  const refused = await store(operation, { s3: [fault] });
  expect(refused.status).toBe('SUCCEEDED');
  expect(answersWith(refused, 'BadDigest')).toBe(1);
  const answered = await store(operation, { s3: [{ ...fault, answer: 'wrong checksum' }] });
  expect(answered.status).toBe('SUCCEEDED');
  expect(answered.callsTo('storage')).toHaveLength(2);
});

it.each<Operation>([
  'PutObject',
  'CompleteMultipartUpload',
])('26: %s with a checksum that always differs fails with nothing visible', async (operation) => {
  const fault: Fault = { operation, key: 'report.json', answer: 'BadDigest', times: 999 };
  expectFailed(await store(operation, { s3: [fault] }), 'CopyFailed');
});

it.each(
  (['PutObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'] as const).flatMap(
    (operation) =>
      (['AccessDenied', 'KMS.DisabledException', 'NoSuchBucket'] as const).map(
        (answer) => [operation, answer] as const,
      ),
  ),
)('27: %s refused with %s fails at once and names the permission', async (operation, answer) => {
  const outcome = await store(operation, { s3: [{ operation, key: 'report.json', answer, times: 99 }] });
  expectFailed(outcome, 'AccessRefused');
  expect(outcome.failure.happened).toMatch(/s3:PutObject.*kms:GenerateDataKey/);
  // Two parts are uploaded at a time.
  expect(answersWith(outcome, answer)).toBeLessThanOrEqual(operation === 'UploadPart' ? 2 : 1);
  expect(outcome.callsTo('storage')).toHaveLength(1);
});
