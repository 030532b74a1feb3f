import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import { PART_BYTES } from '../../../functions/copy/parts.ts';
import { createS3Client, type Destination } from '../../../functions/copy/s3-call.ts';
import {
  abortUpload,
  createUpload,
  createUploadPart,
  listParts,
  putObject,
} from '../../../functions/copy/upload.ts';
import { ACCOUNT, CREDENTIALS } from '../../../infra/local/s3/server.ts';
import { awsEnvironment, setEnvironment } from '../../support/lambda.ts';
import type { Answer } from '../../support/listen.ts';
import { errorOf, refuse, startS3Answers } from '../../support/s3-answers.ts';

const KIND = { contentType: 'application/json' };

function sendXml(text: string): Answer {
  return (_, response) => response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
}

const listed = (number: number, checksum: string) =>
  `<Part><PartNumber>${number}</PartNumber><Size>5</Size><ETag>"e${number}"</ETag>${checksum}</Part>`;

test('a part that S3 lists without a checksum is left out', async () => {
  const checksum = '<ChecksumCRC32>AAAAAQ==</ChecksumCRC32>';
  const parts = [listed(1, checksum), listed(2, ''), listed(3, checksum)].join('');
  const { to } = await startS3Answers(sendXml(`<ListPartsResult>${parts}</ListPartsResult>`));
  expect(await listParts(to, 'an-upload')).toEqual(
    [1, 3].map((number) => ({ number, bytes: 5, crc32: 1, etag: `"e${number}"` })),
  );
});

test('an upload may have no parts yet', async () => {
  const { to } = await startS3Answers(sendXml('<ListPartsResult></ListPartsResult>'));
  expect(await listParts(to, 'an-upload')).toEqual([]);
});

test('27: a refused ListParts names its permission', async () => {
  const { to } = await startS3Answers(refuse(403, errorOf('AccessDenied')));
  await expect(listParts(to, 'an-upload')).rejects.toMatchObject({
    name: 'AccessRefused',
    facts: { permission: 's3:ListMultipartUploadParts', status: 403 },
  });
});

test('an answer without an upload id fails the copy', async () => {
  const { to } = await startS3Answers(
    sendXml('<InitiateMultipartUploadResult></InitiateMultipartUploadResult>'),
  );
  await expect(createUpload(to, KIND)).rejects.toMatchObject({ name: 'CopyFailed' });
});

test.each([
  [{ 'x-amz-version-id': 'v7' }, { version_id: 'v7' }],
  [{}, {}],
])('an object has the version that S3 names: %j', async (headers, said) => {
  const body = Buffer.from('[]');
  const crc = base64Crc32(crc32(body));
  const { to } = await startS3Answers(refuse(200, '', { ...headers, 'x-amz-checksum-crc32': crc }));
  expect(await putObject(to, KIND, body)).toEqual({ bytes: 2, crc32: crc, ...said });
});

test('an abort gives up after 8 s without an answer, and at once if S3 refuses it', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort());
  onTestFinished(() => timeout.mockRestore());
  const silent = await startS3Answers(() => {});
  await abortUpload(silent.to, 'an-upload');
  expect(timeout.mock.calls).toEqual([[8_000]]);
  timeout.mockRestore();
  const refusing = await startS3Answers(refuse(403));
  await abortUpload(refusing.to, 'an-upload');
  expect(refusing.server.requests).toHaveLength(1);
});

const body = Buffer.from('a part of a file');
const part = { number: 7, body, crc32: crc32(body) };
const { signal } = new AbortController();
const uploadPart = (to: Destination, ...part: Parameters<ReturnType<typeof createUploadPart>>) =>
  createUploadPart(to)(...part);
const STORED = { etag: '"of the part"', 'x-amz-checksum-crc32': base64Crc32(crc32(body)) };
const stored: Answer = refuse(200, '', STORED);
const slowDown = refuse(503, errorOf('SlowDown'));

/** Gives one answer after the other, and repeats the last one. */
function inTurn(...answers: Answer[]): Answer {
  return (seen, response) => (answers.length > 1 ? answers.shift() : answers[0])?.(seen, response);
}

test('a part is sent with its CRC32 and the owner of the bucket, without a SHA-256', async () => {
  const { to, server } = await startS3Answers(stored);
  const uploaded = await uploadPart(to, 'an upload', part, signal);
  expect(uploaded).toEqual({ number: 7, bytes: body.length, crc32: crc32(body), etag: '"of the part"' });
  const [seen] = server.requests;
  expect(seen).toMatchObject({
    ...{
      method: 'PUT',
      path: expect.stringMatching(/^\/exports\/report.json\?.*partNumber=7&uploadId=an%20upload/),
    },
    ...{ body: 'a part of a file' },
    headers: {
      'content-length': '16',
      'x-amz-checksum-crc32': base64Crc32(crc32(body)),
      'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
      'x-amz-expected-bucket-owner': to.expectedBucketOwner,
    },
  });
  expect(seen?.headers.authorization).toContain('x-amz-expected-bucket-owner');
});

test('35: a part is signed with the time of S3 if the clock is wrong', async () => {
  const late = refuse(403, errorOf('RequestTimeTooSkewed'), {
    date: new Date(Date.now() + 20 * 60_000).toUTCString(),
  });
  const { to, server } = await startS3Answers(inTurn(late, stored));
  await uploadPart(to, 'an upload', part, signal);
  const [first, second] = server.requests.map(({ headers }) => timeOf(String(headers['x-amz-date'])));
  expect(Number(second) - Number(first)).toBeGreaterThan(19 * 60_000);
});

test('a part that S3 finds too late is sent again if the answer has no date', async () => {
  const late: Answer = (seen, response) => {
    response.sendDate = false;
    return refuse(403, errorOf('RequestTimeTooSkewed'))(seen, response);
  };
  const { to, server } = await startS3Answers(inTurn(late, stored));
  await uploadPart(to, 'an upload', part, signal);
  expect(server.requests).toHaveLength(2);
});

test('each part is signed with the credentials of its time', async () => {
  let asked = 0;
  const credentials = async () => {
    asked += 1;
    const sessionToken = `token-${asked}`;
    return { accessKeyId: `KEY${asked}`, secretAccessKey: 'secret', sessionToken, expiration: new Date() };
  };
  const { to, server } = await startS3Answers(stored, { credentials });
  const upload = createUploadPart(to);
  for (const number of [1, 2]) await upload('an upload', { ...part, number }, signal);
  const signed = server.requests.map(({ headers }) => ({
    key: /Credential=KEY(\d+)\//.exec(String(headers.authorization))?.[1],
    token: headers['x-amz-security-token'],
  }));
  expect(new Set(signed.map(({ key }) => key)).size).toBe(2);
  for (const { key, token } of signed) expect(token).toBe(`token-${key}`);
});

test('a part goes to the address that the SDK gives the bucket', async () => {
  const sent: unknown[] = [];
  const handle = async (request: unknown) => {
    sent.push(request);
    return { response: { statusCode: 200, headers: STORED, body: Readable.from([]) } };
  };
  const s3 = new S3Client({ region: 'eu-west-3', credentials: CREDENTIALS, requestHandler: { handle } });
  const to = { s3, bucket: 'exports', key: 'account=acme/a b.json', expectedBucketOwner: ACCOUNT };
  await uploadPart(to, 'an upload', part, signal);
  expect(sent).toMatchObject([
    {
      ...{ protocol: 'https:', hostname: 'exports.s3.eu-west-3.amazonaws.com' },
      ...{ path: '/account%3Dacme/a%20b.json', query: { partNumber: '7', uploadId: 'an upload' } },
      headers: {
        host: 'exports.s3.eu-west-3.amazonaws.com',
        authorization: expect.stringMatching(/\/eu-west-3\/s3\/aws4_request, /),
      },
    },
  ]);
});

function timeOf(amzDate: string): number {
  return Date.parse(amzDate.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
}

test('25: each pause before another try is twice as long as the one before', async () => {
  const at: number[] = [];
  const { to } = await startS3Answers((seen, response) => {
    at.push(performance.now());
    return (at.length === 5 ? stored : slowDown)(seen, response);
  });
  await uploadPart({ ...to, retryPause: 20 }, 'an upload', part, signal);
  const pauses = at.slice(1).map((time, index) => time - (at[index] ?? 0));
  expect(pauses).toHaveLength(4);
  // A timer of Node may fire a millisecond early.
  for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThan(20 * 2 ** index - 2);
});

test('25: a part is sent five times at most', async () => {
  const { to, server } = await startS3Answers(slowDown);
  await expect(uploadPart(to, 'an upload', part, signal)).rejects.toMatchObject({
    name: 'ServiceUnavailable',
    facts: { aws_error: 'SlowDown', status: 503 },
  });
  expect(server.requests).toHaveLength(5);
});

test('25: a part is sent again after a 502 of a gateway, which is not XML', async () => {
  const { to, server } = await startS3Answers(
    inTurn(refuse(502, '<html>Bad gateway</html>'), refuse(502), stored),
  );
  await uploadPart(to, 'an upload', part, signal);
  expect(server.requests).toHaveLength(3);
});

test.each([
  ['27', 'AccessDenied', 403, 'AccessRefused'],
  ['27', 'NoSuchBucket', 404, 'AccessRefused'],
  ['25', 'NoSuchUpload', 404, 'CopyFailed'],
])('%s: %s is not tried again', async (_, code, status, name) => {
  const { to, server } = await startS3Answers(refuse(status, errorOf(code), { 'x-amz-request-id': 'S3RQ7' }));
  const facts = name === 'AccessRefused' ? { aws_error: code, aws_request_id: 'S3RQ7' } : { aws_error: code };
  await expect(uploadPart(to, 'an upload', part, signal)).rejects.toMatchObject({ name, facts });
  expect(server.requests).toHaveLength(1);
});

test.each([
  ['another checksum', { ...STORED, 'x-amz-checksum-crc32': 'AAAAAA==' }],
  ['no ETag', { 'x-amz-checksum-crc32': STORED['x-amz-checksum-crc32'] }],
])('26: a part that S3 answers with %s fails the copy at once', async (_, headers) => {
  const { to, server } = await startS3Answers(refuse(200, '', headers));
  await expect(uploadPart(to, 'an upload', part, signal)).rejects.toMatchObject({ name: 'CopyFailed' });
  expect(server.requests).toHaveLength(1);
});

test('credentials that are not available are not requested again, and nothing is sent', async () => {
  let requested = 0;
  const credentials = async () => {
    requested += 1;
    throw new Error('no credentials');
  };
  const { to, server } = await startS3Answers(stored, { credentials });
  await expect(uploadPart(to, 'an upload', part, signal)).rejects.toMatchObject({
    name: 'ServiceUnavailable',
  });
  expect([requested, server.requests.length]).toEqual([1, 0]);
});

test.each([
  ['while S3 does not answer', () => {}, 0],
  ['in the pause before another try', slowDown, 1_000_000],
] as const)('a part that is cancelled %s ends at once', async (_, answer, retryPause) => {
  const { promise: seen, resolve } = Promise.withResolvers<void>();
  const { to, server } = await startS3Answers((request, response) => {
    answer(request, response);
    resolve();
  });
  const stopping = new AbortController();
  const sending = uploadPart({ ...to, retryPause }, 'an upload', part, stopping.signal);
  await seen;
  stopping.abort(new Error('the time is up'));
  await expect(sending).rejects.toThrow(/the time is up|aborted/);
  expect(server.requests).toHaveLength(1);
});

test('a client of S3 reuses its connection for the next part', async () => {
  const ports = new Set<number | undefined>();
  const { server } = await startS3Answers((seen, response) => {
    ports.add(response.socket?.remotePort);
    stored(seen, response);
  });
  const s3 = createS3Client({
    ...{ endpoint: server.url, region: 'eu-west-1', forcePathStyle: true, credentials: CREDENTIALS },
  });
  onTestFinished(() => s3.destroy());
  const to = { s3, bucket: 'exports', key: 'report.json', expectedBucketOwner: ACCOUNT };
  const large = Buffer.alloc(PART_BYTES);
  for (const number of [1, 2, 3])
    await uploadPart(to, 'an upload', { number, body: large, crc32: crc32(large) }, signal).catch(() => {});
  expect(server.requests.every(({ headers }) => headers.expect === undefined)).toBe(true);
  expect([server.requests.length, ports.size]).toEqual([3, 1]);
});

test('9: a try of S3 that hangs ends after a minute, and the client does not retry', async () => {
  setEnvironment(awsEnvironment({ S3: 'http://127.0.0.1:1' }));
  const s3 = createS3Client();
  onTestFinished(() => s3.destroy());
  await expect(s3.config.maxAttempts()).resolves.toBe(1);
  await s3.send(new HeadBucketCommand({ Bucket: 'exports' })).catch(() => {}); // makes the handler read its options
  expect(s3.config.requestHandler).toMatchObject({
    config: {
      ...{ connectionTimeout: 5_000, requestTimeout: 60_000, socketTimeout: 60_000 },
      throwOnRequestTimeout: true,
    },
  });
});
