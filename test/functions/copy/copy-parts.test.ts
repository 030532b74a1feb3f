import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { combineCrc32 } from '../../../functions/copy/crc32.ts';
import { openJsonShape } from '../../../functions/copy/json-shape.ts';
import { partBytes } from '../../../functions/copy/part-writer.ts';

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

test('10,000 parts, each allowed by S3, hold 250 GiB, and the first 31 GiB take parts of 8 MiB', () => {
  const sizes = Array.from({ length: 10_000 }, (_, at) => partBytes(at + 1));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(250 * 1024 ** 3);
  expect(sizes.slice(0, 4_000).every((size) => size === 8 * 1024 ** 2)).toBe(true);
  expect([6_000, 6_001, 8_000, 8_001].map((number) => partBytes(number) / 1024 ** 2)).toEqual([
    16, 32, 32, 64,
  ]);
});

test('rows are those that JSON.parse finds, however the bytes are cut', () => {
  const rows = fc.array(fc.oneof(fc.jsonValue(), fc.constant({ '"': '\\"[{,}]\\\\' })));
  fc.assert(
    fc.property(
      rows,
      fc.integer({ min: 1, max: 300 }),
      fc.constantFrom(undefined, 2),
      (values, cut, indent) => {
        const shape = shapeOf(JSON.stringify(values, null, indent), cut);
        expect([shape?.closed(), shape?.rows()]).toEqual([true, values.length]);
      },
    ),
  );
});

test('rows of NDJSON are its lines', () => {
  const rows = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 2 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 300 }), (values, cut) => {
      const shape = shapeOf(values.map((value) => `${JSON.stringify(value)}\n`).join(''), cut);
      expect([shape?.closed(), shape?.rows()]).toEqual([true, values.length]);
    }),
  );
});

test('an array that is cut anywhere is not closed', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), fc.nat(), (values, at) => {
      const text = Buffer.from(JSON.stringify(values));
      expect(shapeOf(text.subarray(0, at % text.length), 1_000)?.closed()).toBe(false);
    }),
  );
});

test.each([
  '[}',
  '{]',
  ']',
  '[1]]',
  '1',
  '"a"',
  '[1],[2]',
  '\ufeff\ufeff[]',
  'x[]',
])('%j is broken', (text) => {
  expect(shapeOf(text, 1)).toBeUndefined();
});

/** undefined where the text is found broken. */
function shapeOf(text: string | Buffer, cut: number) {
  const shape = openJsonShape();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += cut)
    if (!shape.write(bytes.subarray(at, at + cut))) return undefined;
  return shape;
}
