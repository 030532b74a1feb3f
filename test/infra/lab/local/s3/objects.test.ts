import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { LOCAL_AWS_ACCOUNT } from '../../../../../infra/lab/local/s3/server.ts';
import { BUCKET, filesIn, startTestS3 } from '../../../../support/s3.ts';

const KEY = 'exports/account=acme/report.json';
const bucket = { Bucket: BUCKET, ExpectedBucketOwner: LOCAL_AWS_ACCOUNT };
const at = { ...bucket, Key: KEY };

function put({ client }: { client: S3Client }, Body: string, more: Partial<PutObjectCommandInput> = {}) {
  return client.send(new PutObjectCommand({ ...at, Body, ...more }));
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

test.each<[string, string, Partial<PutObjectCommandInput>]>([
  ['a wrong CRC32', 'BadDigest', { ChecksumCRC32: 'AAAAAA==' }],
  ['another owner', 'AccessDenied', { ExpectedBucketOwner: '111122223333' }],
  ['another bucket', 'NoSuchBucket', { Bucket: 'elsewhere' }],
])('%s is refused with %s, and nothing is stored', async (_, name, input) => {
  await using s3 = await startTestS3();
  await expect(put(s3, 'x', input)).rejects.toMatchObject({ name });
  expect(await filesIn(s3)).toEqual([]);
});

test('a bucket with versions serves each version of an object, and lists only the objects', async () => {
  await using s3 = await startTestS3({ versioned: true });
  const first = await put(s3, 'one');
  const second = await put(s3, 'second');
  const read = async (VersionId?: string) =>
    (await s3.client.send(new GetObjectCommand({ ...at, VersionId }))).Body?.transformToString();
  expect(await read(first.VersionId)).toBe('one');
  expect(await read(second.VersionId)).toBe('second');
  expect(await read()).toBe('second');
  for (const { VersionId } of [first, second])
    expect(await s3.client.send(new HeadObjectCommand({ ...at, VersionId }))).toMatchObject({ VersionId });
  expect((await s3.client.send(new HeadObjectCommand(at))).VersionId).toBe(second.VersionId);
  // S3 looks at the form of an unknown id.
  const name = expect.stringMatching(/^(NoSuchVersion|InvalidArgument)$/);
  await expect(read('another')).rejects.toMatchObject({ name });
  const { Contents } = await s3.client.send(new ListObjectsV2Command(bucket));
  expect(Contents?.map(({ Key }) => Key)).toEqual([KEY]);
});
