import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import type { CopyCheckpoint } from '../../../functions/copy/copy.ts';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import { jsonOf, startCopying } from '../../support/copying.ts';
import { callCopy, Killed } from '../../support/copying-calls.ts';

const PART = 512 * 1024;
const PARTS = 5;
const { body } = jsonOf((PARTS - 1) * PART + 17);
const moments = Array.from({ length: PARTS }, (_, at) => [at + 1, 'first'] as const);

test.each([
  ...moments,
  ...moments.map(([part]) => [part, 'second'] as const),
])('28: a copy that is killed when part %i has arrived, in its %s call, is complete after a replay', async (part, call) => {
  await using copying = await startCopying({ body });
  let checkpoint: CopyCheckpoint | undefined;
  const seen: Promise<Buffer | undefined>[] = [];
  const arrived = () => seen.push(copying.object());
  if (call === 'second') {
    const first = await callCopy(copying, undefined, { part: PART, cut: { after: PART, by: 'time' } });
    if (!('upload_id' in first)) throw new Error('The first call copied the whole file');
    checkpoint = first;
  }
  const left = Math.min(part * PART, body.length) - (checkpoint?.stored_bytes ?? 0);
  const cut = { after: Math.max(1, left), by: 'kill' as const };
  await expect(callCopy(copying, checkpoint, { part: PART, cut, arrived })).rejects.toThrow(Killed);
  expect(new Set(await Promise.all([...seen, copying.object()]))).toEqual(new Set([undefined]));
  const copied = await callCopy(copying, checkpoint, { part: PART, arrived });
  for (const object of await Promise.all(seen))
    expect(object === undefined || object.equals(body)).toBe(true);
  const object = await copying.object();
  expect(object?.equals(body)).toBe(true);
  expect(copied).toMatchObject({ bytes: body.length, crc32: base64Crc32(crc32(body)) });
  // The bucket's lifecycle rule removes the upload of a first call, which no state names.
  expect(await copying.openUploads()).toBeLessThanOrEqual(call === 'second' ? 0 : 1);
});
