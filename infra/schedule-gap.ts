/** How seldom a schedule starts its export, so that an alarm knows when one is missing. */

const DAY_MINUTES = 24 * 60;
const MINUTES = { minute: 1, hour: 60, day: DAY_MINUTES } as const;

/** Four years: every month's length, the leap day, and each day of the month on many days of the week. */
const DAYS = Array.from({ length: 4 * 365 + 1 }, (_, day) => new Date(Date.UTC(2024, 0, 1 + day)));

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/** Whether a day of the month, or of the week, is meant by one of a field's values. */
type DayTest = (day: Date) => boolean;

/**
 * The longest time between two starts, in minutes, leaving out what daylight saving adds; undefined where it cannot be
 * told: a cron expression that ends with a year, starts fewer than two times in four years, or is none.
 *
 * @param expression `rate(…)` or `cron(…)`, as EventBridge Scheduler takes it
 */
export function longestGap(expression: string): number | undefined {
  const rate = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression);
  if (rate) return Number(rate[1]) * MINUTES[rate[2] as keyof typeof MINUTES];
  const fields = fieldsOf(expression);
  return fields.length === 6 && fields[5] === '*' ? ifCron(() => longestCronGap(fields)) : undefined;
}

/** Whether EventBridge Scheduler takes a cron expression, which it would only say when the stack is deployed. */
export function isCron(expression: string): boolean {
  const [minute = '', hour = '', ofMonth = '', month = '', ofWeek = '', year = '', ...rest] =
    fieldsOf(expression);
  const parse = () => {
    numbers(minute, 0, 59);
    numbers(hour, 0, 23);
    numbers(month, 1, 12, MONTHS);
    numbers(year, 1970, 2199);
    dayTest(ofMonth, ofWeek);
    return rest.length === 0;
  };
  // Of the two days, exactly one is not asked for.
  return (ofMonth === '?') !== (ofWeek === '?') && ifCron(parse) === true;
}

function fieldsOf(expression: string): string[] {
  return /^cron\((.*)\)$/.exec(expression)?.[1]?.toUpperCase().split(' ') ?? [];
}

/** What was parsed; undefined where it is no cron expression. */
function ifCron<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function longestCronGap([minute = '', hour = '', ofMonth = '', month = '', ofWeek = '']: readonly string[]) {
  const minutes = numbers(minute, 0, 59);
  const times = numbers(hour, 0, 23).flatMap((h) => minutes.map((m) => h * 60 + m));
  const months = numbers(month, 1, 12, MONTHS);
  const isMeant = dayTest(ofMonth, ofWeek);
  const days = DAYS.filter((day) => months.includes(day.getUTCMonth() + 1) && isMeant(day));
  const starts = days.flatMap((day) => times.map((time) => day.getTime() / 60_000 + time));
  const longest = starts.reduce((most, start, at) => Math.max(most, start - (starts[at - 1] ?? start)), 0);
  return longest > 0 ? longest : undefined;
}

/** One of the two says `?`, or both say every day. */
function dayTest(ofMonth: string, ofWeek: string): DayTest {
  const tests =
    ofWeek === '?' || ofWeek === '*' ? ofMonth.split(',').map(monthDay) : ofWeek.split(',').map(weekday);
  return (day) => tests.some((test) => test(day));
}

function monthDay(text: string): DayTest {
  if (text === '?') return () => true;
  if (text === 'L') return (day) => day.getUTCDate() === lengthOfMonth(day);
  const [, nearest] = /^(\d{1,2}|L)W$/.exec(text) ?? [];
  // Moved by two days at most, which a gap of a month does not notice.
  if (nearest === 'L') return (day) => day.getUTCDate() === lengthOfMonth(day);
  const dates = numbers(nearest ?? text, 1, 31);
  return (day) => dates.includes(day.getUTCDate());
}

function weekday(text: string): DayTest {
  const [, name, nth] = /^(\w+)#([1-5])$/.exec(text) ?? [];
  const last = /^(\w+)L$/.exec(text)?.[1];
  const days = numbers(name ?? last ?? (text === 'L' ? 'SAT' : text), 1, 7, WEEKDAYS);
  return (day) => {
    if (!days.includes(day.getUTCDay() + 1)) return false;
    if (last) return day.getUTCDate() > lengthOfMonth(day) - 7;
    return nth === undefined || Math.ceil(day.getUTCDate() / 7) === Number(nth);
  };
}

function lengthOfMonth(day: Date): number {
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0)).getUTCDate();
}

/**
 * Lists, ranges and steps: `*`, `1,15`, `MON-FRI`, `0/15`, in ascending order.
 *
 * @throws SyntaxError
 */
function numbers(field: string, least: number, most: number, names: readonly string[] = []): number[] {
  const number = (text: string): number => {
    const value = names.includes(text) ? names.indexOf(text) + least : Number(/^\d+$/.exec(text)?.[0]);
    if (value >= least && value <= most) return value;
    throw new SyntaxError(`${text} is not from ${least} to ${most}`);
  };
  const values = field.split(',').flatMap((part) => {
    const [, first = '', last, step] = /^([^-/]+)(?:-([^-/]+))?(?:\/([1-9]\d*))?$/.exec(part) ?? [];
    const from = first === '*' ? least : number(first);
    const to = last !== undefined ? number(last) : first === '*' || step !== undefined ? most : from;
    const by = Number(step ?? 1);
    return Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, n) => from + n * by);
  });
  return [...new Set(values)].sort((a, b) => a - b);
}
