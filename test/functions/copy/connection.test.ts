import type { OnReadOpts } from 'node:net';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { createFileConnector } from '../../../functions/copy/connection.ts';

const TARGET = { hostname: '127.0.0.1', protocol: 'http:', port: '80' };
const KiB = 1024;

/** A connection that reads as Node's socket does, but never stops. */
function connect() {
  const socket = new Readable({ read() {} });
  let read: OnReadOpts | undefined;
  createFileConnector((onread) => {
    read = onread;
    return (_, callback) => callback(null, socket as never);
  })(TARGET, () => {});
  const memories = new Set<ArrayBufferLike>();
  const receive = (bytes: Buffer) => {
    const { buffer, callback } = read as { buffer: () => Buffer; callback: OnReadOpts['callback'] };
    for (let rest = bytes; rest.length > 0; ) {
      const into = buffer();
      memories.add(into.buffer);
      const count = rest.copy(into);
      callback(count, into);
      rest = rest.subarray(count);
    }
  };
  return { socket, receive, memories };
}

/** Reads of different sizes, none of which repeats the bytes of another one. */
const READS = Array.from({ length: 40 }, (_, index) => Buffer.alloc(((index * 37) % 300) * KiB + 1, index));

test('a connection whose bytes are taken at once reads into two buffers', () => {
  const { socket, receive, memories } = connect();
  for (const bytes of READS) {
    receive(bytes);
    expect(socket.read()).toEqual(bytes);
  }
  expect(memories.size).toBe(2);
});

test.each([2, 3, 40])('bytes that wait for %i reads are not overwritten', (count) => {
  const { socket, receive } = connect();
  for (let at = 0; at < READS.length; at += count) {
    const waiting = READS.slice(at, at + count);
    for (const bytes of waiting) receive(bytes);
    expect(Buffer.concat(waiting).equals(socket.read())).toBe(true);
  }
});
