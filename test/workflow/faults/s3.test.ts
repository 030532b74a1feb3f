import { expect, it } from 'vitest';
import type { ErrorCode } from '../../../infra/local/s3/answers.ts';
import type { Fault } from '../../../infra/local/s3/faults.ts';
import {
  type Conditions,
  expectFailed,
  type Outcome,
  openUploads,
  runExport,
  shareWorkflow,
} from '../../support/run-export.ts';

/** Stored as two parts; a small file is one PutObject. */
const LARGE = 9 * 1024 * 1024;
const SMALL = 50_000;

let bytes = SMALL;

// What our S3 does with the report's object.
const workflow = await shareWorkflow({
  speed: 1000,
  sandbox: {
    tokenSeconds: 86_400,
    report: { secondsToProcessing: 0, secondsToReady: 0, bytes: () => bytes },
  },
});

type Operation = Fault['operation'];

/** A file that takes this operation. */
async function store(operation: Operation, day: Conditions): Promise<Outcome> {
  bytes = operation === 'PutObject' ? SMALL : LARGE;
  return runExport(workflow, day);
}

function refusals({ s3 }: Outcome, answer: ErrorCode): number {
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
])('25: %s that meets "%s" (%i times) is tried again, and leaves no half object', async (operation, answer, times) => {
  const outcome = await store(operation, { s3: [{ operation, key: 'report.json', answer, times }] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(await openUploads(workflow)).toBe(0);
  expect(outcome.reports).toHaveLength(1);
});

it.each<Operation>([
  'PutObject',
  'UploadPart',
  'CompleteMultipartUpload',
])('26: %s whose checksum differs once is tried again', async (operation) => {
  const fault: Fault = { operation, key: 'report.json', answer: 'BadDigest' };
  const once = await store(operation, { s3: [fault] });
  expect(once.status).toBe('SUCCEEDED');
  expect(refusals(once, 'BadDigest')).toBe(1);
  const answered = await store(operation, { s3: [{ ...fault, answer: 'wrong checksum' }] });
  expect(answered.status).toBe('SUCCEEDED');
  expect(answered.to('storage')).toHaveLength(2);
});

it.each<Operation>([
  'PutObject',
  'CompleteMultipartUpload',
])('26: %s whose checksum differs for ever fails, typed, with nothing visible', async (operation) => {
  const fault: Fault = { operation, key: 'report.json', answer: 'BadDigest', times: 999 };
  const outcome = await store(operation, { s3: [fault] });
  expectFailed(outcome, 'CopyFailed');
  expect(await openUploads(workflow)).toBe(0);
});

it.each(
  (['PutObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'] as const).flatMap(
    (operation) =>
      (['AccessDenied', 'KMS.DisabledException', 'NoSuchBucket'] as const).map(
        (answer) => [operation, answer] as const,
      ),
  ),
)('27: %s that is refused with %s fails at once, and says which permission', async (operation, answer) => {
  const outcome = await store(operation, { s3: [{ operation, key: 'report.json', answer, times: 99 }] });
  expectFailed(outcome, 'AccessRefused');
  expect(outcome.failure.happened).toMatch(/s3:PutObject.*kms:GenerateDataKey/);
  // Two parts are on their way at a time.
  expect(refusals(outcome, answer)).toBeLessThanOrEqual(operation === 'UploadPart' ? 2 : 1);
  expect(await openUploads(workflow)).toBe(0);
  expect(outcome.to('storage')).toHaveLength(1);
});

it.each([
  'AccessDenied',
  'KMS.DisabledException',
  'NoSuchBucket',
] as const)('27: a manifest that is refused with %s fails at once, and says which permission', async (answer) => {
  const outcome = await store('PutObject', {
    s3: [{ operation: 'PutObject', key: '_manifest.json', answer, times: 99 }],
  });
  expect([outcome.status, outcome.error, outcome.manifest]).toEqual(['FAILED', 'AccessRefused', undefined]);
  expect(outcome.failure?.happened).toContain('s3:PutObject');
  expect(refusals(outcome, answer)).toBe(1);
});

it.each([
  'SlowDown',
  'InternalError',
  'reset',
  'lost answer',
] as const)('31: a manifest that meets "%s" is written by a later try, and only then announced', async (answer) => {
  const outcome = await store('PutObject', {
    s3: [{ operation: 'PutObject', key: '_manifest.json', answer, times: 3 }],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.to('storage')).toHaveLength(1);
});

it('31: a manifest that can never be written leaves the object without one, and ends typed', async () => {
  const outcome = await store('PutObject', {
    s3: [{ operation: 'PutObject', key: '_manifest.json', answer: 'InternalError', times: 99 }],
  });
  expect([outcome.status, outcome.error]).toEqual(['FAILED', 'ServiceUnavailable']);
  expect(outcome.object).toHaveLength(SMALL);
  expect(outcome.manifest).toBeUndefined();
});

it('31: an event that EventBridge does not take is announced by a later try, once', async () => {
  const outcome = await store('PutObject', { events: 4 });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.announced).toHaveLength(1);
});
