import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Unfinished } from '../../../functions/copy/attempt.ts';
import { copyRange, divide, joinRanges, type Range, VOID } from '../../../functions/copy/copy-range.ts';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import { layoutOf } from '../../../functions/copy/layout.ts';
import { openRing } from '../../../functions/copy/part-writer.ts';
import { createUpload } from '../../../functions/copy/upload.ts';
import type { Fault } from '../../../infra/local/s3/faults.ts';
import { type Copying, jsonOf, type Outcome, openCopying } from '../../support/copying.ts';
import type { FileOptions } from '../../support/storage-host.ts';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;

/** Parts of two chunks and some bytes, as if they were too large to be held. */
const PART = 2 * MiB + 4_321;
const layout = { size: () => PART, streamed: true };

const { body, rows } = jsonOf(4 * PART + 100_017);

function open(file: Partial<FileOptions> = {}, faults: Fault[] = []): Promise<Copying> {
  return openCopying({ body, ...file }, { faults });
}

/** One call; its time is up when so many bytes of the file are there. */
function call(
  copying: Copying,
  unfinished?: Unfinished,
  bytes = Infinity,
  ring = openRing(),
): Promise<Outcome> {
  const stop = new AbortController();
  const onProgress = (come: number) => come >= bytes && stop.abort();
  return copying.copy({ ...layout, ring, deadline: stop.signal, unfinished, onProgress });
}

test('a file is cut into parts of 8 MiB up to 78 GiB, and above into 10,000 at most, of 5 GiB at most', () => {
  for (const bytes of [1, 8 * GiB, 10_000 * 8 * MiB]) {
    expect([layoutOf(bytes).streamed, layoutOf(bytes).size(10_000)]).toEqual([false, 8 * MiB]);
  }
  for (const [bytes, part] of [
    [10_000 * 8 * MiB + 1, 64],
    [250 * GiB, 64],
    [5 * 1024 * GiB, 525],
    [48 * 1024 * GiB, 5_034],
    [49 * 1024 * GiB, 5 * 1024],
  ] as const) {
    const { size, streamed } = layoutOf(bytes);
    expect([streamed, size(1), size(10_000)]).toEqual([true, part * MiB, part * MiB]);
    expect(divide(bytes, 8)).toHaveLength(8);
  }
});

test('parts that are sent as their bytes come make the same object, and hold no buffer of a part', async () => {
  await using copying = await open();
  const ring = openRing();
  const outcome = await call(copying, undefined, Infinity, ring);
  expectDelivered(outcome);
  expect(ring.held()).toBe(0);
  const parts = copying.s3.journal.filter(({ operation }) => operation === 'UploadPart');
  expect(parts.map(({ bytes }) => bytes)).toEqual([PART, PART, PART, PART, 100_017]);
});

test.each([1_000, 4_321, MiB, 2 * MiB])('a part of %i bytes is framed as it announces', async (bytes) => {
  const file = jsonOf(3 * bytes).body;
  await using copying = await open({ body: file });
  const outcome = await copying.copy({ streamed: true, size: () => bytes });
  expect([outcome.error, outcome.object?.equals(file)]).toEqual([undefined, true]);
});

test('16: a download that breaks in the middle of a part goes on in the same part', async () => {
  await using copying = await open({ turns: [{ after: PART + MiB, by: 'close' }] });
  const outcome = await call(copying);
  expectDelivered(outcome);
  expect(copying.s3.journal.filter(({ operation }) => operation === 'UploadPart')).toHaveLength(5);
});

test.each([
  'SlowDown',
  'InternalError',
  'BadDigest',
  'reset',
  'lost answer',
  'wrong checksum',
] as const)('25, 26: a part that meets "%s" is fetched again by the next call', async (answer) => {
  await using copying = await open({}, [{ operation: 'UploadPart', part: 3, answer }]);
  const first = await call(copying);
  expect(first.unfinished).toMatchObject({ part: 3, at: 2 * PART });
  const second = await call(copying, first.unfinished);
  expectDelivered(second);
  expect(copying.host.requests.at(-1)?.range).toBe(`bytes=${2 * PART}-`);
});

test('25: where no call follows, it is thrown and nothing is left', async () => {
  await using copying = await open({}, [{ operation: 'UploadPart', part: 3, answer: 'SlowDown' }]);
  const { error, object, openUploads } = await copying.copy(layout);
  expect(error).toMatchObject({ name: 'ServiceUnavailable' });
  expect([object, openUploads]).toEqual([undefined, 0]);
});

test('27: a bucket that refuses ends it at once', async () => {
  await using copying = await open({}, [{ operation: 'UploadPart', part: 2, answer: 'AccessDenied' }]);
  const { error, object, openUploads } = await call(copying);
  expect(error).toMatchObject({ name: 'AccessRefused' });
  expect([object, openUploads]).toEqual([undefined, 0]);
});

test('a call whose time is up in the middle of a part leaves the parts before', async () => {
  await using copying = await open();
  const first = await call(copying, undefined, 2.5 * PART);
  expect(first.unfinished).toMatchObject({ part: 3, at: 2 * PART });
  expectDelivered(await call(copying, first.unfinished));
});

test('ranges of such parts make the same object', async () => {
  await using copying = await open();
  const { destination, source } = copying;
  const { id } = await createUpload(destination, { contentType: 'application/json' });
  const head = { contentType: 'application/json', contentEncoding: undefined, ignoresRanges: false };
  const divided = { uploadId: id, file: { ...head, etag: '"one"', bytes: body.length } };
  const deadline = new AbortController().signal;
  const options = { ...layout, source, destination, format: 'JSON', deadline, pause: 1 };
  const copied = await Promise.all(
    divide(body.length, 2, layout).map(async (range): Promise<Range> => {
      const position = await copyRange(divided, range, options);
      if (position === VOID) throw new Error('The range is void');
      return { ...range, ...position };
    }),
  );
  expect(await joinRanges(divided, copied, options)).toMatchObject({ bytes: body.length, rows });
  expect((await copying.object())?.equals(body)).toBe(true);
});

function expectDelivered({ error, copied, object, openUploads }: Outcome): void {
  expect(error).toBeUndefined();
  expect(object?.equals(body)).toBe(true);
  expect(copied).toMatchObject({ bytes: body.length, rows });
  expect(copied?.checksum.value).toBe(base64Crc32(crc32(body)));
  expect(openUploads).toBe(0);
}
