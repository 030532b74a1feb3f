/** A day's number of rows, and the exact sum of each metric in millionths. */
export interface DaySums {
  readonly rows: number;
  readonly sums: Readonly<Record<string, bigint>>;
}

/** Adds up the rows of a JSON report per day, by other code than CurateReport's: JSON.parse and big integers. */
export function sumDays(json: string, metrics: readonly string[]): Map<string, DaySums> {
  const rows = parseKeepingDigits(json) as Record<string, unknown>[];
  const byDay = Map.groupBy(rows, ({ date }) => String(date));
  const sumOf = (day: typeof rows, metric: string) =>
    day.reduce((sum, row) => sum + millionths(String(row[metric])), 0n);
  return new Map(
    [...byDay].map(([date, day]) => [
      date,
      {
        rows: day.length,
        sums: Object.fromEntries(metrics.map((metric) => [metric, sumOf(day, metric)])),
      },
    ]),
  );
}

/** @param number in decimal notation, with at most six decimals @throws RangeError */
export function millionths(number: string): bigint {
  const [, sign = '', whole = '', fraction = ''] = number.match(/^(-?)(\d+)(?:\.(\d{1,6}))?$/) ?? [];
  if (whole === '') throw new RangeError(`${number} is no decimal number`);
  return BigInt(`${sign}${whole}${fraction.padEnd(6, '0')}`);
}

/** Numbers become texts: 0.1 is no sum of powers of two. */
function parseKeepingDigits(json: string): unknown {
  const revive = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? context?.source : value;
  return JSON.parse(json, revive);
}
