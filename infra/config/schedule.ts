import { Cron } from 'croner';
import * as z from 'zod';
import { isTimeZone } from '../../functions/workflow/request/dates.ts';

/** The form of an expression. {@link parseCron} reads the values of a cron. */
const EXPRESSION =
  /^(cron\(([\d*,/-]+ ){2}([\d*,/LW-]+ [\w*,/-]+ \?|\? [\w*,/-]+ [\w*,/#-]+) [\d*,/-]+\)|rate\([1-9]\d* (minute|hour|day)s?\))$/;

export const TimeZone = z.string().refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin');

/** When EventBridge Scheduler starts a run: an expression, or an object with one. */
const RunSchedule = z.preprocess(
  (given) => (typeof given === 'string' ? { expression: given } : given),
  z.strictObject({
    expression: z
      .string()
      .regex(EXPRESSION, {
        error:
          'must be cron(minutes hours day-of-month month day-of-week year), one of the two days being ?, or rate(N minutes), rate(N hours) or rate(N days)',
        abort: true,
      })
      .superRefine(checkCron),
    enabled: z.boolean().default(true),
  }),
);

/** A run of an export. Its period is checked as a part of the request. */
export const Run = z.strictObject({
  period: z.string().optional(),
  schedule: RunSchedule.optional(),
  time_zone: TimeZone.optional(),
});

export interface Schedule extends z.infer<typeof RunSchedule> {
  /** Default: UTC. */
  readonly time_zone?: string | undefined;
}

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

const UNIT_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** The next starts of a schedule in UTC, in ms. One with a rate starts first when it is deployed, which counts as 0. */
export function nextStarts({ expression }: Schedule, count: number): number[] {
  const [, number, unit] = /^rate\((\d+) (minute|hour|day)/.exec(expression) ?? [];
  if (!unit) return parseCron(expression).nextRuns(count).map(Number);
  return Array.from({ length: count }, (_, at) => at * Number(number) * UNIT_MS[unit as 'day']);
}
