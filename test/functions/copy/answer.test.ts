import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openAnswer } from '../../../functions/copy/answer.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** Reads an answer that comes in pieces of these sizes, the last one repeated, and then the end of the connection. */
function read(text: string, sizes: readonly number[] = [text.length]) {
  const heads: unknown[] = [];
  let body = '';
  const answer = openAnswer({
    onHead: (head) => heads.push(head),
    onData: (chunk) => {
      body += chunk.toString('latin1');
    },
  });
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[Math.min(turn, sizes.length - 1)] ?? 1;
    answer.write(bytes.subarray(at, at + size));
    at += size;
  }
  const whole = answer.whole();
  return { heads, body, whole, ...answer.end() };
}

const ANSWERS: readonly (readonly [string, string, object])[] = [
  ['a length', `${OK}Content-Length: 5\r\n\r\nhello`, { body: 'hello', framed: true, whole: true }],
  ['a length of nothing', `${OK}Content-Length: 0\r\n\r\n`, { body: '', framed: true, whole: true }],
  [
    'chunks',
    `${CHUNKED}5\r\nhello\r\n00A;x="y"\r\n, world\r\n.\r\n0\r\n\r\n`,
    { body: 'hello, world\r\n.', whole: true },
  ],
  ['chunks and a trailer', `${CHUNKED}1\r\nx\r\n0\r\nExpires: 0\r\n\r\n`, { body: 'x', whole: true }],
  ['the connection', `${OK}\r\nall of it`, { body: 'all of it', framed: false, whole: false }],
  ['its status', 'HTTP/1.1 204 No Content\r\n\r\n', { body: '', framed: true }],
  [
    'a length, after early hints',
    `HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n${OK}Content-Length: 1\r\n\r\nx`,
    { body: 'x' },
  ],
  [
    'a length, before more than that',
    `${OK}Content-Length: 1\r\n\r\nxHTTP/1.1 200 OK`,
    { body: 'x', whole: true },
  ],
];

test.each(ANSWERS)('an answer that ends by %s is read, however it comes in pieces', (_, text, expected) => {
  expect(read(text)).toMatchObject(expected);
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(sizes, (pieces) => {
      expect(read(text, pieces)).toEqual(read(text));
    }),
  );
});

test('the head has its status, and its headers in lower case without the space around them', () => {
  const text = `HTTP/1.0 206\r\nETag:"a b" \t\r\nX-Two: 1\r\nx-two:\t2\r\nConstructor: \r\nContent-Length:0\r\n\r\n`;
  const headers = { etag: '"a b"', 'x-two': '1, 2', constructor: '', 'content-length': '0' };
  expect(read(text).heads).toEqual([{ status: 206, headers }]);
});

test.each([
  ['no status', 'SSH-2.0-x\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a header without a colon', `${OK}x\r\n\r\n`],
  ['a space before the colon', `${OK}Content-Length : 1\r\n\r\nx`],
  ['a header that is continued', `${OK}x: y\r\n z\r\n\r\n`],
  ['a bare LF', `${OK}x: y\nz: 1\r\n\r\n`],
  ['a NUL', `${OK}x: y\0\r\n\r\n`],
  ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy`],
  ['a length with a sign', `${OK}Content-Length: +1\r\n\r\nx`],
  ['a length beside chunks', `${CHUNKED.slice(0, -2)}Content-Length: 1\r\n\r\n1\r\nx\r\n0\r\n\r\n`],
  ['a coding that nobody asked for', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['chunks, which HTTP/1.0 does not know', `${CHUNKED.replace('1.1', '1.0')}1\r\nx\r\n0\r\n\r\n`],
  ['a chunk without a size', `${CHUNKED}\r\nx\r\n`],
  ['a chunk of a negative size', `${CHUNKED}-1\r\nx\r\n`],
  ['a chunk that is longer than it says', `${CHUNKED}1\r\nxy\r\n0\r\n\r\n`],
  ['a chunk line that ends in LF alone', `${CHUNKED}1\nx\r\n0\r\n\r\n`],
  ['a head without an end', `${OK}${'x: y\r\n'.repeat(20_000)}`],
  ['a chunk line without an end', `${CHUNKED}1;${'x'.repeat(10_000)}`],
  ['a head that breaks off', `${OK}Content-Le`],
  ['a body that is cut short', `${OK}Content-Length: 5\r\n\r\nhell`],
  ['chunks that break off', `${CHUNKED}5\r\nhello\r\n`],
  ['a trailer that breaks off', `${CHUNKED}0\r\n`],
])('an answer with %s is refused', (_, text) => {
  expect(() => read(text)).toThrow(expect.objectContaining({ name: 'BadAnswer', code: 'BAD_ANSWER' }));
  expect(() => read(text, [1])).toThrow(expect.objectContaining({ name: 'BadAnswer' }));
});

test('a head of which one read brings more than may be kept is refused, and not read on from behind it', () => {
  const text = `${OK}x: ${'y'.repeat(100_000)}\r\nContent-Length: 1\r\n\r\nx`;
  expect(() => read(text, [100_000])).toThrow(expect.objectContaining({ name: 'BadAnswer' }));
});
