import { expect, it } from 'vitest';
import { parseCron } from '../../../functions/decisions/cron.ts';

const START = new Date('2026-11-01T00:30:00Z'); // A Sunday.

/** The first runs after {@link START}, to the minute. */
function firstRuns(expression: string, many: number): string[] {
  return parseCron(expression)
    .nextRuns(many, START)
    .map((time) => time.toISOString().slice('2026-'.length, '2026-11-01T00:00'.length));
}

it.each([
  [
    'hours',
    'cron(0 22-2 * * ? *)',
    ['11-01T01:00', '11-01T02:00', '11-01T22:00', '11-01T23:00', '11-02T00:00'],
  ],
  ['every second hour', 'cron(0 21-2/2 * * ? *)', ['11-01T01:00', '11-01T21:00', '11-01T23:00']],
  ['minutes', 'cron(58-1 4 * * ? *)', ['11-01T04:00', '11-01T04:01', '11-01T04:58', '11-01T04:59']],
  ['days by name', 'cron(0 6 ? * FRI-MON *)', ['11-01T06:00', '11-02T06:00', '11-06T06:00', '11-07T06:00']],
  ['days by number', 'cron(0 6 ? * 7-1 *)', ['11-01T06:00', '11-07T06:00', '11-08T06:00']],
  ['days in a list', 'cron(0 6 ? * WED,sat-sun *)', ['11-01T06:00', '11-04T06:00', '11-07T06:00']],
  ['days of the month', 'cron(0 6 30-2 * ? *)', ['11-01T06:00', '11-02T06:00', '11-30T06:00', '12-01T06:00']],
  ['months', 'cron(0 6 15 NOV-JAN ? *)', ['11-15T06:00', '12-15T06:00', '01-15T06:00', '11-15T06:00']],
])('a range may begin again: %s', (_, expression, runs) => {
  expect(firstRuns(expression, runs.length)).toEqual(runs);
});

it.each([
  'cron(0 25-2 * * ? *)',
  'cron(0 6 ? * FRI-DAY *)',
  'cron(0 22-2/0 * * ? *)',
])('refuses %s', (expression) => {
  expect(() => parseCron(expression)).toThrow();
});
