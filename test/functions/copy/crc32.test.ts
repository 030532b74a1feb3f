import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { combineCrc32 } from '../../../functions/copy/crc32.ts';

test('the CRC32 of a whole follows from those of its parts', () => {
  const bytes = () => fc.uint8Array({ maxLength: 3_000 });
  fc.assert(
    fc.property(bytes(), bytes(), (first, second) => {
      const whole = crc32(Buffer.concat([first, second]));
      expect(combineCrc32(crc32(first), crc32(second), second.length)).toBe(whole);
    }),
  );
  const [first, second] = [randomBytes(5), Buffer.alloc(64 * 1024 * 1024, 'long')];
  expect(combineCrc32(crc32(first), crc32(second), second.length)).toBe(crc32(second, crc32(first)));
});
