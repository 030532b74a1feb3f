import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  copyRange,
  type Divided,
  divide,
  joinRanges,
  type Range,
  servesRanges,
  VOID,
} from '../../../functions/copy/copy-range.ts';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import type { Connect } from '../../../functions/copy/get.ts';
import { layoutOf } from '../../../functions/copy/layout.ts';
import type { Position } from '../../../functions/copy/part-writer.ts';
import { createUpload } from '../../../functions/copy/upload.ts';
import { type Copying, jsonOf, openCopying, PART } from '../../support/copying.ts';
import type { FileOptions, Turn } from '../../support/storage-host.ts';

const { body, rows } = jsonOf(12 * PART + 17);
const size = () => PART;
const head = { contentType: 'application/json', contentEncoding: undefined, ignoresRanges: false };

/** An upload that is to take the file in ranges. */
async function openRanges(count: number, file: Partial<FileOptions> = {}) {
  const copying = await openCopying({ body, ...file });
  const upload = await createUpload(copying.destination, { contentType: 'application/json' });
  const divided = { uploadId: upload.id, file: { ...head, etag: '"one"', bytes: body.length } };
  return { ...copying, divided, ranges: divide(body.length, count, { size, streamed: false }) };
}

/** One call for one range; its time is up when so many bytes of it are there. */
function callFor(copying: Copying, divided: Divided, range: Range, bytes = Infinity) {
  const stop = new AbortController();
  let come = 0;
  const connect: Connect = ({ buffer, callback }) =>
    copying.source.connect({
      buffer,
      callback(length, piece) {
        come += length;
        if (come >= bytes) stop.abort();
        return callback(length, piece);
      },
    });
  const source = { ...copying.source, connect };
  return copyRange(divided, range, {
    ...{ source, destination: copying.destination, format: 'JSON', size, pause: 1 },
    deadline: stop.signal,
  });
}

function moved(range: Range, to: Position | typeof VOID): Range {
  if (to === VOID) throw new Error('The range is void');
  return JSON.parse(JSON.stringify({ ...range, ...to }));
}

async function join({ destination, divided }: Awaited<ReturnType<typeof openRanges>>, ranges: Range[]) {
  return joinRanges(divided, ranges, { destination, format: 'JSON', size });
}

test('ranges are whole parts, follow each other and hold the file', () => {
  for (const [bytes, count] of [
    [100 * 1024 ** 3, 8],
    [40 * 1024 ** 3 + 5, 7],
    [17 * 1024 ** 2, 8],
    [16 * 1024 ** 2, 2],
    [16 * 1024 ** 2, 8],
  ] as const) {
    const ranges = divide(bytes, count);
    expect(ranges.length).toBeLessThanOrEqual(count);
    expect([ranges[0]?.from, ranges.at(-1)?.to, ranges[0]?.first]).toEqual([0, bytes, 1]);
    expect(ranges.filter(({ from, to }) => from >= to)).toEqual([]);
    for (const [at, { from, to, first }] of ranges.slice(0, -1).entries()) {
      const next = ranges[at + 1];
      const parts = Array.from({ length: (next?.first ?? 0) - first }, (_, part) =>
        layoutOf(bytes).size(first + part),
      );
      expect([to, next?.from]).toEqual([next?.from, from + parts.reduce((sum, part) => sum + part, 0)]);
    }
  }
});

test.each([1, 2, 3, 8])('%i ranges, the last first, make one object with its rows', async (count) => {
  await using opened = await openRanges(count);
  const copied = await Promise.all(
    opened.ranges
      .toReversed()
      .map(async (range) => moved(range, await callFor(opened, opened.divided, range))),
  );
  expect(await opened.object()).toBeUndefined();
  expect(await join(opened, copied.toReversed())).toMatchObject({ bytes: body.length, rows });
  expect((await opened.object())?.equals(body)).toBe(true);
  expect(await opened.openUploads()).toBe(0);
});

test('each range is fetched once, by a range of its own, of the one file', async () => {
  await using opened = await openRanges(3);
  for (const range of opened.ranges) await callFor(opened, opened.divided, range);
  expect(opened.host.requests.map(({ range, headers }) => [range, headers['if-match']])).toEqual(
    opened.ranges.map(({ from, to }) => [`bytes=${from}-${to - 1}`, '"one"']),
  );
});

test('one that stops in the middle is gone on with, and the others are not', async () => {
  await using opened = await openRanges(2);
  const [first, second] = opened.ranges as [Range, Range];
  const stopped = moved(first, await callFor(opened, opened.divided, first, 3.5 * PART));
  expect(stopped.at).toBeLessThan(first.to);
  const done = moved(second, await callFor(opened, opened.divided, second));
  const copied = moved(stopped, await callFor(opened, opened.divided, stopped));
  expect(opened.host.requests.at(-1)?.range).toBe(`bytes=${stopped.at}-${first.to - 1}`);
  expect(stopped.at).toBeGreaterThan(first.from);
  expect(await join(opened, [copied, done])).toMatchObject({ bytes: body.length, rows });
  expect((await opened.object())?.equals(body)).toBe(true);
});

test('one whose parts S3 has not, whatever the state says, is begun again', async () => {
  await using opened = await openRanges(2);
  const [first] = opened.ranges as [Range, Range];
  await callFor(opened, opened.divided, first, 2.5 * PART);
  const ahead = { ...first, part: first.first + 5, at: first.from + 5 * PART };
  await callFor(opened, opened.divided, ahead);
  expect(opened.host.requests.at(-1)?.range).toBe(`bytes=${first.from}-${first.to - 1}`);
});

test('19: whether ranges are served is not known where the URL has expired', async () => {
  await using opened = await openRanges(2, { turns: [{ status: 403 }] });
  await expect(servesRanges(opened.source, opened.divided.file)).rejects.toMatchObject({
    name: 'UrlExpired',
  });
});

test('28: the parts of a call that was killed are stored over', async () => {
  await using opened = await openRanges(2);
  const [first, second] = opened.ranges as [Range, Range];
  await callFor(opened, opened.divided, second, 3.5 * PART);
  const copied = await Promise.all(
    [first, second].map(async (range) => moved(range, await callFor(opened, opened.divided, range))),
  );
  await join(opened, copied);
  expect((await opened.object())?.equals(body)).toBe(true);
});

const breaks: [string, Turn][] = [
  ['a reset', { after: 2 * PART + 9, by: 'reset' }],
  ['a body cut short', { after: 2 * PART + 9, by: 'close' }],
  ['a 503', { status: 503 }],
];
test.each(breaks)('16, 17, 20: %s within a range is taken up at the byte where it broke', async (_, turn) => {
  await using opened = await openRanges(2, { turns: [turn, turn, turn] });
  const [first, second] = opened.ranges as [Range, Range];
  const copied = [first, second].map(async (range) =>
    moved(range, await callFor(opened, opened.divided, range)),
  );
  await join(opened, await Promise.all(copied));
  expect((await opened.object())?.equals(body)).toBe(true);
});

const others: [string, Turn][] = [
  ['another ETag', { body: jsonOf(12 * PART + 17).body, etag: '"two"' }],
  ['another ETag, by a host that ignores If-Match', { body, etag: '"two"', ignoresIfMatch: true }],
  ['another length', { body: jsonOf(15 * PART).body, ignoresIfMatch: true }],
  [
    'all of the file in place of a range',
    { status: 200, headers: { 'Content-Length': String(body.length) } },
  ],
];
test.each(others)('18: a range that meets %s is void, and asks once', async (_, turn) => {
  await using opened = await openRanges(2, { turns: [turn] });
  const [, second] = opened.ranges as [Range, Range];
  expect(await callFor(opened, opened.divided, second)).toBe(VOID);
  expect(opened.host.requests).toHaveLength(1);
});

test('19: an expired URL is thrown where no part came, and waits for a fresh one where some did', async () => {
  const turns: Turn[] = [{ status: 403 }, { after: 3 * PART + 9, by: 'close' }, { status: 403 }];
  await using opened = await openRanges(1, { turns });
  const [range] = opened.ranges as [Range];
  await expect(callFor(opened, opened.divided, range)).rejects.toMatchObject({ name: 'UrlExpired' });
  const stopped = moved(range, await callFor(opened, opened.divided, range));
  expect(stopped.part).toBe(4);
});

test('an upload that is gone makes a range void, and the join too', async () => {
  await using opened = await openRanges(2);
  const gone = { ...opened.divided, uploadId: 'gone' };
  expect(await callFor(opened, gone, opened.ranges[0] as Range)).toBe(VOID);
  expect(
    await joinRanges(gone, opened.ranges, { destination: opened.destination, format: 'JSON', size }),
  ).toBe(VOID);
});

test('ranges of which one is not there are not joined', async () => {
  await using opened = await openRanges(3);
  const copied = await Promise.all(
    opened.ranges
      .slice(0, 2)
      .map(async (range) => moved(range, await callFor(opened, opened.divided, range))),
  );
  expect(await join(opened, copied)).toBe(VOID);
  expect(await opened.object()).toBeUndefined();
});

test('23: ranges that make no JSON are refused, and are not visible', async () => {
  const cut = body.subarray(0, -30);
  await using opened = await openRanges(2, { body: Buffer.concat([cut, Buffer.alloc(30, ' ')]) });
  const copied = await Promise.all(
    opened.ranges.map(async (range) => moved(range, await callFor(opened, opened.divided, range))),
  );
  await expect(join(opened, copied)).rejects.toMatchObject({ name: 'DownloadRefused' });
  expect(await opened.object()).toBeUndefined();
});

test.each([
  [true, {}],
  [false, { ranges: false }],
  [false, { etag: '"two"' }],
])('it is %s that a host serves ranges which answers with %j', async (serves, file) => {
  await using copying = await openCopying({ body, ...file });
  expect(await servesRanges(copying.source, { ...head, etag: '"one"', bytes: body.length })).toBe(serves);
});

test('the checksum of the whole is that of its bytes', async () => {
  await using opened = await openRanges(4);
  const copied = await Promise.all(
    opened.ranges.map(async (range) => moved(range, await callFor(opened, opened.divided, range))),
  );
  expect(await join(opened, copied)).toMatchObject({ crc32: base64Crc32(crc32(body)) });
});
