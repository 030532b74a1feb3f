import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Dispatcher } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readResponse, requestTarget, WAITING_BYTES, type Write } from '../../../functions/copy/body.ts';
import { safeAgent } from '../../../functions/platform/safe-agent.ts';
import { answer, chunks } from '../../support/download.ts';
import { listenTcp } from '../../support/listen.ts';

const NEVER = new AbortController().signal;

/** Asks a host for a body. @param send answers the request */
async function read(send: (socket: Socket) => unknown, write: Write, signal = NEVER): Promise<void> {
  const dispatcher = safeAgent({ allowLoopback: true });
  onTestFinished(() => dispatcher.destroy());
  const host = await listenTcp(async (socket) => {
    await once(socket, 'data');
    send(socket);
  });
  onTestFinished(() => host[Symbol.asyncDispose]());
  await readResponse({ dispatcher, url: `${host.url}/report`, headers: {} }, () => write, signal);
}

const CLOSE = { Connection: 'close' };
const whole = (body: string) => answer(200, { ...CLOSE, 'Content-Length': String(body.length) }, body);
const inChunks = (body: string) => answer(200, { ...CLOSE, 'Transfer-Encoding': 'chunked' }, chunks(body));

describe('a pending write', () => {
  test('25: that fails after the end of the body fails the download', async () => {
    const settle = Promise.withResolvers<void>();
    const send = (socket: Socket) => {
      // The connection is closed when undici has read the whole body.
      socket.once('close', () => settle.reject(new Error('S3 refused the part')));
      socket.end(whole('[]'));
    };
    await expect(read(send, () => settle.promise)).rejects.toThrow('S3 refused the part');
  });

  test('9: does not delay a call whose time is up', async () => {
    const stopping = new AbortController();
    const write = () => {
      stopping.abort();
      return new Promise<void>(() => {});
    };
    const sending = (socket: Socket) => socket.write(answer(200, { 'Content-Length': '9' }, '['));
    await expect(read(sending, write, stopping.signal)).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('9: does not delay a call whose time is up after the end of the body', async () => {
    const stopping = new AbortController();
    const send = (socket: Socket) => {
      socket.once('close', () => stopping.abort());
      socket.write(whole('[]'));
    };
    const reading = read(send, () => new Promise(() => {}), stopping.signal);
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
  });

  // With the first size, nothing but the end of the body is left when the body is asked to wait.
  test.each([
    [WAITING_BYTES, 'Content-Length', whole],
    [WAITING_BYTES, 'chunks', inChunks],
    [WAITING_BYTES + 40_000, 'Content-Length', whole],
    [WAITING_BYTES + 40_000, 'chunks', inChunks],
  ])('is followed by all of %i bytes of a closed connection, framed by %s', async (bytes, _, framed) => {
    const first = Promise.withResolvers<void>();
    const send = (socket: Socket) =>
      socket.end(framed('x'.repeat(bytes)), async () => {
        for (let turn = 0; turn < 20; turn++) await setImmediate();
        first.resolve();
      });
    let taken = 0;
    await read(send, (chunk) => {
      taken += chunk.length;
      return taken === chunk.length ? first.promise : undefined;
    });
    expect(taken).toBe(bytes);
  });

  test('lets 256 KiB come, and then asks the body to wait until it has ended', async () => {
    const host = new FedHost();
    const settle = Promise.withResolvers<void>();
    const write = vi.fn<Write>().mockReturnValueOnce(settle.promise);
    const reading = readResponse({ dispatcher: host, url: 'http://host/', headers: {} }, () => write, NEVER);
    const sent = host.sendUntilPaused(Buffer.alloc(WAITING_BYTES / 4));
    expect({ sent, written: write.mock.calls.length }).toEqual({ sent: 4, written: 1 });
    settle.resolve();
    await vi.waitUntil(() => !host.controller.paused);
    expect(write).toHaveBeenCalledTimes(4);
    host.end();
    await reading;
  });
});

/** A host that answers as the test says. */
class FedHost extends Dispatcher {
  #handler: Dispatcher.DispatchHandler = {};
  readonly controller = {
    paused: false,
    pause() {
      this.paused = true;
    },
    resume() {
      this.paused = false;
    },
  };

  override dispatch(_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#handler = handler;
    handler.onRequestStart?.(this.controller as never, {});
    handler.onResponseStart?.(this.controller as never, 200, {}, 'OK');
    return true;
  }

  /** @returns the number of chunks that it sent */
  sendUntilPaused(chunk: Buffer): number {
    for (let sent = 1; ; sent++) {
      this.#handler.onResponseData?.(this.controller as never, chunk);
      if (this.controller.paused) return sent;
    }
  }

  end(): void {
    this.#handler.onResponseEnd?.(this.controller as never, {});
  }
}

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
