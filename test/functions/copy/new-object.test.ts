import { expect, test } from 'vitest';
import { createNewObjects } from '../../../functions/copy/new-object.ts';
import { DownloadRefused } from '../../../functions/workflow/errors.ts';
import { awsEnvironment, SETTINGS, setEnvironment } from '../../support/lambda.ts';
import { startS3Answers } from '../../support/s3-answers.ts';
import { startBucket } from '../../support/surroundings.ts';

const KEY = 'exports/items.ndjson';
const lines = { contentType: 'application/x-ndjson' };

/** A bucket, and the function that writes new objects of at most ten bytes to it. */
async function startS3Server(headers: Record<string, string> = {}) {
  const { server } = await startS3Answers(({ headers: { 'x-amz-checksum-crc32': crc32 = '' } }, response) =>
    response.writeHead(200, { 'x-amz-checksum-crc32': crc32, ...headers }).end(),
  );
  setEnvironment(awsEnvironment({ S3: server.url }));
  return { server, open: createNewObjects({ ...SETTINGS, MAX_DOWNLOAD_BYTES: '10' }) };
}

test.each([
  ['the version that S3 names', { 'x-amz-version-id': 'v1' }, { version_id: 'v1' }],
  ['no version if S3 names none', {}, {}],
])('a new object is described with %s', async (_, headers, described) => {
  const { open, server } = await startS3Server(headers);
  const object = open(KEY, lines);
  await object.write(Buffer.from('{"a":1}\n'));
  expect(await object.end()).toStrictEqual({
    ...{ key: KEY, bytes: 8, crc32: 'dOijRg==', content_type: 'application/x-ndjson' },
    ...described,
  });
  expect(server.requests).toMatchObject([
    { method: 'PUT', headers: { 'x-amz-expected-bucket-owner': SETTINGS.BUCKET_OWNER } },
  ]);
});

test('a new object is described with its content encoding', async () => {
  const { open } = await startS3Server();
  const object = open(KEY, { ...lines, contentEncoding: 'gzip' });
  expect(await object.end()).toMatchObject({ bytes: 0, content_encoding: 'gzip' });
});

test('a new object may be as large as max_download_bytes; one more byte is refused', async () => {
  const { open, server } = await startS3Server();
  const object = open(KEY, lines);
  await object.write(Buffer.from('0123456789'));
  const refused = await object.write(Buffer.from('x')).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(DownloadRefused);
  expect(String(refused)).toContain(`${KEY} is larger than max_download_bytes (10) allows`);
  await object.abort();
  expect(server.requests).toEqual([]);
});

test('an aborted object leaves no parts', async () => {
  const { s3, createObject } = await startBucket({ MAX_DOWNLOAD_BYTES: '20000000' });
  const object = createObject(KEY, lines);
  await object.write(Buffer.alloc(16_800_000));
  await object.abort();
  // The server may note a cancelled part after the end of the upload.
  const operations = s3.journal.map(({ operation }) => operation);
  expect(operations.filter((operation) => operation !== 'UploadPart')).toEqual([
    'CreateMultipartUpload',
    'AbortMultipartUpload',
  ]);
});
