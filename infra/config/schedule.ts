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
export const Run = z
  .strictObject({
    period: z.string().optional(),
    schedule: RunSchedule.optional(),
    time_zone: TimeZone.optional(),
    ready_by: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, such as 09:00')
      .optional(),
    tell: z.literal('always', 'must be "always", or absent').optional(),
  })
  .superRefine(({ schedule, ready_by, tell }, context) => {
    const fault = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (tell && ready_by === undefined) fault('tell', 'needs ready_by');
    if (ready_by === undefined) return;
    if (!schedule) fault('ready_by', 'needs a schedule');
    else if (checkTime(schedule, ready_by).minutes > DAY_MINUTES)
      fault('ready_by', 'must come within 24 hours after each start of the schedule');
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

/** A check of a run at a time of day. */
interface CheckTime {
  readonly expression: string;
  /** Since the run's start. */
  readonly minutes: number;
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** The check on the days on which a schedule starts a run. One with a rate is checked each day. */
export function checkTime({ expression }: Pick<Schedule, 'expression'>, readyBy: string): CheckTime {
  const [hours, minutes] = readyBy.split(':').map(Number);
  const [, days = '* * ? *'] = /^cron\(\S+ \S+ (.+)\)$/.exec(expression) ?? [];
  const check = `cron(${minutes} ${hours} ${days})`;
  if (!expression.startsWith('cron')) return { expression: check, minutes: 0 };
  const [at = new Date()] = parseCron(check).nextRuns(1);
  const [start = at] = parseCron(expression).previousRuns(1, at);
  return { expression: check, minutes: (at.getTime() - start.getTime()) / MINUTE_MS };
}
