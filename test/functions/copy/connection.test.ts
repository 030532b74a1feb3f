import type { OnReadOpts } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
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

describe('full TLS records', () => {
  const RECORDS = ['a', 'b', 'c'].map((letter) => Buffer.alloc(16 * KiB, letter));

  test('wait for a short one, and reach the socket with it', () => {
    const { socket, receive } = connect();
    for (const record of RECORDS) receive(record);
    expect(socket.read()).toBeNull();
    receive(Buffer.from('short'));
    expect(socket.read()).toEqual(Buffer.concat([...RECORDS, Buffer.from('short')]));
  });

  test('do not wait for bytes that come later', async () => {
    const { socket, receive } = connect();
    for (const record of RECORDS) receive(record);
    await setImmediate();
    expect(socket.read()).toEqual(Buffer.concat(RECORDS));
  });

  test('come before the end of the connection', async () => {
    const { socket, receive } = connect();
    for (const record of RECORDS) receive(record);
    socket.push(null);
    expect(await buffer(socket)).toEqual(Buffer.concat(RECORDS));
  });

  test('are not overwritten while they wait to be read', async () => {
    const { socket, receive } = connect();
    const records = Array.from({ length: 100 }, (_, index) => Buffer.alloc(16 * KiB, index));
    for (const [index, record] of records.entries()) {
      receive(record);
      if (index % 7 === 0) await setImmediate();
    }
    await setImmediate();
    expect(Buffer.concat(records).equals(socket.read())).toBe(true);
  });
});
