import { getEventListeners, once } from 'node:events';
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Connect, type Get, get } from '../../../functions/copy/get.ts';
import { listenTcp } from '../../support/listen.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n';
const connecting: Connect = (onread) => buildConnector({ allowH2: false, timeout: 0, onread });

/** A server that says what it is told to, when it is told to. */
async function openPeer() {
  const { promise: connected, resolve } = Promise.withResolvers<Socket>();
  const server = await listenTcp(resolve);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return {
    url: `${server.url}/a/report.json?X-Amz-Signature=b%20c`,
    connected,
    /** The connection, once the whole request has come. */
    async asked() {
      const socket = await connected;
      let text = '';
      while (!text.endsWith('\r\n\r\n')) text += (await once(socket, 'data'))[0];
      return { socket, text };
    },
  };
}

/** The other side has let go of it. */
async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket.resume(), 'close');
}

const QUIET: Omit<Get, 'url'> = {
  ...{ headers: {}, headersTimeout: 1_000, bodyTimeout: 5_000, minBytes: 10, signal: undefined },
};

/** A GET whose time only passes when told to; what it handed on, and how it ended. */
async function start(change: Partial<Get> & { connect?: Connect; hold?: Promise<void> } = {}) {
  const { connect = connecting, hold, ...request } = change;
  const peer = await openPeer();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  let body = '';
  let ended: unknown;
  const got = get(
    connect,
    { ...QUIET, url: peer.url, ...request },
    {
      onHead() {},
      onData(chunk) {
        body += chunk;
        return hold;
      },
    },
  );
  const settled = got.then(
    (end) => {
      ended = end;
    },
    (error: unknown) => {
      ended = error;
    },
  );
  return {
    ...{ peer, got, settled, body: () => body, ended: () => ended },
    async came(text: string) {
      while (body !== text) await new Promise((next) => setImmediate(next));
    },
    async pass(milliseconds: number) {
      await vi.advanceTimersByTimeAsync(milliseconds);
      await new Promise((next) => setImmediate(next));
    },
  };
}

test('what is asked for is one file, on a connection of its own', async () => {
  const { peer, got } = await start({ headers: { range: 'bytes=5-' } });
  const { socket, text } = await peer.asked();
  expect(text.split('\r\n')).toEqual([
    'GET /a/report.json?X-Amz-Signature=b%20c HTTP/1.1',
    `host: ${new URL(peer.url).host}`,
    ...['connection: close', 'range: bytes=5-', '', ''],
  ]);
  socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  expect(await got).toEqual({ framed: true });
  expect(vi.getTimerCount()).toBe(0);
});

test('an answer ends with its last byte, though the connection stays open', async () => {
  const { peer, got, body } = await start();
  const { socket } = await peer.asked();
  socket.write(`${HEAD}${'x'.repeat(30)}`);
  expect(await got).toEqual({ framed: true });
  expect(body()).toBe('x'.repeat(30));
  await closed(socket);
});

test('an address of IPv6 is connected to without its brackets', async () => {
  const connect = vi.fn<ReturnType<Connect>>((_, callback) => callback(new Error('no route'), null));
  const { got } = await start({ url: 'http://[::1]:8080/a', connect: () => connect });
  await expect(got).rejects.toThrow('no route');
  expect(connect.mock.calls[0]?.[0]).toEqual({
    ...{ protocol: 'http:', hostname: '::1', host: '[::1]:8080', port: '8080' },
  });
});

test('9: the time for the head begins once the connection is there, and ends with the head', async () => {
  const connected = Promise.withResolvers<void>();
  const late: Connect = (onread) => (options, callback) =>
    void connected.promise.then(() => connecting(onread)(options, callback));
  const { peer, pass, ended, settled, came } = await start({ connect: late });
  await pass(900);
  connected.resolve();
  const { socket } = await peer.asked();
  await pass(900);
  expect(ended()).toBeUndefined();
  socket.write(`${HEAD}x`);
  await came('x');
  await pass(4_900);
  expect(ended()).toBeUndefined();
  socket.write('y'.repeat(29));
  await settled;
  expect(ended()).toEqual({ framed: true });
});

test('9: a head that does not come in its time is too slow', async () => {
  const { peer, pass, ended } = await start();
  const { socket } = await peer.asked();
  await pass(999);
  expect(ended()).toBeUndefined();
  await pass(1);
  expect(ended()).toMatchObject({ name: 'TooSlow', code: 'TOO_SLOW' });
  await closed(socket);
});

test('9: a body must bring so many bytes in each window', async () => {
  const { peer, pass, ended, came } = await start();
  const { socket } = await peer.asked();
  socket.write(`${HEAD}${'a'.repeat(4)}`);
  await came('a'.repeat(4));
  socket.write('b'.repeat(6));
  await came(`${'a'.repeat(4)}${'b'.repeat(6)}`);
  await pass(5_000);
  expect(ended()).toBeUndefined();
  socket.write('c'.repeat(9));
  await came(`${'a'.repeat(4)}${'b'.repeat(6)}${'c'.repeat(9)}`);
  await pass(4_999);
  expect(ended()).toBeUndefined();
  await pass(1);
  expect(ended()).toMatchObject({ name: 'TooSlow' });
  expect(vi.getTimerCount()).toBe(0);
});

test('a body that is held back is not called slow, nor in the window after that', async () => {
  const held = Promise.withResolvers<void>();
  const { peer, pass, ended, came } = await start({ hold: held.promise });
  const { socket } = await peer.asked();
  socket.write(`${HEAD}x`);
  await came('x');
  await pass(5_000);
  held.resolve();
  await pass(5_000);
  expect(ended()).toBeUndefined();
  await pass(5_000);
  expect(ended()).toMatchObject({ name: 'TooSlow' });
});

test('a connection that is reset is the end of it', async () => {
  const { peer, got, came } = await start();
  const { socket } = await peer.asked();
  socket.write(`${HEAD}x`);
  await came('x');
  socket.resetAndDestroy();
  await expect(got).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('a connection that is closed before the end is no end', async () => {
  const { peer, got } = await start();
  const { socket } = await peer.asked();
  socket.end(`${HEAD}x`);
  await expect(got).rejects.toMatchObject({ name: 'BadAnswer' });
});

test.each([
  'before it is connected',
  'before the head',
  'in the body',
])('ends when it is told to: %s', async (when) => {
  const stopping = new AbortController();
  const connected = Promise.withResolvers<void>();
  const late: Connect = (onread) => (options, callback) =>
    void connected.promise.then(() => connecting(onread)(options, callback));
  const { peer, got, came } = await start({ signal: stopping.signal, connect: late });
  const reason = new Error('no time');
  if (when === 'before it is connected') stopping.abort(reason);
  connected.resolve();
  if (when !== 'before it is connected') {
    const { socket } = await peer.asked();
    if (when === 'in the body') {
      socket.write(`${HEAD}x`);
      await came('x');
    }
    stopping.abort(reason);
  }
  await expect(got).rejects.toBe(reason);
  await closed(await peer.connected);
  expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('nothing is connected to where the time is up already', async () => {
  const connect = vi.fn<Connect>();
  const { got } = await start({ signal: AbortSignal.abort(new Error('no time')), connect });
  await expect(got).rejects.toThrow('no time');
  expect(connect).not.toHaveBeenCalled();
});
