import { count } from '../../../functions/workflow/count.ts';
import { isCalendarDate } from '../../../functions/workflow/request/dates.ts';
import { refuse, UsageError } from '../place/errors.ts';
import { countDecimals, halfOfLastDigit, parseAmount } from './exact-amounts.ts';

/** The result of a query, or of a file. */
export interface MartResult {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** In pieces. They can be read once. */
  readonly rows: AsyncIterable<readonly (readonly unknown[])[]>;
}

/** The type of the columns of a file that tells no types. */
export const UNTYPED = 'untyped';

/** A sum of a metric over the rows of a day. */
export interface MartSum {
  /** See {@link parseAmount}. */
  readonly units: bigint;
  /**
   * How far the sum may be from the table's if its values were rounded to the column's decimals, in units.
   */
  readonly rounding: number;
  /** How far it may be because its values are floating-point numbers, in units. */
  readonly noise: number;
}

/** The rows of a day, and of an account if the mart has accounts. */
export interface MartDay {
  readonly date: string;
  readonly account: string | undefined;
  /** By metric. A metric without a value is absent. */
  readonly sums: ReadonlyMap<string, MartSum>;
}

export interface Mart {
  readonly days: readonly MartDay[];
  readonly hasAccounts: boolean;
  readonly metrics: readonly string[];
  /** Decimals of the value that has most, by metric. */
  readonly decimals: ReadonlyMap<string, number>;
  /** Columns that are neither date nor account nor a metric that adds up. */
  readonly left_out: readonly string[];
}

/** Rows with a fault that are named. */
const MAX_FAULTS = 10;

/**
 * Significant digits of a floating-point number that a sum of such numbers keeps, by the type of the column.
 */
const RELIABLE_DIGITS: readonly (readonly [types: RegExp, digits: number])[] = [
  [/^(float|real)/i, 7],
  [/^double/i, 12],
  [new RegExp(`^${UNTYPED}$`), 12],
];

/** A day, as a DATE, a text, or a timestamp at midnight, in UTC if it has a zone. */
const DAY_TEXT = /^(\d{4}-\d{2}-\d{2})([ T]00:00(:00(\.0+)?)?( ?(Z|UTC|[+-]00(:?00)?))?)?$/;

/** The sum of a metric while rows are read. */
interface OpenSum {
  units: bigint;
  values: number;
  /** What floating-point numbers may have lost, in units. */
  noise: number;
}

interface MetricColumn {
  readonly at: number;
  readonly metric: string;
  /** Undefined if the type keeps every digit. */
  readonly digits: number | undefined;
  /** Decimals of the value that has most. */
  decimals: number;
}

/**
 * Adds the rows of a mart up, by day, and by account if it has a column of this name.
 *
 * @param metrics of the table that add up
 * @throws UsageError if a column is missing or there twice, or if a row has no day, account or number
 */
export async function readMart(result: MartResult, metrics: readonly string[]): Promise<Mart> {
  const names = result.columns.map(({ name }) => name.toLowerCase());
  refuse(findColumnFaults(names, metrics));
  const date = names.indexOf('date');
  const account = names.includes('account') ? names.indexOf('account') : undefined;
  const columns = result.columns.flatMap(({ type }, at): MetricColumn[] => {
    const metric = names[at] ?? '';
    if (!metrics.includes(metric)) return [];
    const [, digits] = RELIABLE_DIGITS.find(([types]) => types.test(type)) ?? [];
    return [{ at, metric, digits, decimals: 0 }];
  });
  const days = await addRows(result.rows, { date, account, columns });
  const used = new Set(['date', 'account', ...metrics]);
  return {
    days: days.map(({ sums, ...day }) => ({ ...day, sums: closeSums(sums, columns) })),
    hasAccounts: account !== undefined,
    metrics: columns.map(({ metric }) => metric),
    decimals: new Map(columns.map(({ metric, decimals }) => [metric, decimals])),
    left_out: result.columns.map(({ name }) => name).filter((name) => !used.has(name.toLowerCase())),
  };
}

function findColumnFaults(names: readonly string[], metrics: readonly string[]): string[] {
  const known = ['date', 'account', ...metrics];
  const twice = known.filter((name) => names.indexOf(name) !== names.lastIndexOf(name));
  const others = names.filter((name) => !known.includes(name));
  const hasMetric = names.some((name) => metrics.includes(name));
  return [
    ...(names.includes('date')
      ? []
      : [`the mart has no column date; it has ${names.join(', ') || 'no column'}`]),
    ...twice.map((name) => `the mart has two columns ${name}`),
    ...(hasMetric
      ? []
      : [
          `the mart has no metric of the table that adds up: it has ${others.join(', ') || 'no other column'}, and the metrics are ${metrics.join(', ') || 'none'}`,
        ]),
  ];
}

interface Layout {
  readonly date: number;
  readonly account: number | undefined;
  readonly columns: readonly MetricColumn[];
}

interface OpenDay {
  readonly date: string;
  readonly account: string | undefined;
  readonly sums: Map<string, OpenSum>;
}

async function addRows(pieces: MartResult['rows'], layout: Layout): Promise<readonly OpenDay[]> {
  const days = new Map<string, OpenDay>();
  const faults: string[] = [];
  let number = 0;
  for await (const rows of pieces)
    for (const row of rows) {
      number += 1;
      for (const fault of addRow(days, row, layout)) faults.push(`row ${number} has ${fault}`);
    }
  if (faults.length > MAX_FAULTS) {
    const rest = count(faults.length - MAX_FAULTS, 'fault');
    throw new UsageError([...faults.slice(0, MAX_FAULTS), `${rest} more`]);
  }
  refuse(faults);
  return [...days.values()];
}

/** @returns what is wrong with the row */
function addRow(days: Map<string, OpenDay>, row: readonly unknown[], layout: Layout): string[] {
  const day = readDay(row[layout.date]);
  const account = layout.account === undefined ? undefined : readAccount(row[layout.account]);
  const faults = [
    ...(day === undefined
      ? [`${quoteCell(row[layout.date])} as its date, where a day belongs, such as 2026-10-01`]
      : []),
    ...(layout.account !== undefined && account === undefined ? ['no account'] : []),
  ];
  if (day === undefined) return faults;
  const key = JSON.stringify([day, account]);
  const open = days.get(key) ?? { date: day, account, sums: new Map() };
  days.set(key, open);
  return [
    ...faults,
    ...layout.columns.flatMap((column) => addValue(open.sums, column, row[column.at]) ?? []),
  ];
}

/** @returns what is wrong with the value */
function addValue(sums: Map<string, OpenSum>, column: MetricColumn, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : '';
  const units = parseAmount(text);
  if (units === undefined) return `${quoteCell(value)} in ${column.metric}, where a number belongs`;
  const { digits } = column;
  const printed = digits === undefined ? units : (parseAmount(Number(text).toPrecision(digits)) ?? units);
  column.decimals = Math.max(column.decimals, countDecimals(printed));
  const sum = sums.get(column.metric) ?? { units: 0n, values: 0, noise: 0 };
  sum.units += units;
  sum.values += 1;
  // Half a unit of the last digit that counts is at most this share of the value.
  if (digits !== undefined) sum.noise += Math.abs(Number(units)) * 5 * 10 ** -digits;
  sums.set(column.metric, sum);
  return undefined;
}

/** A column of whole numbers is not rounded. Any other may be, in each of its values. */
function closeSums(sums: ReadonlyMap<string, OpenSum>, columns: readonly MetricColumn[]) {
  return new Map(
    columns.flatMap(({ metric, decimals }): [string, MartSum][] => {
      const sum = sums.get(metric);
      if (!sum) return [];
      const rounding = decimals === 0 ? 0 : sum.values * halfOfLastDigit(decimals);
      return [[metric, { units: sum.units, rounding, noise: decimals === 0 ? 0 : sum.noise }]];
    }),
  );
}

function readDay(value: unknown): string | undefined {
  const [, day] = typeof value === 'string' ? (DAY_TEXT.exec(value.trim()) ?? []) : [];
  return day !== undefined && isCalendarDate(day) ? day : undefined;
}

function readAccount(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function quoteCell(value: unknown): string {
  return value === null || value === undefined ? 'nothing' : JSON.stringify(value);
}
