import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Unfinished } from '../../../functions/copy/attempt.ts';
import { base64Crc32 } from '../../../functions/copy/crc32.ts';
import { jsonOf, openCopying } from '../../support/copying.ts';
import { callCopy, handOn, Killed } from '../../support/copying-calls.ts';

/** Two pieces of a body, which come in 256 KiB at most. */
const PART = 512 * 1024;

const PARTS = 5;
const { body, rows } = jsonOf((PARTS - 1) * PART + 17);

/** Of the first answer's head and of what is read in one piece with a part's last byte. */
const HEAD = 300;

const everyPart = Array.from({ length: PARTS }, (_, at) => at + 1);

test.each(
  everyPart.flatMap((part) => [false, true].map((continued) => [part, continued] as const)),
)('28: a copy that is killed once part %i has come is whole after a replay (gone on with: %s)', async (part, continued) => {
  await using copying = await openCopying({ body });
  let before: Unfinished | undefined;
  const seen: Promise<Buffer | undefined>[] = [];
  const come = () => seen.push(copying.object());
  if (continued) {
    const first = await callCopy(copying, undefined, { part: PART, cut: { after: PART + HEAD, by: 'time' } });
    if (!('uploadId' in first)) throw new Error('The first call came to the end');
    before = handOn(first);
  }
  const left = Math.min(part * PART + HEAD, body.length) - (before?.at ?? 0);
  const cut = { after: Math.max(1, left), by: 'kill' as const };
  await expect(callCopy(copying, before, { part: PART, cut, come })).rejects.toThrow(Killed);
  expect(new Set(await Promise.all([...seen, copying.object()]))).toEqual(new Set([undefined]));
  const copied = await callCopy(copying, before, { part: PART, come });
  for (const object of await Promise.all(seen))
    expect(object === undefined || object.equals(body)).toBe(true);
  const object = await copying.object();
  expect(object?.equals(body)).toBe(true);
  const value = base64Crc32(crc32(body));
  expect(copied).toMatchObject({ bytes: body.length, rows, checksum: { value } });
  // Only one that had no state to be known by is left, to the bucket's rule.
  expect(await copying.openUploads()).toBeLessThanOrEqual(continued ? 0 : 1);
});
