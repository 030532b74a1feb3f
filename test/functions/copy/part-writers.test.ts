import { afterEach, describe, expect, test, vi } from 'vitest';
import { openPartStream } from '../../../functions/copy/part-stream.ts';
import {
  openPartWriter,
  openRing,
  type PartOptions,
  SETTLE_MS,
} from '../../../functions/copy/part-writer.ts';
import { openStreamWriter } from '../../../functions/copy/stream-writer.ts';
import type { Destination, Upload } from '../../../functions/copy/upload.ts';
import type { Answer, Seen } from '../../support/listen.ts';
import { errorOf, refuse, startS3Answers } from '../../support/s3-answers.ts';

const PART = 10;
const size = () => PART;
const MiB = 1024 * 1024;

/** Takes a part, whether its checksum comes before or behind it. */
const stored: Answer = ({ headers, body }, response) => {
  const checksum = headers['x-amz-checksum-crc32'] ?? /x-amz-checksum-crc32:(\S+)/.exec(body)?.[1];
  response.writeHead(200, { etag: '"e"', 'x-amz-checksum-crc32': checksum }).end();
};

/** Never answers. */
const silent: Answer = () => {};

/** What S3 got, part by part, without the framing of a streamed one. */
function partsOf(requests: readonly Seen[]): [number, string][] {
  return requests
    .map(({ path, body, headers }): [number, string] => {
      const [, number] = /partNumber=(\d+)/.exec(path) ?? [];
      const framed = headers['content-encoding'] === 'aws-chunked';
      return [Number(number), framed ? (body.split('\r\n')[1] ?? '') : body];
    })
    .sort(([one], [other]) => one - other);
}

const WRITERS = [
  [
    'held',
    (to: Destination, upload: () => Promise<Upload>, _bytes: number, options: PartOptions) =>
      openPartWriter(to, upload, openRing(), { size, pause: 0, ...options }),
  ],
  [
    'sent as their bytes come',
    (to: Destination, upload: () => Promise<Upload>, bytes: number, options: PartOptions) =>
      openStreamWriter(to, upload, bytes, { size, ...options }),
  ],
] as const;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe.each(WRITERS)('parts that are %s', (_, open) => {
  async function start(answer: Answer, bytes: number, options: PartOptions = {}) {
    const { to, upload, server } = await startS3Answers(answer);
    return { server, writer: open(to, async () => upload, bytes, options) };
  }

  test('are of the size that was asked for, the last with what is left', async () => {
    const { writer, server } = await start(stored, 2 * PART + 3);
    for (const piece of ['0123456789', 'abcde', 'fghij', 'xyz']) {
      expect(writer.left()).toBeGreaterThanOrEqual(piece.length);
      await writer.write(Buffer.from(piece));
    }
    const parts = await writer.end();
    expect(partsOf(server.requests)).toEqual([
      [1, '0123456789'],
      [2, 'abcdefghij'],
      [3, 'xyz'],
    ]);
    expect(parts.map(({ number, bytes, etag }) => [number, bytes, etag])).toEqual([
      [1, 10, '"e"'],
      [2, 10, '"e"'],
      [3, 3, '"e"'],
    ]);
  });

  test('10,000 is the last that S3 takes', async () => {
    const from = { part: 10_000, at: 0 };
    const { writer, server } = await start(stored, 2 * PART, { from });
    await writer.write(Buffer.from('the last..'));
    const further = async () => writer.write(Buffer.from('one more'));
    await expect(further()).rejects.toThrow('needs more than the 10000 parts');
    await writer.settle();
    expect(partsOf(server.requests)).toEqual([[10_000, 'the last..']]);
  });

  test('one that S3 refuses is what every call after it comes to', async () => {
    const { writer, server } = await start(refuse(403, errorOf('AccessDenied')), 3 * PART);
    const refused = { name: 'AccessRefused' };
    await writer.write(Buffer.from('0123456789'))?.catch(() => {});
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    await expect(writer.end()).rejects.toMatchObject(refused);
    await expect(writer.write(Buffer.from('abcde'))).rejects.toMatchObject(refused);
    expect(await writer.settle()).toEqual({ part: 1, at: 0 });
    expect(server.requests).toHaveLength(1);
  });

  test('those that are stored are said when it settles, with what was known where they end', async () => {
    let known = 0;
    const mark = () => String(++known);
    const { writer } = await start(stored, 500 + 3 * PART, { mark, from: { part: 4, at: 500 } });
    await writer.write(Buffer.from('0123456789'));
    await writer.write(Buffer.from('abcdefghij'));
    await writer.write(Buffer.from('x'));
    expect(await writer.settle()).toEqual({ part: 6, at: 520, shape: '2' });
    await expect(async () => writer.write(Buffer.from('y'))).rejects.toMatchObject({ name: 'CopyFailed' });
  });

  test('what is on its way when it settles has half a minute', async () => {
    const { writer, server } = await start(silent, 3 * PART);
    const written = writer.write(Buffer.from('0123456789'))?.catch(() => {});
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let position: unknown;
    const settled = writer.settle().then((settledAt) => {
      position = settledAt;
    });
    await vi.advanceTimersByTimeAsync(SETTLE_MS - 1);
    expect(position).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await settled;
    expect(position).toEqual({ part: 1, at: 0 });
    await written;
    await expect(async () => writer.write(Buffer.from('y'))).rejects.toThrow('left to a later call');
  });

  test('what has arrived when it settles leaves no time-out behind', async () => {
    const { writer } = await start(stored, 3 * PART);
    await writer.write(Buffer.from('0123456789'));
    const [set, cleared] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')];
    await writer.settle();
    const own = set.mock.results.filter((_, at) => set.mock.calls[at]?.[1] === SETTLE_MS);
    expect(own).toHaveLength(1);
    expect(cleared.mock.calls.flat()).toContain(own[0]?.value);
  });

  test('what is on its way when it is stopped is broken off, and no more is taken', async () => {
    const { writer, server } = await start(silent, 3 * PART);
    const written = writer.write(Buffer.from('0123456789'))?.catch(() => {});
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    await writer.stop();
    await written;
    await expect(async () => writer.write(Buffer.from('abc'))).rejects.toThrow(/abort/);
    expect(server.requests).toHaveLength(1);
  });
});

test('a piece may be longer than a part', async () => {
  const { to, upload, server } = await startS3Answers(stored);
  const writer = openPartWriter(to, async () => upload, openRing(), { size });
  await writer.write(Buffer.from('0123456789abcdefghij0123456789xyz'));
  expect(writer.rest().toString()).toBe('xyz');
  await writer.end();
  expect(partsOf(server.requests)).toEqual([
    [1, '0123456789'],
    [2, 'abcdefghij'],
    [3, '0123456789'],
    [4, 'xyz'],
  ]);
});

test('a part that is streamed asks to wait from the first chunk on, and ends when it is broken off', async () => {
  const { to, upload } = await startS3Answers(silent);
  const stopping = new AbortController();
  const part = openPartStream(to, upload, { number: 1, bytes: 64 * MiB }, stopping.signal);
  const piece = Buffer.alloc(MiB);
  expect(part.write(piece.subarray(1))).toBeUndefined();
  const first = part.write(piece);
  expect(first).toBeInstanceOf(Promise);
  const writing = (async () => {
    await first;
    for (let written = 2; written < 64; written++) await part.write(piece);
    await part.end();
  })();
  stopping.abort(new Error('broken off'));
  await expect(writing).rejects.toThrow('broken off');
  await expect(part.end()).rejects.toThrow('broken off');
});
