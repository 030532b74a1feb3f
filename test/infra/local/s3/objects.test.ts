import { fstatSync, writeSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { ACCOUNT } from '../../../../infra/local/s3/server.ts';
import { newestChange } from '../../../../infra/local/s3/store.ts';
import { BUCKET, startTestS3 } from '../../../support/s3.ts';

const KEY = 'exports/account=acme/report.json';
const bucket = { Bucket: BUCKET, ExpectedBucketOwner: ACCOUNT };
const at = { ...bucket, Key: KEY };

function put({ client }: { client: S3Client }, Body: string, more: Partial<PutObjectCommandInput> = {}) {
  return client.send(new PutObjectCommand({ ...at, Body, ...more }));
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

test('an object is a plain file at its key, and its metadata is in another folder', async () => {
  await using s3 = await startTestS3();
  const described = { ContentType: 'application/json', ContentEncoding: 'gzip' };
  const { ETag } = await put(s3, '[1,2]', described);
  expect(await readFile(join(s3.directory, BUCKET, KEY), 'utf8')).toBe('[1,2]');
  expect(await readdir(join(s3.directory, BUCKET, 'exports/account=acme'))).toEqual(['report.json']);
  const head = await s3.client.send(new HeadObjectCommand({ ...at, ChecksumMode: 'ENABLED' }));
  const checksum = { ChecksumCRC32: expect.stringMatching(/^.{6}==$/), ChecksumType: 'FULL_OBJECT' };
  expect(head).toMatchObject({ ETag, ContentLength: 5, ...described, ...checksum });
  const list = await s3.client.send(new ListObjectsV2Command({ ...bucket, Prefix: 'exports/' }));
  expect(list.Contents?.map(({ Key, Size }) => [Key, Size])).toEqual([[KEY, 5]]);
});

test('the end of an object is served', async () => {
  await using s3 = await startTestS3();
  await put(s3, 'abcdef');
  const get = (Range: string) => s3.client.send(new GetObjectCommand({ ...at, Range }));
  const end = await get('bytes=-2');
  expect(await end.Body?.transformToString()).toBe('ef');
  expect(end.ContentRange).toBe('bytes 4-5/6');
  expect(await (await get('bytes=-9')).Body?.transformToString()).toBe('abcdef');
});

test.each([
  ['If-None-Match: *', async () => ({ IfNoneMatch: '*' })],
  ['If-Match', async (s3: { client: S3Client }) => ({ IfMatch: (await put(s3, 'before')).ETag })],
])('of many writes with %s at once, one succeeds', async (_, conditionFor) => {
  await using s3 = await startTestS3();
  const condition = await conditionFor(s3);
  const writes = Array.from({ length: 20 }, (_, n) => put(s3, `writer ${n}`, condition));
  const ended = await Promise.allSettled(writes);
  const failed = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason.name] : []));
  expect(failed).toEqual(Array(19).fill('PreconditionFailed'));
});

test("the newest change of an object is told by the server's clock, after a restart too", async () => {
  const future = Date.now() + 24 * 60 * 60 * 1000;
  let now = future;
  await using s3 = await startTestS3({ now: () => now });
  expect(await newestChange(s3.directory)).toBeUndefined();
  await put(s3, 'x');
  now = Date.now();
  await put(s3, 'y', { Key: 'exports/account=acme/later.json' });
  await writeFile(join(s3.directory, BUCKET, '.meta', 'exports', 'broken.json'), '{');
  expect(await newestChange(s3.directory)).toBe(future);
  expect(await newestChange(join(s3.directory, 'absent'))).toBeUndefined();
});

test('a stream (aws-chunked, checksum in the trailer) arrives unchanged', async () => {
  await using s3 = await startTestS3();
  const bytes = Buffer.alloc(300_000, 'stream\r\n');
  const Body = Readable.from([bytes.subarray(0, 70_001), bytes.subarray(70_001)]);
  await s3.client.send(new PutObjectCommand({ ...at, Body, ContentLength: bytes.length }));
  expect(await readFile(join(s3.directory, BUCKET, KEY))).toEqual(bytes);
});

test.each<[string, string, Partial<PutObjectCommandInput>]>([
  ['a wrong CRC32', 'BadDigest', { ChecksumCRC32: 'AAAAAA==' }],
  ['another owner', 'AccessDenied', { ExpectedBucketOwner: '111122223333' }],
  ['another bucket', 'NoSuchBucket', { Bucket: 'elsewhere' }],
  ...['../outside', 'a/../../b', '/absolute', 'a//b', '.meta/x', '.uploads/x', 'a\\b'].map(
    (Key): [string, string, Partial<PutObjectCommandInput>] => [`the key ${Key}`, 'InvalidArgument', { Key }],
  ),
])('%s is refused with %s, and nothing is stored', async (_, name, input) => {
  await using s3 = await startTestS3();
  await expect(put(s3, 'x', input)).rejects.toMatchObject({ name });
  expect(await filesIn(s3.directory)).toEqual([]);
});

test('a bucket with versions serves each version of an object, and lists only the objects', async () => {
  await using s3 = await startTestS3({ versioned: true });
  const first = await put(s3, 'one');
  const second = await put(s3, 'second');
  const read = async (VersionId?: string) =>
    (await s3.client.send(new GetObjectCommand({ ...at, VersionId }))).Body?.transformToString();
  expect([await read(first.VersionId), await read(second.VersionId), await read()]).toEqual([
    'one',
    'second',
    'second',
  ]);
  const { VersionId } = await s3.client.send(new HeadObjectCommand(at));
  expect(VersionId).toBe(second.VersionId);
  await expect(read('another')).rejects.toMatchObject({ name: 'NoSuchVersion' });
  const { Contents } = await s3.client.send(new ListObjectsV2Command(bucket));
  expect(Contents?.map(({ Key }) => Key)).toEqual([KEY]);
});

const MANY_BYTES = Buffer.alloc(4 * 1024 * 1024);

test.each([
  ['at once', () => MANY_BYTES],
  ['as a stream', () => Readable.from([MANY_BYTES])],
])('an object sent %s that the disk has no room for is refused with ENOSPC, and nothing is stored', async (_, body) => {
  const write = (file: number, bytes: Buffer, offset: number) => {
    if (fstatSync(file).size > 100_000) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    return writeSync(file, bytes, offset);
  };
  await using s3 = await startTestS3({ write });
  const command = new PutObjectCommand({ ...at, Body: body(), ContentLength: MANY_BYTES.length });
  await expect(s3.client.send(command)).rejects.toMatchObject({
    name: 'ENOSPC',
    $metadata: { httpStatusCode: 403 },
  });
  expect(await filesIn(s3.directory)).toEqual([]);
});
