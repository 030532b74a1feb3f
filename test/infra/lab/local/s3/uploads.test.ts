import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListPartsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { base64Crc } from '../../../../../infra/lab/local/s3/objects.ts';
import { LOCAL_AWS_ACCOUNT } from '../../../../../infra/lab/local/s3/server.ts';
import { BUCKET, startTestS3 } from '../../../../support/s3.ts';

const at = { Bucket: BUCKET, ExpectedBucketOwner: LOCAL_AWS_ACCOUNT, Key: 'exports/report.json' };
const parts = [randomBytes(5 * 1024 * 1024), randomBytes(5 * 1024 * 1024), randomBytes(3)];
const whole = Buffer.concat(parts);
const checksum = base64Crc(crc32(whole));

/** Starts S3 with one open upload. */
async function startUpload() {
  const s3 = await startTestS3();
  const { client } = s3;
  const create = { ...at, ContentType: 'application/json', ChecksumAlgorithm: 'CRC32' } as const;
  const { UploadId = '' } = await client.send(
    new CreateMultipartUploadCommand({ ...create, ChecksumType: 'FULL_OBJECT' }),
  );
  const upload = { ...at, UploadId };
  const put = async (PartNumber: number, Body: Uint8Array = Buffer.alloc(0)): Promise<CompletedPart> => {
    const { ETag, ChecksumCRC32 } = await client.send(new UploadPartCommand({ ...upload, PartNumber, Body }));
    return { PartNumber, ETag, ChecksumCRC32 };
  };
  const putAll = async (bodies: readonly Uint8Array[]): Promise<CompletedPart[]> => {
    const done: CompletedPart[] = [];
    for (const [index, body] of bodies.entries()) done.push(await put(index + 1, body));
    return done;
  };
  const complete = (Parts: CompletedPart[], claim = {}) =>
    client.send(
      new CompleteMultipartUploadCommand({
        ...upload,
        MultipartUpload: { Parts },
        ChecksumType: 'FULL_OBJECT',
        ...claim,
      }),
    );
  const list = () => client.send(new ListPartsCommand(upload));
  const readObject = () => readFile(join(s3.directory, BUCKET, at.Key));
  return { ...s3, put, putAll, complete, list, readObject };
}

test('parts sent in any order become one object with a CRC32 of all its bytes', async () => {
  await using s3 = await startUpload();
  const last = await s3.put(3, parts[2]);
  await s3.put(1, randomBytes(10)); // The next request replaces it.
  const done = [await s3.put(1, parts[0]), await s3.put(2, parts[1]), last];
  await expect(s3.readObject()).rejects.toThrow('ENOENT');
  const answer = await s3.complete(done, { ChecksumCRC32: checksum, MpuObjectSize: whole.length });
  const ETag = expect.stringMatching(/-3"$/);
  expect(answer).toMatchObject({ ChecksumCRC32: checksum, ChecksumType: 'FULL_OBJECT', ETag });
  expect(whole.equals(await s3.readObject())).toBe(true);
  const { ContentType } = await s3.client.send(new HeadObjectCommand(at));
  expect(ContentType).toBe('application/json');
  await expect(s3.list()).rejects.toMatchObject({ name: 'NoSuchUpload' });
});

test.each<[string, string, (done: CompletedPart[]) => CompletedPart[]]>([
  ['parts out of order', 'InvalidPartOrder', ([a, b, c]) => [b, a, c].filter((part) => part !== undefined)],
  ['a part that was not uploaded', 'InvalidPart', (done) => [...done, { PartNumber: 9, ETag: '"x"' }]],
  ['another ETag', 'InvalidPart', ([a, ...rest]) => [{ ...a, ETag: '"x"' }, ...rest]],
  ['another CRC32', 'InvalidPart', ([a, ...rest]) => [{ ...a, ChecksumCRC32: 'AAAAAA==' }, ...rest]],
])('Complete with %s is refused with %s', async (_, name, change) => {
  await using s3 = await startUpload();
  await expect(s3.complete(change(await s3.putAll(parts)))).rejects.toMatchObject({ name });
});

test('a part under 5 MiB is refused with EntityTooSmall unless it is the last', async () => {
  await using s3 = await startUpload();
  const done = await s3.putAll([Buffer.from('small'), Buffer.from('last')]);
  await expect(s3.complete(done)).rejects.toMatchObject({ name: 'EntityTooSmall' });
});

test.each([
  ['CRC32', 'BadDigest', { ChecksumCRC32: 'AAAAAA==' }],
  ['size', 'InvalidRequest', { MpuObjectSize: 4 }],
])('Complete with a wrong %s is refused with %s, and no object is visible', async (_, name, claim) => {
  await using s3 = await startUpload();
  const done = [await s3.put(1, parts[2])];
  await expect(s3.complete(done, claim)).rejects.toMatchObject({ name });
  await expect(s3.readObject()).rejects.toThrow('ENOENT');
  expect((await s3.list()).Parts).toHaveLength(1);
});

test('ListParts returns every part with its CRC32', async () => {
  await using s3 = await startUpload();
  expect((await s3.list()).Parts ?? []).toEqual([]);
  for (const number of [3, 1, 2]) await s3.put(number, Buffer.from([number]));
  const { Parts = [], IsTruncated } = await s3.list();
  const listed = Parts.map(({ PartNumber, Size, ChecksumCRC32 }) => [PartNumber, Size, ChecksumCRC32]);
  expect(listed).toEqual([1, 2, 3].map((number) => [number, 1, base64Crc(crc32(Buffer.from([number])))]));
  expect(IsTruncated).toBe(false);
});
