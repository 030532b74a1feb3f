import { expect, test } from 'vitest';
import { createBody } from '../../../functions/copy/body.ts';

const pace = { idle: 60_000, minBytes: 1 };

/** A body that is being read. Its first write is pending until `settle` says so. */
async function start(length?: number) {
  const stop = new AbortController();
  const settle = Promise.withResolvers<void>();
  const calls: string[] = [];
  const controller = {
    ...{ aborted: false, paused: false, reason: null, rawHeaders: null, rawTrailers: null },
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    abort: () => void calls.push('abort'),
  };
  const body = createBody(controller, length);
  let text = '';
  const reading = body.read(pace, stop.signal, (chunk) => {
    text += chunk;
    return text.length === chunk.length ? settle.promise : undefined;
  });
  await Promise.resolve();
  calls.length = 0;
  return { stop, settle, body, reading, calls, text: () => text };
}

test('25: a write that fails after the end of the body fails the download', async () => {
  const { settle, reading, body } = await start();
  body.take(Buffer.from('['));
  body.end();
  settle.reject(new Error('S3 refused the part'));
  await expect(reading).rejects.toThrow('S3 refused the part');
});

test('16: a body that breaks is not left before the pending write has ended', async () => {
  const { settle, reading, body } = await start();
  const order: string[] = [];
  body.take(Buffer.from('['));
  body.end(new Error('reset'));
  setImmediate(() => {
    order.push('written');
    settle.resolve();
  });
  await expect(reading.finally(() => order.push('left'))).rejects.toThrow('reset');
  expect(order).toEqual(['written', 'left']);
});

test('9: a pending write does not delay a call whose time is up', async () => {
  const { stop, reading, body, calls } = await start();
  body.take(Buffer.from('['));
  stop.abort(new Error('no time'));
  await expect(reading).rejects.toThrow('no time');
  expect(calls).toEqual(['pause', 'abort']);
});

test('bytes that come while a write is pending are written later, although their memory has changed', async () => {
  const { settle, reading, body, text } = await start();
  const memory = Buffer.from('1');
  for (const byte of ['1', '2', '3']) {
    memory.write(byte);
    body.take(memory);
  }
  body.end();
  expect(text()).toBe('1');
  settle.resolve();
  await reading;
  expect(text()).toBe('123');
});

test.each([
  [1, []],
  [2, ['pause']],
])('a body of %i bytes is paused after the first one: %j', async (length, calls) => {
  const started = await start(length);
  started.body.take(Buffer.from('['));
  expect(started.calls).toEqual(calls);
});
