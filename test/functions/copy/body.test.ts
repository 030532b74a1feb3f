import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { receive } from '../../../functions/copy/body.ts';

const pace = { idle: 60_000, minBytes: 1 };

/** A body that is being received. Its only chunk is written when `settle` says so. */
function start({ isComplete }: { isComplete: boolean }) {
  const stop = new AbortController();
  const settle = Promise.withResolvers<void>();
  const body = new Readable({ read() {} });
  body.push('[');
  if (isComplete) body.push(null);
  const { promise: writing, resolve } = Promise.withResolvers<void>();
  const receiving = receive(body, { ...pace, signal: stop.signal }, () => {
    resolve();
    return settle.promise;
  });
  return { stop, settle, body, writing, receiving };
}

test('25: a write that fails after the end of the body fails the download', async () => {
  const { settle, receiving, body } = start({ isComplete: true });
  body.once('end', () => settle.reject(new Error('S3 refused the part')));
  await expect(receiving).rejects.toThrow('S3 refused the part');
});

test('16: a body that breaks is not left before the pending write has ended', async () => {
  const { settle, receiving, body, writing } = start({ isComplete: false });
  const order: string[] = [];
  await writing;
  body.once('close', () => {
    order.push('written');
    settle.resolve();
  });
  body.destroy(new Error('reset'));
  await expect(receiving.finally(() => order.push('left'))).rejects.toThrow('reset');
  expect(order).toEqual(['written', 'left']);
});

test('9: a pending write does not delay a call whose time is up', async () => {
  const { stop, receiving, writing } = start({ isComplete: false });
  await writing;
  stop.abort(new Error('no time'));
  await expect(receiving).rejects.toThrow('no time');
});
