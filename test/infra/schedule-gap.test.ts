import { expect, it } from 'vitest';
import { longestGap } from '../../infra/schedule-gap.ts';

const HOUR = 60;
const DAY = 24 * HOUR;

it.each([
  ['rate(5 minutes)', 5],
  ['rate(1 hour)', HOUR],
  ['rate(3 days)', 3 * DAY],
  ['cron(0/15 * * * ? *)', 15],
  ['cron(0 * * * ? *)', HOUR],
  ['cron(0 6 * * ? *)', DAY],
  ['cron(0 6 ? * * *)', DAY],
  ['cron(30 6,18 * * ? *)', 12 * HOUR],
  ['cron(0 6,8 * * ? *)', 22 * HOUR],
  ['cron(0 8-18/2 * * ? *)', 14 * HOUR],
  ['cron(0 6 ? * MON-FRI *)', 3 * DAY],
  ['cron(0 6 ? * 2-6 *)', 3 * DAY],
  ['cron(0 6 ? * MON *)', 7 * DAY],
  ['cron(0 6 ? * L *)', 7 * DAY],
  ['cron(0 7 2 * ? *)', 31 * DAY],
  ['cron(0 7 L * ? *)', 31 * DAY],
  ['cron(0 7 1W * ? *)', 31 * DAY],
  ['cron(0 7 ? * MON#1 *)', 35 * DAY],
  ['cron(0 7 ? * 6L *)', 35 * DAY],
  ['cron(0 7 1,15 * ? *)', 17 * DAY],
  ['cron(0 7 1 JAN,JUL ? *)', 184 * DAY],
])('the longest time between two starts of %s is %i minutes', (expression, minutes) => {
  expect(longestGap(expression)).toBe(minutes);
});

it.each([
  'cron(0 6 * * ? 2026)',
  'cron(0 25 * * ? *)',
  'cron(0 6 * * SOMEDAY *)',
  'cron(0 6 30 2 ? *)',
  'cron(0 6 * * *)',
  'at(2026-01-01T00:00:00)',
])('that of %s cannot be told', (expression) => {
  expect(longestGap(expression)).toBeUndefined();
});
