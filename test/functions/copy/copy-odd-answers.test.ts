import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PART, startCopying } from '../../support/copying.ts';
import { beforeRequests } from '../../support/s3.ts';

const body = randomBytes(6 * PART + 1_234);
const BEGINS = 'HTTP/1.1 200 OK\r\nETag: "one"\r\nTransfer-Encoding: chunked\r\n\r\n';

test('18: a body that breaks off while S3 is slow is resumed behind the bytes that were passed on', async () => {
  await using copying = await startCopying({ body });
  const held = 3_000;
  await using host = await openHost((at) =>
    at === undefined
      ? [BEGINS, chunk(0, 2 * PART + 100), chunk(2 * PART + 100, 2 * PART + 100 + held), 'no size\r\n']
      : [partial(at, body.length), chunk(at, body.length), '0\r\n\r\n'],
  );
  beforeRequests(copying.destination.s3, () => sleep(100));
  const outcome = await copying.copy({ source: { url: host.url }, format: 'CSV' });
  expect(outcome.object?.equals(body)).toBe(true);
});

test.each([
  ['says so', (at: number, end: number) => partial(at, end)],
  ['does not say how long that is', (at: number, end: number) => partial(at, end, '*')],
])('17: a 206 that ends before the file does, and %s, is not appended', async (_, head) => {
  await using copying = await startCopying({ body });
  await using host = await openHost((at) => {
    if (at === undefined) return [BEGINS, chunk(0, PART), 'no size\r\n'];
    return [head(at, at + PART), chunk(at, at + PART), '0\r\n\r\n'];
  });
  const outcome = await copying.copy({ source: { url: host.url }, format: 'CSV' });
  expect([outcome.copied, outcome.object]).toEqual([undefined, undefined]);
});

test.each([
  ['ends too early', 3 * PART],
  ['brings too much', 7 * PART],
])('18: a 206 that %s leaves none of its bytes to the next call', async (_, bytes) => {
  await using copying = await startCopying({ body });
  const wrong = Buffer.alloc(bytes, 'x');
  let requests = 0;
  await using host = await openHost((at) => {
    requests += 1;
    if (requests === 3) return ['HTTP/1.1 403 -\r\nContent-Length: 0\r\n\r\n'];
    if (at === undefined) return [BEGINS, chunk(0, 2 * PART + 9), requests === 1 ? 'no size\r\n' : rest];
    if (requests > 2) return [partial(at, body.length), chunk(at, body.length), '0\r\n\r\n'];
    return [partial(at, body.length), `${bytes.toString(16)}\r\n`, wrong, '\r\n0\r\n\r\n'];
  });
  const rest = Buffer.concat([chunk(2 * PART + 9, body.length), Buffer.from('0\r\n\r\n')]);
  const options = { source: { url: host.url }, format: 'CSV' };
  const first = await copying.copy(options);
  const second = await copying.copy({ ...options, checkpoint: first.checkpoint });
  expect(second.object?.equals(body)).toBe(true);
});

function chunk(from: number, to: number): Buffer {
  return Buffer.concat([
    Buffer.from(`${(to - from).toString(16)}\r\n`),
    body.subarray(from, to),
    Buffer.from('\r\n'),
  ]);
}

function partial(from: number, to: number, total: number | '*' = body.length): string {
  return `HTTP/1.1 206 OK\r\nETag: "one"\r\nContent-Range: bytes ${from}-${to - 1}/${total}\r\nTransfer-Encoding: chunked\r\n\r\n`;
}

/** @param answer the pieces of the answer to a request for all bytes from `at` on, or for the file */
async function openHost(answer: (at: number | undefined) => (string | Buffer)[]) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (request) => {
      const [, at] = /range: bytes=(\d+)-/.exec(request.toString('latin1')) ?? [];
      const pieces = answer(at === undefined ? undefined : Number(at));
      socket.end(Buffer.concat(pieces.map((piece) => Buffer.from(piece))));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  const close = async () => {
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/report.csv`, [Symbol.asyncDispose]: close };
}
