import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { base64Crc32 } from '../../../../functions/copy/crc32.ts';
import { BUCKET, openS3 } from '../../../support/s3.ts';

const execute = promisify(execFile);

const TOO_LARGE = fileURLToPath(new URL('./too-large.ts', import.meta.url));

const KEY = 'exports/account=acme/report.json';
const at = { Bucket: BUCKET, Key: KEY };

test('an object is a plain file at its key, with its metadata beside the visible tree', async () => {
  await using s3 = await openS3();
  const put = new PutObjectCommand({
    ...at,
    Body: '[1,2]',
    ContentType: 'application/json',
    ContentEncoding: 'gzip',
  });
  const { ETag } = await s3.client.send(put);
  expect(await readFile(join(s3.directory, BUCKET, KEY), 'utf8')).toBe('[1,2]');
  expect(await readdir(join(s3.directory, BUCKET, 'exports/account=acme'))).toEqual(['report.json']);
  const head = await s3.client.send(new HeadObjectCommand({ ...at, ChecksumMode: 'ENABLED' }));
  expect(head).toMatchObject({
    ETag,
    ContentLength: 5,
    ContentType: 'application/json',
    ContentEncoding: 'gzip',
  });
  expect(head).toMatchObject({
    ChecksumCRC32: expect.stringMatching(/^.{6}==$/),
    ChecksumType: 'FULL_OBJECT',
  });
  const list = await s3.client.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix: 'exports/' }));
  expect(list.Contents?.map(({ Key, Size }) => [Key, Size])).toEqual([[KEY, 5]]);
});

test('a range is served, and one behind the end is refused', async () => {
  await using s3 = await openS3();
  await s3.client.send(new PutObjectCommand({ ...at, Body: 'abcdef' }));
  const part = await s3.client.send(new GetObjectCommand({ ...at, Range: 'bytes=2-' }));
  expect(await part.Body?.transformToString()).toBe('cdef');
  expect(part.ContentRange).toBe('bytes 2-5/6');
  const behind = s3.client.send(new GetObjectCommand({ ...at, Range: 'bytes=6-' }));
  await expect(behind).rejects.toMatchObject({ name: 'InvalidRange' });
});

test('a deleted object is gone, and deleting it again is no error', async () => {
  await using s3 = await openS3();
  await s3.client.send(new PutObjectCommand({ ...at, Body: 'x' }));
  await s3.client.send(new DeleteObjectCommand(at));
  await s3.client.send(new DeleteObjectCommand(at));
  await expect(s3.client.send(new GetObjectCommand(at))).rejects.toMatchObject({ name: 'NoSuchKey' });
});

test('If-None-Match: * keeps the object that is there', async () => {
  await using s3 = await openS3();
  const put = (Body: string) => s3.client.send(new PutObjectCommand({ ...at, Body, IfNoneMatch: '*' }));
  await put('first');
  await expect(put('second')).rejects.toMatchObject({ name: 'PreconditionFailed' });
  expect(await readFile(join(s3.directory, BUCKET, KEY), 'utf8')).toBe('first');
});

test('a stream of the SDK (aws-chunked, checksum in the trailer) arrives unchanged', async () => {
  await using s3 = await openS3();
  const bytes = Buffer.alloc(300_000, 'stream\r\n');
  const Body = Readable.from([bytes.subarray(0, 70_001), bytes.subarray(70_001)]);
  await s3.client.send(new PutObjectCommand({ ...at, Body, ContentLength: bytes.length }));
  expect(await readFile(join(s3.directory, BUCKET, KEY))).toEqual(bytes);
});

test.each([
  ['CRC32', { ChecksumCRC32: 'AAAAAA==' }],
  ['MD5', { ContentMD5: createHash('md5').update('other').digest('base64') }],
])('a wrong %s is refused, and nothing is visible', async (_, digest) => {
  await using s3 = await openS3();
  const put = s3.client.send(new PutObjectCommand({ ...at, Body: 'x', ...digest }));
  await expect(put).rejects.toMatchObject({ name: 'BadDigest' });
  expect(await visible(s3.directory)).toEqual([]);
});

test.each([
  '../outside',
  'a/../../b',
  '/absolute',
  'a//b',
  '.meta/x',
  '.uploads/x',
  'a\\b',
])('the key %j is refused', async (Key) => {
  await using s3 = await openS3();
  const put = s3.client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'x' }));
  await expect(put).rejects.toMatchObject({ name: 'InvalidArgument' });
  expect(await visible(s3.directory)).toEqual([]);
});

test('another owner, another bucket, another secret are refused', async () => {
  await using s3 = await openS3();
  const put = { ...at, Body: 'x' };
  const foreign = s3.client.send(new PutObjectCommand({ ...put, ExpectedBucketOwner: '111122223333' }));
  await expect(foreign).rejects.toMatchObject({ name: 'AccessDenied' });
  const elsewhere = s3.client.send(new PutObjectCommand({ ...put, Bucket: 'elsewhere' }));
  await expect(elsewhere).rejects.toMatchObject({ name: 'NoSuchBucket' });
  const other = s3.newClient({
    credentials: { accessKeyId: 'LOCALACCESSKEYID', secretAccessKey: 'guessed' },
  });
  await expect(other.send(new PutObjectCommand(put))).rejects.toMatchObject({
    name: 'SignatureDoesNotMatch',
  });
  const unsigned = await fetch(`${s3.endpoint}/${BUCKET}/${KEY}`);
  expect([unsigned.status, await unsigned.text()]).toEqual([403, expect.stringContaining('AccessDenied')]);
});

test('planted faults strike as often as asked for, and the journal has them', async () => {
  await using s3 = await openS3({ faults: [{ operation: 'PutObject', answer: 'SlowDown', times: 2 }] });
  await s3.newClient({ maxAttempts: 3 }).send(new PutObjectCommand({ ...at, Body: 'x' }));
  expect(s3.journal.map(({ operation, status }) => `${operation} ${status}`)).toEqual([
    'PutObject 503',
    'PutObject 503',
    'PutObject 200',
  ]);
});

async function visible(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

test('an object that the disk has no room for leaves none of its bytes', async () => {
  // As little as a file may hold, in blocks of 512 or 1,024 bytes: what a full disk does, without filling one.
  const { stdout } = await execute('sh', ['-c', 'ulimit -f 16; exec "$0" "$1"', process.execPath, TOO_LARGE]);
  expect(JSON.parse(stdout)).toEqual({ stored: false, left: [] });
});

test('an object has its own metadata, whatever is done to its key at once', async () => {
  await using s3 = await openS3();
  const paths = [join(s3.directory, BUCKET, KEY), join(s3.directory, BUCKET, '.meta', `${KEY}.json`)];
  const read = (path = '') => readFile(path, 'utf8').catch(() => undefined);
  for (let round = 0; round < 40; round++) {
    const put = (Body: string) => s3.client.send(new PutObjectCommand({ ...at, Body }));
    await Promise.all([put('[1]'), s3.client.send(new DeleteObjectCommand(at)), put('[2]')]);
    const [body, meta] = await Promise.all(paths.map(read));
    expect([round, meta && JSON.parse(meta).crc32]).toEqual([round, body && base64Crc32(crc32(body))]);
  }
});
