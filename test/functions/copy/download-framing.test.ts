import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { answer, chunks, downloadFrom } from '../../support/download.ts';

// Raw answers, because a real server does not send most of these.

const CHUNKED = { ETag: '"one"', 'Transfer-Encoding': 'chunked' };
const OK = answer(200, { ETag: '"one"', 'Content-Length': '5' }, 'whole');

test.each([
  ['Content-Length', OK, 'whole'],
  ['chunks', answer(200, CHUNKED, '2\r\nwh\r\n003;x="y"\r\nole\r\n0\r\n\r\n'), 'whole'],
  ['chunks and a trailer', answer(200, CHUNKED, '5\r\nwhole\r\n0\r\nExpires: 0\r\n\r\n'), 'whole'],
  ['Content-Length, after early hints', `HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n${OK}`, 'whole'],
  [
    'Content-Length, after 400 KiB of early hints',
    `${'HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n'.repeat(12_000)}${OK}`,
    'whole',
  ],
  ['Content-Length, before further bytes', `${OK}more`, 'whole'],
])('a body framed by %s is complete', async (_, bytes, body) => {
  const { ended, text, requests } = await downloadFrom([bytes]);
  expect([ended, text, requests.length]).toEqual([body.length, body, 1]);
});

test.each([
  ['by nothing', answer(200, { ETag: '"one"' }, 'whole')],
  ['by nothing, over HTTP/1.0', answer(200, { ETag: '"one"' }, 'whole').replace('1.1', '1.0')],
  ['by gzip without chunks', answer(200, { 'Transfer-Encoding': 'gzip' }, 'whole')],
  [
    'by a coding in addition to chunks',
    answer(200, { 'Transfer-Encoding': 'gzip, chunked' }, chunks('whole')),
  ],
])('17: a body framed %s is refused', async (_, bytes) => {
  const { error, begins, requests } = await downloadFrom([bytes]);
  expect(error).toMatchObject({ name: 'CopyFailed' });
  expect([begins, requests.length]).toEqual([[], 1]);
});

test('the headers of a head that comes in many pieces are those that were sent', async () => {
  const pieces = [
    'HTTP/1.1 200 -\r\nETag: "one"\r\nContent-Length: 5\r\n',
    ...Array(40).fill('a:\r\n'.repeat(330)),
  ];
  const inPieces = async (socket: Socket) => {
    for (const piece of [...pieces, '\r\nwh']) {
      socket.write(piece);
      await setImmediate();
    }
    socket.end();
  };
  const rest = answer(206, { ETag: '"one"', 'Content-Range': 'bytes 2-4/5', 'Content-Length': '3' }, 'ole');
  const { text, requests } = await downloadFrom([inPieces, rest]);
  expect([text, requests.length]).toEqual(['whole', 2]);
  expect(requests[1]).toMatchObject({ 'if-match': '"one"' });
});

test('17: a 206 framed by neither a length nor chunks is refused', async () => {
  const broken = answer(200, { ETag: '"one"', 'Content-Length': '5' }, 'wh');
  const rest = answer(206, { ETag: '"one"', 'Content-Range': 'bytes 2-4/5' }, 'ole');
  const { error } = await downloadFrom([broken, rest]);
  expect(error).toMatchObject({
    name: 'CopyFailed',
    message: expect.stringContaining('marks the end of the file neither'),
  });
});

test.each([
  ['is cut short', answer(200, { 'Content-Length': '9' }, 'whole')],
  [
    'is cut short, on a connection that closes',
    answer(200, { 'Content-Length': '9', Connection: 'close' }, 'whole'),
  ],
  ['is cut after a chunk', answer(200, CHUNKED, '5\r\nwhole\r\n')],
  [
    'is cut after a chunk, on a connection that closes',
    answer(200, { ...CHUNKED, Connection: 'close' }, '5\r\nwhole\r\n'),
  ],
  ['is cut in a chunk', answer(200, CHUNKED, '9\r\nwhole')],
  ['is cut in the trailer', answer(200, CHUNKED, '5\r\nwhole\r\n0\r\n')],
  ['has a chunk without a size', answer(200, CHUNKED, '5\r\nwhole\r\n\r\nx\r\n')],
  ['has a chunk that is longer than its size', answer(200, CHUNKED, '4\r\nwhole\r\n0\r\n\r\n')],
  ['has a chunk of a negative size', answer(200, CHUNKED, '-5\r\nwhole\r\n0\r\n\r\n')],
])('17: a body that %s is not complete', async (_, bytes) => {
  const headless = bytes.replace('ETag: "one"\r\n', '');
  const { ended, text, requests } = await downloadFrom([headless, OK]);
  expect([ended, text, requests.length]).toEqual([5, 'whole', 2]);
});

test.each([
  ['no status', 'SSH-2.0-x\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a header without a colon', 'HTTP/1.1 200 OK\r\nx\r\n\r\n'],
  ['two lengths', answer(200, { 'Content-Length': '1', 'content-length': '2' }, 'xy')],
  ['a length with a sign', answer(200, { 'Content-Length': '+1' }, 'x')],
  ['a length and chunks', answer(200, { ...CHUNKED, 'Content-Length': '5' }, chunks('whole'))],
  ['a head that is too long', answer(200, { x: 'y'.repeat(100_000), 'Content-Length': '0' })],
  ['a head that breaks off', 'HTTP/1.1 200 OK\r\nContent-Le'],
])('an answer with %s is refused', async (_, bytes) => {
  const { error, begins } = await downloadFrom([bytes]);
  expect(error).toMatchObject({ name: 'CopyFailed' });
  expect(begins).toEqual([]);
});

test('9: a host that sends no headers in time fails the download', async () => {
  const { error } = await downloadFrom([() => {}], { source: { timeouts: { headers: 50 } } });
  expect(error).toMatchObject({ name: 'CopyFailed', message: expect.stringContaining('HEADERS_TIMEOUT') });
});

test.each([
  ['stalls', () => {}],
  ['brings less than a KiB in each window', drip],
] as const)('9: a body that %s is a break', async (_, go) => {
  const stall = answer(200, { ETag: '"one"', 'Content-Length': '5' }, 'wh');
  const rest = answer(206, { ETag: '"one"', 'Content-Range': 'bytes 2-4/5', 'Content-Length': '3' }, 'ole');
  const first = (socket: Parameters<typeof drip>[0]) => {
    socket.write(stall);
    go(socket);
  };
  const { ended, text, requests } = await downloadFrom([go === drip ? dripping : first, rest, OK], {
    source: { timeouts: { idle: 60 } },
  });
  expect(ended).toBe(5);
  expect(text).toBe('whole');
  expect(requests.length).toBeGreaterThan(1);
});

function drip(socket: import('node:net').Socket): void {
  const timer = setInterval(() => socket.write('x'), 10);
  socket.on('close', () => clearInterval(timer));
}

/** A file of 9,000 bytes that sends one byte every 10 ms. */
function dripping(socket: import('node:net').Socket): void {
  socket.write(answer(200, { 'Content-Length': '9000' }));
  drip(socket);
}

test('9: a body that waits for the receiver is not slow', async () => {
  const free = Promise.withResolvers<void>();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const write = () => {
    void vi.advanceTimersByTimeAsync(59_000).then(() => free.resolve());
    return free.promise;
  };
  const { ended, requests } = await downloadFrom([OK], { write });
  vi.useRealTimers();
  expect([ended, requests.length]).toEqual([5, 1]);
});
