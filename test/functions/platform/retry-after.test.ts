import { expect, test } from 'vitest';
import { readRetryAfter } from '../../../functions/platform/retry-after.ts';

const NOW = Date.parse('2026-10-01T00:00:00.500Z');

test.each([
  ['120', 120],
  ['0', 0],
  ['1.2', 2],
  ['Thu, 01 Oct 2026 00:00:30 GMT', 30],
  ['Thursday, 01-Oct-26 00:00:30 GMT', 30],
  ['Thu, 01 Oct 2020 00:00:30 GMT', 0],
  ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ['-5', undefined],
  ['soon', undefined],
  ['monday', undefined],
  ['', undefined],
  [undefined, undefined],
])('%s is %s seconds', (header, seconds) => {
  expect(readRetryAfter(header, NOW)).toBe(seconds);
});
