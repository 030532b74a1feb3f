import type { OnReadOpts } from 'node:net';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { describe, expect, test } from 'vitest';
import { createFileConnector, readResponse, requestTarget } from '../../../functions/copy/body.ts';

const KiB = 1024;

/** A body that is being read. Its first write is pending until `settle` says so. */
function start(length?: number) {
  const stop = new AbortController();
  const settle = Promise.withResolvers<void>();
  const calls: string[] = [];
  let handler: Dispatcher.DispatchHandler = {};
  const controller = {
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    abort(error: Error) {
      calls.push('abort');
      handler.onResponseError?.(controller as never, error);
    },
  };
  const dispatcher = {
    dispatch(_: unknown, given: Dispatcher.DispatchHandler) {
      handler = given;
    },
  };
  let text = '';
  const reading = readResponse(
    { dispatcher: dispatcher as never, url: 'http://host/', headers: {} },
    () => (chunk) => {
      text += chunk;
      return text.length === chunk.length ? settle.promise : undefined;
    },
    stop.signal,
  );
  const headers = length === undefined ? {} : { 'content-length': String(length) };
  handler.onRequestStart?.(controller as never, {});
  handler.onResponseStart?.(controller as never, 200, headers, '');
  const take = (bytes: Buffer) => handler.onResponseData?.(controller as never, bytes);
  const end = () => handler.onResponseEnd?.(controller as never, {});
  return { stop, settle, reading, calls, take, end, text: () => text };
}

describe('a pending write', () => {
  test('25: that fails after the end of the body fails the download', async () => {
    const { settle, reading, take, end } = start();
    take(Buffer.from('['));
    end();
    settle.reject(new Error('S3 refused the part'));
    await expect(reading).rejects.toThrow('S3 refused the part');
  });

  test('9: does not delay a call whose time is up', async () => {
    const { stop, reading, take, calls } = start();
    take(Buffer.from('['));
    stop.abort(new Error('no time'));
    await expect(reading).rejects.toThrow('no time');
    expect(calls).toEqual(['pause', 'abort']);
  });

  test('is followed by the bytes that came meanwhile, although their memory has changed', async () => {
    const { settle, reading, take, end, text } = start();
    const memory = Buffer.from('1');
    for (const byte of ['1', '2', '3']) {
      memory.write(byte);
      take(memory);
    }
    end();
    expect(text()).toBe('1');
    settle.resolve();
    await reading;
    expect(text()).toBe('123');
  });

  test.each([
    [1, []],
    [2, ['pause']],
  ])('of the first of %i bytes pauses the body: %j', (length, calls) => {
    const started = start(length);
    started.take(Buffer.from('['));
    expect(started.calls).toEqual(calls);
  });
});

/** A connection that reads as Node's socket does, but never stops. */
function connect() {
  const socket = new Readable({ read() {} });
  let read: OnReadOpts | undefined;
  createFileConnector((onread) => {
    read = onread;
    return (_, callback) => callback(null, socket as never);
  })({ hostname: '127.0.0.1', protocol: 'http:', port: '80' }, () => {});
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

describe('a connection', () => {
  /** Reads of different sizes, none of which repeats the bytes of another one. */
  const READS = Array.from({ length: 40 }, (_, index) => Buffer.alloc(((index * 37) % 300) * KiB + 1, index));

  test('whose bytes are taken at once reads into two buffers', () => {
    const { socket, receive, memories } = connect();
    for (const bytes of READS) {
      receive(bytes);
      expect(socket.read()).toEqual(bytes);
    }
    expect(memories.size).toBe(2);
  });

  test.each([2, 3, 40])('does not overwrite bytes that wait for %i reads', (count) => {
    const { socket, receive } = connect();
    for (let at = 0; at < READS.length; at += count) {
      const waiting = READS.slice(at, at + count);
      for (const bytes of waiting) receive(bytes);
      expect(Buffer.concat(waiting).equals(socket.read())).toBe(true);
    }
  });
});

test.each([
  "/owls.json?sig=a'b",
  "/owl's (1).json?sig=1".replace(' ', '_'),
  '/a/./b/../c?sig=1',
  '/a/%2e%2E/b%2Fc?sig=%2f',
  '//double//slash?sig=1',
  '/x?a=1&&b=&=x',
  '/x?a=b+c%20d&sig=~!*()|^`{}',
  '/[x]?filter[a]="1"',
  '/c;v=1,2:3@4&5=$6?q=a/b?c\\d',
  '/%e4%bd?',
  '?sig=1',
])('31: a pre-signed URL is asked for byte for byte: %s', (target) => {
  const path = target.startsWith('/') ? target : `/${target}`;
  expect(requestTarget(`https://host.example:8443${target}`)).toBe(path);
  expect(requestTarget(` HTTP://host.example${target}#fragment\n`)).toBe(path);
});

test.each([
  ['https://host', '/'],
  ['https://host/a b/é?x=ü\t\r\n1', '/a%20b/%C3%A9?x=%C3%BC1'],
  ['https://host\\a/b', '/a/b'],
  ['https:/host/a?b', '/a?b'],
])('31: what a request cannot hold is encoded, and odd forms are read as URL reads them: %s', (url, target) => {
  expect(requestTarget(url)).toBe(target);
});
