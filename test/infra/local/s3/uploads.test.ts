import { randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  paginateListParts,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { BUCKET, openS3 } from '../../../support/s3.ts';

type Server = Awaited<ReturnType<typeof openS3>>;

const at = { Bucket: BUCKET, Key: 'exports/report.json' };
const parts = [randomBytes(5 * 1024 * 1024), randomBytes(5 * 1024 * 1024), randomBytes(3)];
const whole = Buffer.concat(parts);
const checksum = Buffer.from(crc32(whole).toString(16).padStart(8, '0'), 'hex').toString('base64');

test("parts in any order become one object, whose full-object checksum is the bytes'", async () => {
  await using s3 = await openS3();
  const upload = await create(s3);
  const last = await put(s3, upload, 3, parts[2]);
  await put(s3, upload, 1, randomBytes(10)); // replaced by the next
  const done = [await put(s3, upload, 1, parts[0]), await put(s3, upload, 2, parts[1]), last];
  await expect(stat(join(s3.directory, BUCKET, at.Key))).rejects.toThrow('ENOENT');
  const answer = await complete(s3, upload, done, { ChecksumCRC32: checksum, MpuObjectSize: whole.length });
  expect(answer).toMatchObject({
    ChecksumCRC32: checksum,
    ChecksumType: 'FULL_OBJECT',
    ETag: expect.stringMatching(/-3"$/),
  });
  expect(whole.equals(await readFile(join(s3.directory, BUCKET, at.Key)))).toBe(true);
  const { ContentType } = await s3.client.send(new GetObjectCommand({ ...at, Range: 'bytes=0-1' }));
  expect(ContentType).toBe('application/json');
  expect(await openUploads(s3)).toEqual([]);
});

test.each<[string, string, (done: CompletedPart[]) => CompletedPart[]]>([
  ['parts out of order', 'InvalidPartOrder', ([a, b, c]) => [b, a, c].filter((part) => part !== undefined)],
  ['a part that was never uploaded', 'InvalidPart', (done) => [...done, { PartNumber: 9, ETag: '"x"' }]],
  ['another etag', 'InvalidPart', ([a, ...rest]) => [{ ...a, ETag: '"x"' }, ...rest]],
  ['another part checksum', 'InvalidPart', ([a, ...rest]) => [{ ...a, ChecksumCRC32: 'AAAAAA==' }, ...rest]],
])('Complete with %s is refused as %s', async (_, name, change) => {
  await using s3 = await openS3();
  const upload = await create(s3);
  const done: CompletedPart[] = [];
  for (const [at, part] of parts.entries()) done.push(await put(s3, upload, at + 1, part));
  await expect(complete(s3, upload, change(done))).rejects.toMatchObject({ name });
});

test('a part under 5 MiB that is not the last is refused as EntityTooSmall', async () => {
  await using s3 = await openS3();
  const upload = await create(s3);
  const done = [
    await put(s3, upload, 1, Buffer.from('small')),
    await put(s3, upload, 2, Buffer.from('last')),
  ];
  await expect(complete(s3, upload, done)).rejects.toMatchObject({ name: 'EntityTooSmall' });
});

test.each([
  ['BadDigest', { ChecksumCRC32: 'AAAAAA==' }],
  ['InvalidRequest', { MpuObjectSize: 4 }],
])('Complete that claims another checksum or size is refused as %s, and nothing is visible', async (name, claim) => {
  await using s3 = await openS3();
  const upload = await create(s3);
  const done = [await put(s3, upload, 1, parts[2])];
  await expect(complete(s3, upload, done, claim)).rejects.toMatchObject({ name });
  await expect(stat(join(s3.directory, BUCKET, at.Key))).rejects.toThrow('ENOENT');
  expect(await openUploads(s3)).toHaveLength(1);
});

test('an aborted upload is gone', async () => {
  await using s3 = await openS3();
  const upload = await create(s3);
  await put(s3, upload, 1, parts[2]);
  await s3.client.send(new AbortMultipartUploadCommand({ ...at, UploadId: upload }));
  await expect(put(s3, upload, 2, parts[2])).rejects.toMatchObject({ name: 'NoSuchUpload' });
  expect(await openUploads(s3)).toEqual([]);
});

test('ListParts gives every part, page by page', async () => {
  await using s3 = await openS3();
  const upload = await create(s3);
  for (const number of [3, 1, 2]) await put(s3, upload, number, Buffer.from([number]));
  const pages = paginateListParts({ client: s3.client, pageSize: 2 }, { ...at, UploadId: upload });
  const numbers = [];
  for await (const { Parts = [] } of pages)
    numbers.push(Parts.map(({ PartNumber, Size }) => [PartNumber, Size]));
  expect(numbers).toEqual([
    [
      [1, 1],
      [2, 1],
    ],
    [[3, 1]],
  ]);
  const { Parts } = await s3.client.send(new ListPartsCommand({ ...at, UploadId: upload }));
  expect(Parts?.[0]?.ChecksumCRC32).toBe(
    Buffer.from(crc32(Buffer.from([1])).toString(16), 'hex').toString('base64'),
  );
});

test('of several Completes at once one joins the parts, and the others find no upload', async () => {
  await using s3 = await openS3();
  const upload = await create(s3);
  const done: CompletedPart[] = [];
  for (const [at, part] of parts.entries()) done.push(await put(s3, upload, at + 1, part));
  const completes = [1, 2, 3, 4].map(() => complete(s3, upload, done));
  const outcomes = await Promise.allSettled(completes);
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? outcome.reason.name : []));
  expect(refused).toEqual(['NoSuchUpload', 'NoSuchUpload', 'NoSuchUpload']);
  const { Body } = await s3.client.send(new GetObjectCommand(at));
  expect(Buffer.concat(parts).equals((await Body?.transformToByteArray()) ?? Buffer.of())).toBe(true);
});

test('an error inside a 200 answer to Complete is an error, and leaves the upload', async () => {
  await using s3 = await openS3({
    faults: [{ operation: 'CompleteMultipartUpload', answer: 'error inside 200' }],
  });
  const upload = await create(s3);
  const done = [await put(s3, upload, 1, parts[2])];
  await expect(complete(s3, upload, done)).rejects.toMatchObject({ name: 'InternalError' });
  await complete(s3, upload, done);
});

async function create({ client }: Server): Promise<string> {
  const kind = {
    ContentType: 'application/json',
    ChecksumAlgorithm: 'CRC32',
    ChecksumType: 'FULL_OBJECT',
  } as const;
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ ...at, ...kind }));
  return UploadId ?? '';
}

async function put(
  { client }: Server,
  UploadId: string,
  PartNumber: number,
  Body = Buffer.alloc(0),
): Promise<CompletedPart> {
  const { ETag, ChecksumCRC32 } = await client.send(
    new UploadPartCommand({ ...at, UploadId, PartNumber, Body }),
  );
  return { PartNumber, ETag, ChecksumCRC32 };
}

async function complete({ client }: Server, UploadId: string, Parts: CompletedPart[], claim = {}) {
  const command = {
    ...at,
    UploadId,
    MultipartUpload: { Parts },
    ChecksumType: 'FULL_OBJECT',
    ...claim,
  } as const;
  return client.send(new CompleteMultipartUploadCommand(command));
}

async function openUploads({ client }: Server): Promise<unknown[]> {
  return (await client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET }))).Uploads ?? [];
}
