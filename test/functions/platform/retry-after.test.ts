import { expect, test } from 'vitest';
import { readRetryAfter } from '../../../functions/platform/retry-after.ts';

const NOW = Date.parse('2026-10-01T00:00:00.500Z');

test.each([
  ['120', 120],
  ['0', 0],
  ['1.2', 2],
  ['1.05', 2],
  ['10.000', 10],
  ['Thu, 01 Oct 2026 00:00:30 GMT', 30],
  ['Thursday, 01-Oct-26 00:00:30 GMT', 30],
  ['Thu Oct  1 00:00:30 2026 GMT', 30],
  ['thu, 01 Oct 2026 00:00:00 GMT', 0],
  ['Thu, 01 Oct 2020 00:00:30 GMT', 0],
  ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ['-5', undefined],
  ['+5', undefined],
  ['5 s', undefined],
  ['5.', undefined],
  ['.5', undefined],
  ['1.2.3', undefined],
  ['1e3', undefined],
  ['0x10', undefined],
  ['5, 10', undefined],
  ['in Thu, 01 Oct 2026 00:00:30 GMT', undefined],
  ['01 Oct 2026 00:00:30 GMT', undefined],
  ['2026-10-01T00:00:30Z', undefined],
  ['soon', undefined],
  ['monday', undefined],
  ['', undefined],
  [undefined, undefined],
])('%s is %s seconds', (header, seconds) => {
  expect(readRetryAfter(header, NOW)).toBe(seconds);
});
