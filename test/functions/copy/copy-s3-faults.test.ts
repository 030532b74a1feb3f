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

function withFaults(faults: Fault[], file = body, tries = 1): Promise<Outcome> {
  return copyOnce({ body: file }, { s3: { faults }, tries });
}

test.each([1, 2, 3, 4, 5, 6, 7])('25: a 503 on part %i is sent again from the buffer', async (part) => {
  const outcome = await withFaults([{ operation: 'UploadPart', part, answer: 'SlowDown', times: 3 }]);
  expectDelivered(outcome, body);
  expect(outcome.copied?.fetchedTwice).toBe(0);
  expect(outcome.host.requests).toHaveLength(1);
});

test.each([
  'InternalError',
  'reset',
  'lost answer',
  'BadDigest',
] as const)('25: a part that meets "%s" is sent again', async (answer) => {
  const outcome = await withFaults([{ operation: 'UploadPart', part: 3, answer, times: 2 }]);
  expectDelivered(outcome, body);
});

test('25: a part that is refused for ever ends the copy, with nothing left', async () => {
  const outcome = await withFaults([{ operation: 'UploadPart', part: 3, answer: 'SlowDown', times: 99 }]);
  expectNothing(outcome, 'ServiceUnavailable');
});

test.each([
  ['CreateMultipartUpload', 'SlowDown', body],
  ['CompleteMultipartUpload', 'InternalError', body],
  ['CompleteMultipartUpload', 'error inside 200', body],
  ['PutObject', 'SlowDown', small],
] as const)('25: %s that meets "%s" is tried again by the SDK, or given up with nothing left', async (operation, answer, file) => {
  expectNothing(await withFaults([{ operation, answer }], file), 'ServiceUnavailable');
  expectDelivered(await withFaults([{ operation, answer }], file, 3), file);
});

test('25: an upload that vanished is begun afresh by the next try', async () => {
  expectNothing(
    await withFaults([{ operation: 'CompleteMultipartUpload', answer: 'NoSuchUpload' }]),
    'CopyFailed',
  );
});

test.each([
  ['UploadPart', body],
  ['CompleteMultipartUpload', body],
  ['PutObject', small],
] as const)('26: a checksum that %s answers and that differs is CopyFailed', async (operation, file) => {
  const { error, copied } = await withFaults([{ operation, answer: 'wrong checksum', times: 9 }], file);
  expect(error).toMatchObject({ name: 'CopyFailed' });
  expect(copied).toBeUndefined();
});

test.each([
  ['CreateMultipartUpload', body],
  ['UploadPart', body],
  ['CompleteMultipartUpload', body],
  ['PutObject', small],
] as const)('27: what S3 refuses to %s fails at once and says which permission', async (operation, file) => {
  for (const answer of ['AccessDenied', 'KMS.DisabledException', 'NoSuchBucket'] as const) {
    const outcome = await withFaults([{ operation, answer }], file, 3);
    expectNothing(outcome, 'AccessRefused');
    expect(String(outcome.error)).toMatch(/s3:PutObject.*kms:GenerateDataKey/);
    expect(outcome.s3.journal.filter(({ error }) => error === answer)).toHaveLength(1);
  }
});

test('27: a bucket of another account is refused by every call', async () => {
  expectNothing(await copyOnce({ body }, { s3: { account: '111122223333' } }), 'AccessRefused');
  expectNothing(await copyOnce({ body: small }, { s3: { account: '111122223333' } }), 'AccessRefused');
});

test('every call names the owner that is expected', async () => {
  // The endpoint refuses a call that names another one; here a call that names none would be let through.
  for (const file of [body, small]) {
    const { error, s3 } = await copyOnce(
      { body: file },
      { s3: { account: '000000000000', requireOwner: true } },
    );
    expect([error, s3.journal.filter(({ status }) => status >= 400)]).toEqual([undefined, []]);
  }
});
