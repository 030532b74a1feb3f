import { expect, test } from 'vitest';
import type { Fault } from '../../../infra/local/s3/faults.ts';
import {
  copyOnce,
  expectDelivered,
  expectNothing,
  jsonOf,
  type Outcome,
  PART,
} from '../../support/copying.ts';

const { body } = jsonOf(6 * PART + 17);
const small = jsonOf(PART / 2).body;

function withFaults(faults: Fault[], file = body): Promise<Outcome> {
  return copyOnce({ body: file }, { s3: { faults } });
}

test.each([
  1, 2, 3, 4, 5, 6, 7,
])('25: part %i is uploaded again after a 503, and not downloaded again', async (part) => {
  const outcome = await withFaults([{ operation: 'UploadPart', part, answer: 'SlowDown', times: 3 }]);
  expectDelivered(outcome, body);
  expect(outcome.host.requests).toHaveLength(1);
});

test.each([
  'InternalError',
  'reset',
  'lost answer',
  'BadDigest',
] as const)('25: a part that meets "%s" is uploaded again', async (answer) => {
  const outcome = await withFaults([{ operation: 'UploadPart', part: 3, answer, times: 2 }]);
  expectDelivered(outcome, body);
});

test.each([
  ['CreateMultipartUpload', 'SlowDown', body],
  ['CreateMultipartUpload', 'reset', body],
  ['CompleteMultipartUpload', 'InternalError', body],
  ['CompleteMultipartUpload', 'error inside 200', body],
  ['PutObject', 'SlowDown', small],
] as const)('25: %s that meets "%s" is tried five times', async (operation, answer, file) => {
  expectDelivered(await withFaults([{ operation, answer, times: 4 }], file), file);
  const outcome = await withFaults([{ operation, answer, times: 99 }], file);
  expect(outcome.copied).toBeUndefined();
  expect(outcome.object).toBeUndefined();
  expect(outcome.s3.journal.filter((call) => call.operation === operation)).toHaveLength(5);
});

test('25: an upload that vanished fails this try, and nothing is visible', async () => {
  expectNothing(
    await withFaults([{ operation: 'CompleteMultipartUpload', answer: 'NoSuchUpload' }]),
    'CopyFailed',
  );
});

test.each([
  'BadDigest',
  'InvalidPart',
  'InvalidRequest',
  'EntityTooSmall',
] as const)('26: %s as the answer to Complete fails the copy, and nothing is visible', async (answer) => {
  const faults = [{ operation: 'CompleteMultipartUpload' as const, answer, times: 99 }];
  expectNothing(await withFaults(faults), 'CopyFailed');
});

test.each([
  ['UploadPart', body],
  ['CompleteMultipartUpload', body],
  ['PutObject', small],
] as const)('26: a wrong checksum in the answer to %s fails the copy', async (operation, file) => {
  const { error, copied } = await withFaults([{ operation, answer: 'wrong checksum', times: 9 }], file);
  expect(error).toMatchObject({ name: 'CopyFailed' });
  expect(copied).toBeUndefined();
});

test.each([
  ['CreateMultipartUpload', body],
  ['UploadPart', body],
  ['CompleteMultipartUpload', body],
  ['PutObject', small],
] as const)('27: %s that S3 refuses fails at once and names the permission', async (operation, file) => {
  for (const answer of ['AccessDenied', 'KMS.DisabledException', 'NoSuchBucket'] as const) {
    const outcome = await withFaults([{ operation, answer }], file);
    expectNothing(outcome, 'AccessRefused');
    expect(String(outcome.error)).toMatch(/s3:PutObject.*kms:GenerateDataKey/);
    expect(outcome.s3.journal.filter(({ error }) => error === answer)).toHaveLength(1);
  }
});

test('27: a bucket of another account is refused', async () => {
  expectNothing(await copyOnce({ body }, { s3: { account: '111122223333' } }), 'AccessRefused');
  expectNothing(await copyOnce({ body: small }, { s3: { account: '111122223333' } }), 'AccessRefused');
});

test('every call names the expected owner of the bucket', async () => {
  // The endpoint refuses a call that names another owner or none.
  for (const file of [body, small]) {
    const { error, s3 } = await copyOnce(
      { body: file },
      { s3: { account: '000000000000', requireOwner: true } },
    );
    expect([error, s3.journal.filter(({ status }) => status >= 400)]).toEqual([undefined, []]);
  }
});
