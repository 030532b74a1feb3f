import { Cron } from 'croner';

interface Field {
  readonly first: number;
  readonly last: number;
  /** The names of the values, from `first` on. */
  readonly names?: readonly string[];
}

/** All fields of an expression but the year, in their order. */
const FIELDS: readonly Field[] = [
  { first: 0, last: 59 },
  { first: 0, last: 23 },
  { first: 1, last: 31 },
  {
    first: 1,
    last: 12,
    names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
  },
  { first: 1, last: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] },
];

/**
 * Reads a cron like EventBridge Scheduler: Sunday is 1, L is the last day of the month or the week, and a
 * range may begin again, such as the hours 22-2 or the days FRI-MON.
 *
 * @param expression such as `cron(0 6 * * ? *)`
 * @throws Error that says which value is wrong
 */
export function parseCron(expression: string, timezone = 'UTC'): Cron {
  const texts = expression
    .slice('cron('.length, -1)
    .replace(/ L (\S+)$/, ' SAT $1')
    .split(' ');
  const fields = texts.map((text, at) => {
    const field = FIELDS[at];
    return field
      ? text
          .split(',')
          .map((part) => unwrapRange(part, field))
          .join(',')
      : text;
  });
  const pattern = `0 ${fields.join(' ')}`;
  return new Cron(pattern, { mode: '7-part', alternativeWeekdays: true, sloppyRanges: true, timezone });
}

/** Lists the values of a range whose end is before its start, which Croner refuses. Keeps any other text. */
function unwrapRange(part: string, { first, last, names = [] }: Field): string {
  const [, from = '', to = '', step = '1'] = /^(\w+)-(\w+)(?:\/(\d+))?$/.exec(part) ?? [];
  const numberOf = (text: string) => {
    const at = names.indexOf(text.toUpperCase());
    return at === -1 ? Number(text) : first + at;
  };
  const [start, end, every] = [numberOf(from), numberOf(to), Number(step)];
  // Croner says what is wrong with a value that the field does not have.
  const isWrapped = end < start && end >= first && start <= last && every > 0;
  if (!isWrapped) return part;
  const size = last - first + 1;
  const many = Math.floor((end + size - start) / every) + 1;
  return Array.from({ length: many }, (_, at) => first + ((start - first + at * every) % size)).join(',');
}
