import * as z from 'zod';
import { parseCron } from '../../../functions/decisions/cron.ts';
import { isTimeZone } from '../../../functions/workflow/request/dates.ts';

/** The form of an expression. {@link parseCron} reads the values of a cron. */
const EXPRESSION =
  /^(cron\(([\d*,/-]+ ){2}([\d*,/LW-]+ [\w*,/-]+ \?|\? [\w*,/-]+ [\w*,/#-]+) [\d*,/-]+\)|rate\([1-9]\d* (minute|hour|day)s?\))$/;

export const TimeZone = z.string().refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin');

/** When EventBridge Scheduler starts a run: an expression, or an object with one. */
const RunSchedule = z.preprocess(
  (schedule) => (typeof schedule === 'string' ? { expression: schedule } : schedule),
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
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'must be a time of day, such as 09:00', abort: true })
      .optional(),
    tell: z.literal('always', 'must be "always", or absent').optional(),
  })
  .superRefine(({ schedule, ready_by, tell }, context) => {
    const fault = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (tell && ready_by === undefined) fault('tell', 'needs ready_by');
    if (ready_by === undefined) return;
    if (!schedule?.expression.startsWith('cron')) fault('ready_by', 'needs a schedule with cron(…)');
    else if (firstStart(schedule.expression) >= ready_by)
      fault('ready_by', `must be later on the day than the start, ${firstStart(schedule.expression)}`);
  });

export interface Schedule extends z.infer<typeof RunSchedule> {
  /** Default: UTC. */
  readonly time_zone?: string | undefined;
}

/** The years of EventBridge Scheduler's expressions begin with 1970. */
const FIRST_START = '1970-01-01T00:00:00Z';

function checkCron(expression: string, context: z.core.$RefinementCtx<string>): void {
  if (!expression.startsWith('cron')) return;
  try {
    if (!parseCron(expression).nextRun(FIRST_START)) context.addIssue('names no day that exists');
  } catch (error) {
    const message = `cannot be read: ${(error as Error).message.replace('CronPattern: ', '')}`;
    context.addIssue({ code: 'custom', message, continue: false });
  }
}

/** The schedule of a check: on the days on which a run starts, at the time by which it must be ready. */
export function checkExpression(expression: string, readyBy: string): string {
  const [hours, minutes] = readyBy.split(':').map(Number);
  return expression.replace(/^cron\(\S+ \S+/, `cron(${minutes} ${hours}`);
}

/** The first time of a day, HH:MM, at which a cron starts a run. */
function firstStart(expression: string): string {
  const daily = expression.replace(/^(cron\(\S+ \S+) .*/, '$1 * * ? *)');
  return parseCron(daily).nextRun('2025-12-31T23:59:59Z')?.toISOString().slice(11, 16) ?? '';
}
