import { expect, it } from 'vitest';
import { count } from '../../../functions/workflow/count.ts';

it.each([
  [0, '0 days'],
  [1, '1 day'],
  [2, '2 days'],
])('%i before its noun is %s', (many, words) => {
  expect(count(many, 'day')).toBe(words);
});
