import { Cron } from 'croner';

/**
 * Reads a cron like EventBridge Scheduler: Sunday is 1, and L is the last day of the month or the week.
 *
 * @param expression such as `cron(0 6 * * ? *)`
 * @throws Error that says which value is wrong
 */
export function parseCron(expression: string, timezone = 'UTC'): Cron {
  const fields = expression.slice('cron('.length, -1).replace(/ L (\S+)$/, ' SAT $1');
  return new Cron(`0 ${fields}`, { mode: '7-part', alternativeWeekdays: true, sloppyRanges: true, timezone });
}
