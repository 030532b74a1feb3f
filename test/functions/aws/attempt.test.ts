import { expect, test } from 'vitest';
import { fill } from '../../../functions/aws/copy/attempt.ts';

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
