import { expect, test } from 'vitest';
import { failureOf, fill, pass } from '../../../functions/copy/attempt.ts';
import { CopyFailed, UrlExpired } from '../../../functions/workflow/errors.ts';

const size = (number: number) => (number < 3 ? 10 : 20);

/** Parts by their numbers and bytes. */
function parts(...listed: [number, number][]) {
  return listed.map(([number, bytes]) => ({ number, bytes, crc32: 0, etag: '' }));
}

test.each([
  ['whole parts', parts([1, 10], [2, 10]), { from: 0, to: 20 }, 1, true],
  ['parts that grow', parts([1, 10], [2, 10], [3, 20]), { from: 0, to: 40 }, 1, true],
  ['a last one that is shorter', parts([1, 10], [2, 7]), { from: 0, to: 17 }, 1, true],
  ['those of a range', parts([3, 20], [4, 5]), { from: 100, to: 125 }, 3, true],
  ['none of nothing', [], { from: 20, to: 20 }, 3, true],
  ['none of something', [], { from: 0, to: 10 }, 1, false],
  ['too few', parts([1, 10]), { from: 0, to: 20 }, 1, false],
  ['one that is missing', parts([1, 10], [3, 10]), { from: 0, to: 20 }, 1, false],
  ['those of another range', parts([1, 10], [2, 10]), { from: 0, to: 20 }, 2, false],
  ['one that is too short, before the last', parts([1, 8], [2, 10]), { from: 0, to: 18 }, 1, false],
  ['one that is too long, before the last', parts([1, 12], [2, 8]), { from: 0, to: 20 }, 1, false],
  ['a last one that is too long', parts([1, 10], [2, 12]), { from: 0, to: 22 }, 1, false],
])('%s', (_, listed, bounds, first, fills) => {
  expect(fill(listed, bounds, size, first)).toBe(fills);
});

/** Two that take the same bytes, of which the second ends a part after every four; either may ask to wait. */
function takers(waits: { inspection?: Promise<void>; writer?: Promise<void> } = {}) {
  const pieces: { inspection: string[]; writer: string[] } = { inspection: [], writer: [] };
  let used = 0;
  const inspection = {
    write(chunk: Buffer) {
      pieces.inspection.push(chunk.toString());
      return waits.inspection;
    },
  };
  const writer = {
    left: () => 4 - (used % 4),
    write(chunk: Buffer) {
      pieces.writer.push(chunk.toString());
      used += chunk.length;
      return waits.writer;
    },
  };
  return { inspection, writer, pieces };
}

test.each([
  ['abc', ['abc']],
  ['abcd', ['abcd']],
  ['abcde', ['abcd', 'e']],
  ['abcdefghij', ['abcd', 'efgh', 'ij']],
])('%s is passed on to both, cut where a part ends, and without a wait where nobody asks for one', (text, cut) => {
  const { inspection, writer, pieces } = takers();
  expect(pass(inspection, writer, Buffer.from(text))).toBeUndefined();
  expect(pieces).toEqual({ inspection: cut, writer: cut });
});

test.each([
  ['the inspection', 'inspection', {}],
  ['the writer', 'writer', {}],
  ['the inspection, where the writer asks as well', 'inspection', { writer: Promise.resolve() }],
  ['the writer, where the inspection asks as well', 'writer', { inspection: Promise.resolve() }],
])('what follows the end of a part waits for %s', async (_, slow, other) => {
  const waiting = Promise.withResolvers<void>();
  const { inspection, writer, pieces } = takers({ ...other, [slow]: waiting.promise });
  const passed = pass(inspection, writer, Buffer.from('abcde'));
  await new Promise((next) => setImmediate(next));
  expect(pieces).toEqual({ inspection: ['abcd'], writer: ['abcd'] });
  waiting.resolve();
  await new Promise((next) => setImmediate(next));
  expect(pieces).toEqual({ inspection: ['abcd', 'e'], writer: ['abcd', 'e'] });
  await passed;
});

test('a copy whose time is up failed by that, unless it knows better', () => {
  const [broken, expired] = [new Error('terminated'), new UrlExpired('The URL is refused.')];
  const up = AbortSignal.abort();
  expect(failureOf(broken, undefined)).toBe(broken);
  expect(failureOf(broken, new AbortController().signal)).toBe(broken);
  expect(failureOf(expired, up)).toBe(expired);
  expect(failureOf(broken, up)).toBeInstanceOf(CopyFailed);
});
