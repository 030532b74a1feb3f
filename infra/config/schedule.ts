import { Cron } from 'croner';
import * as z from 'zod';
import { isTimeZone } from '../../functions/workflow/request/dates.ts';

/** The form of an expression. {@link parseCron} reads the values of a cron. */
const EXPRESSION =
  /^(cron\(([\d*,/-]+ ){2}([\d*,/LW-]+ [\w*,/-]+ \?|\? [\w*,/-]+ [\w*,/#-]+) [\d*,/-]+\)|rate\([1-9]\d* (minute|hour|day)s?\))$/;

export const TimeZone = z.string().refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin');

/** When EventBridge Scheduler starts an export. */
export const Schedule = z.strictObject({
  expression: z
    .string()
    .regex(EXPRESSION, {
      error:
        'must be cron(minutes hours day-of-month month day-of-week year), one of the two days being ?, or rate(N minutes), rate(N hours) or rate(N days)',
      abort: true,
    })
    .superRefine(checkCron),
  time_zone: TimeZone.optional(),
  expect_every_hours: z.int().min(1).default(24),
  enabled: z.boolean().default(true),
});

export type Schedule = z.infer<typeof Schedule>;

/**
 * Reads a cron like EventBridge Scheduler: Sunday is 1, and L is the last day of the month or the week.
 *
 * @throws Error that says which value is wrong
 */
function parseCron(expression: string): Cron {
  const fields = expression.slice('cron('.length, -1).replace(/ L (\S+)$/, ' SAT $1');
  const options = { mode: '7-part', alternativeWeekdays: true, sloppyRanges: true, timezone: 'UTC' } as const;
  return new Cron(`0 ${fields}`, options);
}

function checkCron(expression: string, context: z.core.$RefinementCtx<string>): void {
  if (!expression.startsWith('cron')) return;
  try {
    if (!parseCron(expression).nextRun(new Date(0))) context.addIssue('names no day that exists');
  } catch (error) {
    context.addIssue(`cannot be read: ${(error as Error).message.replace('CronPattern: ', '')}`);
  }
}
