import { crc32 } from 'node:zlib';
import { HeadBucketCommand } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { base64Crc32, createS3Client } from '../../../functions/aws/s3.ts';
import {
  abortUpload,
  createUpload,
  type Destination,
  listParts,
  putObject,
  uploadPart,
} from '../../../functions/copy/upload.ts';
import {
  copyOnce,
  expectDelivered,
  expectNothing,
  jsonOf,
  type Outcome,
  PART,
} from '../../support/copying.ts';
import type { Fault } from '../../support/faulty-services.ts';
import { awsEnvironment, setEnvironment } from '../../support/lambda.ts';
import type { Answer } from '../../support/listen.ts';
import { errorOf, refuse, startS3Answers } from '../../support/s3-answers.ts';

// The SDK's pauses between two tries are random, from 0 up.
beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
});

const KIND = { content_type: 'application/json' };
const part = { number: 7, body: Buffer.from('a part of a file'), crc32: crc32('a part of a file') };
const { signal } = new AbortController();
const STORED = { etag: '"of the part"', 'x-amz-checksum-crc32': base64Crc32(part.crc32) };
const send = (to: Destination, until = signal) => uploadPart(to, 'an upload', part, until);

function sendXml(text: string): Answer {
  return (_, response) => response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
}

/** Gives one answer after the other, and repeats the last one. */
function inTurn(...answers: Answer[]): Answer {
  return (seen, response) => (answers.length > 1 ? answers.shift() : answers[0])?.(seen, response);
}

describe('a part', () => {
  test('is sent with its CRC32 and the owner of the bucket, without a SHA-256', async () => {
    const { to, server } = await startS3Answers(refuse(200, '', STORED));
    expect(await send(to)).toEqual({ number: 7, bytes: 16, crc32: part.crc32, etag: '"of the part"' });
    expect(server.requests).toMatchObject([
      {
        method: 'PUT',
        path: expect.stringMatching(/^\/exports\/report.json\?.*partNumber=7&uploadId=an%20upload/),
        body: 'a part of a file',
        headers: {
          'content-length': '16',
          'x-amz-checksum-crc32': base64Crc32(part.crc32),
          'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
          'x-amz-expected-bucket-owner': to.expectedBucketOwner,
        },
      },
    ]);
    expect(server.requests[0]?.headers).not.toHaveProperty('expect');
    expect(server.requests[0]?.headers.authorization).toContain('x-amz-expected-bucket-owner');
  });

  test('35: is sent again with the time of S3 if the clock is wrong', async () => {
    const date = new Date(Date.now() + 20 * 60_000).toUTCString();
    const late = refuse(403, errorOf('RequestTimeTooSkewed'), { date });
    const { to, server } = await startS3Answers(inTurn(late, refuse(200, '', STORED)));
    await send(to);
    const [first, second] = server.requests.map(({ headers }) => String(headers['x-amz-date']));
    expect(Number(second?.slice(9, 15)) - Number(first?.slice(9, 15))).not.toBe(0);
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    ['26', 'a wrong CRC32', refuse(200, '', { ...STORED, 'x-amz-checksum-crc32': 'AAAAAA==' }), 'CopyFailed'],
    ['26', 'BadDigest', refuse(400, errorOf('BadDigest')), 'CopyFailed'],
    ['27', 'AccessDenied', refuse(403, errorOf('AccessDenied')), 'AccessRefused'],
  ])('%s: answered with %s fails at once', async (_, __, answer, name) => {
    const { to, server } = await startS3Answers(answer);
    await expect(send(to)).rejects.toMatchObject({ name });
    expect(server.requests).toHaveLength(1);
  });
});

test('28: each file has the tag by which keep_reports_days finds it, in one request or in parts', async () => {
  const { to, server } = await startS3Answers(sendXml('<Result><UploadId>u</UploadId></Result>'));
  await createUpload(to, KIND);
  await expect(putObject(to, KIND, part.body)).rejects.toMatchObject({ name: 'CopyFailed' });
  expect(server.requests.map(({ headers }) => headers['x-amz-tagging'])).toEqual(['kind=file', 'kind=file']);
});

test('28: lists an upload’s parts of every page, without the parts that have no checksum', async () => {
  const listed = (number: number, checksum = '<ChecksumCRC32>AAAAAQ==</ChecksumCRC32>') =>
    `<Part><PartNumber>${number}</PartNumber><Size>5</Size><ETag>"e${number}"</ETag>${checksum}</Part>`;
  const page = (text: string) => sendXml(`<ListPartsResult>${text}</ListPartsResult>`);
  const end = (more: boolean, next: number) =>
    `<IsTruncated>${more}</IsTruncated><NextPartNumberMarker>${next}</NextPartNumberMarker>`;
  const { to, server } = await startS3Answers(
    inTurn(
      page(`${listed(1)}${listed(2, '')}${end(true, 2)}`),
      page(`${listed(3)}${end(false, 3)}`),
      page(end(false, 0)),
      refuse(403, errorOf('AccessDenied')),
    ),
  );
  expect(await listParts(to, 'an-upload')).toEqual(
    [1, 3].map((number) => ({ number, bytes: 5, crc32: 1, etag: `"e${number}"` })),
  );
  expect(await listParts(to, 'an-upload')).toEqual([]);
  expect(server.requests).toHaveLength(3);
});

test('27: a part whose checksum S3 did not find is a broken transfer, in words', async () => {
  const { to } = await startS3Answers(refuse(400, errorOf('BadDigest')));
  await expect(send(to)).rejects.toMatchObject({
    name: 'CopyFailed',
    message: expect.stringContaining(`S3 refused the transfer of ${to.key} (BadDigest)`),
  });
});

test('27: a refused ListParts names its permission', async () => {
  const { to } = await startS3Answers(refuse(403, errorOf('AccessDenied')));
  const facts = { permission: 's3:ListMultipartUploadParts', status: 403 };
  await expect(listParts(to, 'an-upload')).rejects.toMatchObject({ name: 'AccessRefused', facts });
});

test.each([
  [{ 'x-amz-version-id': 'v7' }, { version_id: 'v7' }],
  [{}, {}],
])('an object has the version that S3 names: %j', async (headers, described) => {
  const body = Buffer.from('[]');
  const crc = base64Crc32(crc32(body));
  const { to } = await startS3Answers(refuse(200, '', { ...headers, 'x-amz-checksum-crc32': crc }));
  expect(await putObject(to, KIND, body)).toEqual({ bytes: 2, crc32: crc, ...described });
});

test('an abort gives up after 8 s without an answer, and never throws', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort());
  await abortUpload((await startS3Answers(() => {})).to, 'an-upload');
  expect(timeout.mock.calls).toEqual([[8_000]]);
  timeout.mockRestore();
  await abortUpload((await startS3Answers(refuse(403))).to, 'an-upload');
});

test('9: a try of S3 that hangs ends after a minute', async () => {
  setEnvironment(awsEnvironment({ S3: 'http://127.0.0.1:1' }));
  const s3 = createS3Client();
  onTestFinished(() => s3.destroy());
  await s3.send(new HeadBucketCommand({ Bucket: 'exports' })).catch(() => {}); // makes the handler read its options
  expect(s3.config.requestHandler).toMatchObject({
    config: {
      connectionTimeout: 5_000,
      requestTimeout: 60_000,
      socketTimeout: 60_000,
      throwOnRequestTimeout: true,
    },
  });
});

describe('a copy to an S3 with faults', () => {
  const body = jsonOf(6 * PART + 17);
  const small = jsonOf(1_000);
  const withFaults = (faults: Fault[], file = body): Promise<Outcome> =>
    copyOnce({ body: file }, { s3: { faults } });

  test.each([
    ['UploadPart', 'SlowDown'],
    ['UploadPart', 'reset'],
    ['UploadPart', 'lost answer'],
    ['CreateMultipartUpload', 'SlowDown'],
    ['CompleteMultipartUpload', 'InternalError'],
    ['CompleteMultipartUpload', 'error inside 200'],
    ['PutObject', 'SlowDown'],
  ] as const)('25: %s that meets "%s" is tried again, without another GET', async (operation, answer) => {
    const file = operation === 'PutObject' ? small : body;
    const outcome = await withFaults([{ operation, answer, times: 4 }], file);
    expectDelivered(outcome, file);
    expect(outcome.host.requests).toHaveLength(1);
  });

  test('25: that stays unavailable leaves a checkpoint if parts were stored, and nothing otherwise', async () => {
    const complete = await withFaults([
      { operation: 'CompleteMultipartUpload', answer: 'SlowDown', times: 5 },
    ]);
    expect(complete.checkpoint).toMatchObject({ stored_bytes: 6 * PART });
    const fourth = await withFaults([{ operation: 'UploadPart', part: 4, answer: 'SlowDown', times: 5 }]);
    expect(fourth.checkpoint).toMatchObject({ stored_bytes: 3 * PART });
    const first = await withFaults([{ operation: 'UploadPart', part: 1, answer: 'SlowDown', times: 5 }]);
    expectNothing(first, 'ServiceUnavailable');
    expectNothing(
      await withFaults([{ operation: 'PutObject', answer: 'SlowDown', times: 5 }], small),
      'ServiceUnavailable',
    );
  });

  const REFUSALS = ['BadDigest', 'InvalidPart', 'InvalidRequest', 'EntityTooSmall', 'NoSuchUpload'] as const;
  test.each(REFUSALS)('26: that answers Complete with %s fails with nothing visible', async (answer) => {
    expectNothing(await withFaults([{ operation: 'CompleteMultipartUpload', answer }]), 'CopyFailed');
  });

  test.each([
    ['CreateMultipartUpload', body],
    ['UploadPart', body],
    ['CompleteMultipartUpload', body],
    ['PutObject', small],
  ] as const)('27: that refuses %s fails at once and names the permission', async (operation, file) => {
    const answer = 'AccessDenied';
    const which = operation === 'UploadPart' ? { part: 5 } : {};
    const outcome = await withFaults([{ operation, answer, ...which }], file);
    expectNothing(outcome, 'AccessRefused');
    expect(String(outcome.error)).toMatch(/s3:PutObject.*kms:GenerateDataKey/);
    expect(outcome.s3.journal.filter(({ error }) => error === answer)).toHaveLength(1);
  });

  const SIZES = [
    { size: 'in parts', file: body },
    { size: 'in one request', file: small },
  ];
  test.each(SIZES)('27: $size, every call names the expected owner of the bucket', async ({ file }) => {
    const { error, s3 } = await copyOnce({ body: file });
    expect(error).toBeUndefined();
    expect(s3.journal.filter(({ status }) => status >= 400)).toEqual([]);
  });

  test.each(SIZES)('27: $size, a bucket of another account is refused', async ({ file }) => {
    const destination = { expectedBucketOwner: '111122223333' };
    expectNothing(await copyOnce({ body: file }, { destination }), 'AccessRefused');
  });
});
