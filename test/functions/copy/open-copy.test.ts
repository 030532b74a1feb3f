import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { VOID } from '../../../functions/copy/copy-range.ts';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import { type CopyRequest, type Left, openCopy, type StoredFile } from '../../../functions/copy/open.ts';
import { storedFile } from '../../../functions/copy/open-ends.ts';
import { openRanges } from '../../../functions/copy/open-ranges.ts';
import type { Settings } from '../../../functions/workflow/settings.ts';
import { jsonOf } from '../../support/copying.ts';
import { awsEnvironment, SETTINGS, setEnvironment } from '../../support/lambda.ts';
import { BUCKET, openS3 } from '../../support/s3.ts';
import { type FileOptions, openStorageHost } from '../../support/storage-host.ts';

const MiB = 1024 * 1024;
const KEY = 'exports/account=acme/report.json';
const small = jsonOf(50_000);
const large = jsonOf(8 * MiB + 1_000);
const GZIP = { 'Content-Encoding': 'gzip' };
const never = new AbortController().signal;
const divided = { MAX_DOWNLOAD_BYTES: String(100 * MiB), PARALLEL_ABOVE_BYTES: '1' };

/** A file of a storage host, the bucket that a function is told of, and the copy as that function sets it up. */
async function open(file: FileOptions, settings: Partial<Settings> = {}) {
  const s3 = await openS3({ requireOwner: true });
  const host = await openStorageHost(file);
  onTestFinished(async () => {
    await host[Symbol.asyncDispose]();
    await s3.close();
  });
  setEnvironment(awsEnvironment({ S3: s3.endpoint }));
  const environment: Settings = { ...SETTINGS, ALLOW_LOOPBACK: 'true', ...settings };
  const { copy, abandon } = openCopy(environment);
  const request = { url: host.url, key: KEY, format: 'json', copying: undefined, deadline: never };
  return {
    ...{ s3, host, abandon, ranges: openRanges(environment) },
    copy: (change: Partial<CopyRequest> = {}) => copy({ ...request, divides: true, ...change }),
    object: () => readFile(join(s3.directory, BUCKET, KEY)),
    calls: () => s3.journal.map(({ operation }) => operation),
  };
}

/** As the state machine hands it on. */
function left(ended: StoredFile | Left): Left {
  if (!('upload_id' in ended)) throw new Error('All of it is stored');
  return JSON.parse(JSON.stringify(ended));
}

function stored({ body, rows }: typeof small) {
  const checksum = base64Crc32(crc32(body));
  return { bytes: body.length, crc32: checksum, content_type: 'application/json', rows };
}

test('a file is stored, and described by what was counted', async () => {
  const { copy, object, calls } = await open(small);
  expect(await copy()).toEqual(stored(small));
  expect((await object()).equals(small.body)).toBe(true);
  expect(calls()).toEqual(['PutObject']);
});

test('a file whose type nobody says has that of its format', async () => {
  const { copy } = await open({ ...small, headers: { 'Content-Type': '' } });
  expect(await copy()).toEqual(stored(small));
});

test('a file of which an earlier call left no position is begun again', async () => {
  const { copy, host } = await open(small);
  const file = { etag: '"one"', content_type: 'application/json', bytes: small.body.length };
  expect(await copy({ copying: { upload_id: 'gone', file } })).toEqual(stored(small));
  expect(host.requests.map(({ range }) => range)).toEqual([undefined]);
});

test('what was not counted, and what S3 has no version of, is not said', () => {
  const counted = { bytes: 7, crc32: 'AAAAAA==' };
  const said = { bytes: 7, crc32: 'AAAAAA==', content_type: 'text/csv' };
  expect(storedFile(counted, { contentType: 'text/csv' })).toStrictEqual(said);
  const versioned = storedFile({ ...counted, versionId: 'v1' }, { contentType: 'text/csv', rows: 0 });
  expect(versioned).toStrictEqual({ ...said, rows: 0, version_id: 'v1' });
});

test('a file that is compressed is stored as it comes, and called so', async () => {
  const body = gzipSync(small.body);
  const { copy } = await open({ body, headers: GZIP });
  expect(await copy()).toEqual({ ...stored({ ...small, body }), content_encoding: 'gzip' });
});

test.each<[string, Partial<Settings>]>([
  ['a host that is not among the allowed', { DOWNLOAD_HOSTS: 'files.example,127.0.0.2' }],
  ['this machine, where nobody allowed that', { ALLOW_LOOPBACK: undefined }],
])('nothing is asked of %s', async (_, settings) => {
  const { copy, host, calls } = await open(small, settings);
  await expect(copy()).rejects.toMatchObject({ name: 'DownloadRefused' });
  expect([host.requests, calls()]).toEqual([[], []]);
});

test('a host among the allowed is asked', async () => {
  const { copy } = await open(small, { DOWNLOAD_HOSTS: 'files.example,127.0.0.1' });
  expect(await copy()).toMatchObject({ bytes: 50_000 });
});

test('a file larger than the settings allow is refused', async () => {
  const { copy, calls, host } = await open(small, { MAX_DOWNLOAD_BYTES: '49999' });
  await expect(copy()).rejects.toMatchObject({ name: 'DownloadRefused' });
  expect([host.requests.length, calls()]).toEqual([1, []]);
});

test('a large file is left to be copied in ranges, and joined', async () => {
  const { copy, ranges, object, calls, host } = await open(large, divided);
  const { upload_id, file, ...rest } = left(await copy());
  if (!('ranges' in rest)) throw new Error('It is not divided');
  expect(file).toEqual({ etag: '"one"', content_type: 'application/json', bytes: large.body.length });
  expect(rest.ranges.map(({ from, to, first }) => [first, from, to])).toEqual([
    [1, 0, 8 * MiB],
    [2, 8 * MiB, large.body.length],
  ]);
  expect(host.requests.map(({ range }) => range)).toEqual([undefined, 'bytes=0-0']);
  expect(calls()).toEqual(['CreateMultipartUpload']);
  const one = { url: host.url, key: KEY, format: 'json', copying: { upload_id, file }, deadline: never };
  const ended = await Promise.all(
    rest.ranges.map(async (range) => {
      const to = await ranges.copyRange({ ...one, range: { ...range, ...state } });
      return { ...range, ...state, ...(to === VOID ? {} : to) };
    }),
  );
  const copying = { upload_id, file, report_id: 'r-1', calls: 1, ranges: ended };
  expect(await ranges.joinRanges({ key: KEY, format: 'json', copying })).toEqual(stored(large));
  expect((await object()).equals(large.body)).toBe(true);
});

/** What the state machine keeps of a range beside its bytes. */
const state = {
  ...({ status: 'open', turn: '', wake: '' } as const),
  ...{ turn_every_seconds: 22, turns: 0, failures: 0 },
};

test.each<[string, Partial<FileOptions>, Partial<CopyRequest>, Partial<Settings>]>([
  ['no larger than the limit', {}, {}, { PARALLEL_ABOVE_BYTES: String(large.body.length) }],
  ['whose host serves no ranges', { ranges: false }, {}, {}],
  ['that has no ETag', { etag: null }, {}, {}],
  ['that has a weak ETag', { etag: 'W/"one"' }, {}, {}],
  ['whose length nobody says', { framing: 'chunked' }, {}, {}],
  ['that is compressed', { body: gzipSync(large.body, { level: 0 }), headers: GZIP }, {}, {}],
  ['that was begun in ranges before', {}, { divides: false }, {}],
])('a large file %s is copied in one go', async (_, change, request, settings) => {
  const file = { ...large, ...change };
  const { copy, object, calls } = await open(file, { ...divided, ...settings });
  expect(await copy(request)).toMatchObject({ bytes: file.body.length });
  expect((await object()).equals(file.body)).toBe(true);
  expect(calls().at(-1)).toBe('CompleteMultipartUpload');
});

test.each([
  [1, 8],
  [24 * MiB, 7],
  [72 * MiB, 3],
])('a file of 72 MiB and a byte, where one above %i bytes is divided, has %i ranges', async (above, count) => {
  const limits = { ...divided, PARALLEL_ABOVE_BYTES: String(above) };
  const { copy } = await open({ body: Buffer.alloc(72 * MiB + 1, ' ') }, limits);
  expect(left(await copy())).toMatchObject({ ranges: { length: count } });
});

test('a call that ends too soon leaves a position, from which another one goes on', async () => {
  const turns = [{ after: 8 * MiB + 10, by: 'stall' as const }];
  const { copy, object, calls, host, s3 } = await open({ ...large, turns }, divided);
  const deadline = new AbortController();
  const first = copy({ divides: false, deadline: deadline.signal });
  await vi.waitFor(
    () => expect(s3.journal.at(-1)).toMatchObject({ operation: 'UploadPart', status: 200 }),
    10_000,
  );
  deadline.abort();
  const copying = left(await first);
  expect(copying).toMatchObject({
    file: { etag: '"one"', content_type: 'application/json', bytes: large.body.length },
    position: { part: 2, at: 8 * MiB, shape: expect.any(String) },
  });
  expect(await copy({ divides: false, copying })).toEqual(stored(large));
  expect(host.requests.map(({ range }) => range)).toEqual([undefined, `bytes=${8 * MiB}-`]);
  expect((await object()).equals(large.body)).toBe(true);
  expect(calls().filter((operation) => operation === 'UploadPart')).toHaveLength(2);
});

test('an upload that is abandoned is gone for every range, and for the joining', async () => {
  const { copy, ranges, abandon, host, s3 } = await open(large, divided);
  const { upload_id, file } = left(await copy());
  await abandon(KEY, upload_id);
  expect(s3.journal.at(-1)).toMatchObject({ operation: 'AbortMultipartUpload', key: KEY, status: 204 });
  const copying = { upload_id, file, report_id: 'r-1', calls: 1 };
  const range = { first: 1, from: 0, to: 8 * MiB, part: 1, at: 0, ...state };
  const one = { url: host.url, key: KEY, format: 'json', copying };
  expect(await ranges.copyRange({ ...one, range, deadline: never })).toBe(VOID);
  expect(await ranges.joinRanges({ ...one, copying: { ...copying, ranges: [range] } })).toBe(VOID);
});
