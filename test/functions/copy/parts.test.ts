import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { combineCrc32 } from '../../../functions/copy/crc32.ts';
import { createBufferPool, createPartWriter, type Part, SETTLE_MS } from '../../../functions/copy/parts.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A different result of the content check after each part. */
const progressAt = (parts: number) => ({ first: '[', last: String(parts) });

/** A writer of parts of 10 bytes, and the parts that it sends. */
function start(send: (part: Part, signal: AbortSignal) => Promise<unknown> = async () => {}, from = 0) {
  const sent: [number, string][] = [];
  const sender = {
    async send({ number, body }: { number: number; body: Buffer }, signal: AbortSignal) {
      sent.push([number, body.toString()]);
      const part = { number, bytes: body.length, crc32: crc32(body), etag: '"e"' };
      await send(part, signal);
      return part;
    },
    progress: () => progressAt(sent.length),
  };
  return { sent, writer: createPartWriter(sender, createBufferPool(10), { at: from, json: progressAt(0) }) };
}

const never = (_: Part, signal: AbortSignal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

test('a chunk may end in a part, at its end, or several parts later', async () => {
  const { writer, sent } = start();
  for (const chunk of ['0123456789', 'abcde', 'fghij', '0123456789abcdefghij0123456789xyz'])
    await writer.write(Buffer.from(chunk));
  expect(writer.rest().toString()).toBe('xyz');
  const parts = await writer.end();
  const texts = ['0123456789', 'abcdefghij', '0123456789', 'abcdefghij', '0123456789', 'xyz'];
  expect(sent).toEqual(texts.map((text, at) => [at + 1, text]));
  expect(parts.map(({ number, bytes }) => [number, bytes])).toEqual(
    texts.map((text, at) => [at + 1, text.length]),
  );
});

test('the bytes of a chunk may change while its rest waits for a buffer', async () => {
  const { writer, sent } = start();
  const chunk = Buffer.from('0123456789abcdefghij0123456789xyz');
  const writing = writer.write(chunk);
  chunk.fill('-');
  await writing;
  await writer.end();
  expect(sent.map(([, text]) => text)).toEqual(['0123456789', 'abcdefghij', '0123456789', 'xyz']);
});

test('the third part waits until the first one is sent', async () => {
  const first = Promise.withResolvers<void>();
  const { writer, sent } = start(({ number }) => (number === 1 ? first.promise : Promise.resolve()));
  const writing = writer.write(Buffer.from('0123456789'.repeat(3)));
  await new Promise((next) => setImmediate(next));
  expect(sent).toHaveLength(2);
  first.resolve();
  await writing;
  expect(sent).toHaveLength(3);
});

test('after a part failed, every further call fails with its error', async () => {
  const error = new Error('refused');
  const { writer } = start(() => Promise.reject(error));
  await writer.write(Buffer.from('0123456789'))?.catch(() => {});
  await expect(writer.end()).rejects.toBe(error);
  await expect(writer.write(Buffer.from('abcde'))).rejects.toBe(error);
  expect(await writer.settle()).toEqual({ at: 0, json: progressAt(0) });
});

test('settling tells how far the parts are stored without a gap, and the result of the check there', async () => {
  const { writer } = start(
    ({ number }) => (number === 6 ? Promise.reject(new Error('lost')) : Promise.resolve()),
    30,
  );
  for (const text of ['0123456789', 'abcdefghij', '0123456789', 'x'])
    await writer.write(Buffer.from(text))?.catch(() => {});
  expect(await writer.settle()).toEqual({ at: 50, json: progressAt(2) });
});

test('settling takes no more bytes, and gives the parts on their way half a minute', async () => {
  const { writer } = start(never);
  writer.write(Buffer.from('0123456789'))?.catch(() => {});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let position: unknown;
  const settled = writer.settle().then((settledAt) => {
    position = settledAt;
  });
  await vi.advanceTimersByTimeAsync(SETTLE_MS - 1);
  expect(position).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  await settled;
  expect(position).toEqual({ at: 0, json: progressAt(0) });
  await expect(writer.write(Buffer.from('y'))).rejects.toMatchObject({ name: 'CopyFailed' });
  expect(vi.getTimerCount()).toBe(0);
});

test('stopping cancels the parts on their way', async () => {
  const { writer, sent } = start(never);
  writer.write(Buffer.from('0123456789'))?.catch(() => {});
  await writer.stop();
  await expect(writer.write(Buffer.from('abc'))).rejects.toThrow(/abort/);
  expect(sent).toHaveLength(1);
});

test('the CRC32 of a whole follows from those of its parts', () => {
  const bytes = () => fc.uint8Array({ maxLength: 3_000 });
  fc.assert(
    fc.property(bytes(), bytes(), (first, second) => {
      const whole = crc32(Buffer.concat([first, second]));
      expect(combineCrc32(crc32(first), crc32(second), second.length)).toBe(whole);
    }),
  );
  const [first, second] = [randomBytes(5), Buffer.alloc(64 * 1024 * 1024, 'long')];
  expect(combineCrc32(crc32(first), crc32(second), second.length)).toBe(crc32(second, crc32(first)));
});
