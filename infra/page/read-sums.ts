import { identifier, literal, type Row } from '../../functions/tables/database.ts';
import { addDays, daysBetween } from '../../functions/workflow/request/dates.ts';
import type { ShownDays } from '../../functions/workflow/shown-days.ts';
import { type SumOverTime, startOf, sumOf } from '../config/queries.ts';
import type { PageMetric, PageSums } from './contents.ts';

export type Query = (sql: string) => Promise<readonly Row[]>;

export interface WantedSums extends Pick<SumOverTime, 'dimension'> {
  /** The first one says which values of the dimension are the largest. */
  readonly metrics: readonly (SumOverTime['metrics'][number] & {
    /** By account. */
    readonly unitOf: (account: string) => string | undefined;
  })[];
}

/** Values of a dimension that have a series of their own. */
const MAX_SERIES = 6;

/** Of a series. With more days, a point is a week or a month. */
const MAX_POINTS = 100;

/**
 * Sums up all accounts of a table in one query. Each account has the unit of its own days, and its own largest values.
 *
 * @param files of the table, as a list of SQL
 * @param shown by account
 */
export async function readSums(
  query: Query,
  files: string,
  wanted: WantedSums,
  shown: ReadonlyMap<string, ShownDays>,
): Promise<Map<string, PageSums>> {
  // An object that was written before a column was added has NULL there.
  const source = `read_parquet(${files}, union_by_name = true)`;
  const columns = new Set((await query(`DESCRIBE FROM ${source}`)).map(({ column_name }) => column_name));
  const metrics = wanted.metrics.filter(({ name }) => columns.has(name));
  const dimension = columns.has(wanted.dimension ?? '') ? wanted.dimension : undefined;
  if (metrics.length === 0) return new Map();
  const points = new Map([...shown].map(([account, days]) => [account, pointsOf(Object.keys(days).sort())]));
  const units = [...points].map(([account, { unit }]) => `WHEN ${literal(account)} THEN ${literal(unit)}`);
  const label = dimension === undefined ? "'all'" : `coalesce(${identifier(dimension)}, '(none)')`;
  const rows = await query(
    `WITH sums AS MATERIALIZED (
       SELECT account, ${startOf(`CASE account ${units.join(' ')} END`)} AS start, ${label} AS label,
         ${metrics.map((metric, at) => `${sumOf(metric)} AS m${at}`)}
       FROM ${source} GROUP BY ALL
     ), places AS (
       SELECT account, label, least(${MAX_SERIES + 1}, row_number() OVER (
         PARTITION BY account ORDER BY sum(m0) DESC NULLS LAST, label)) AS place
       FROM sums GROUP BY account, label
     )
     SELECT account, CAST(place AS INTEGER) AS place, CAST(start AS VARCHAR) AS start, min(label) AS label,
       ${metrics.map((_, at) => `CAST(sum(m${at}) AS VARCHAR) AS m${at}`)}
     FROM sums JOIN places USING (account, label)
     GROUP BY GROUPING SETS ((account, place, start), (account, place), (account, start), (account))
     ORDER BY place`,
  );
  const sums = [...Map.groupBy(rows, ({ account }) => String(account))].map(([account, own]) => {
    const time = points.get(account) ?? pointsOf([]);
    const known = new Set(time.starts.filter((_, at) => time.days[at]?.known));
    const found = metrics.flatMap(({ name, unitOf }, at): PageMetric[] => {
      const [all] = own.filter(({ place, start }) => place === null && start === null);
      const total = all?.[`m${at}`];
      // Another account's column.
      if (total === null) return [];
      const series = readSeries(own, `m${at}`, time.starts, known);
      return [{ name, unit: unitOf(account), ...series, total: String(total) }];
    });
    return [account, { ...time, dimension, metrics: found }] as const;
  });
  return new Map(sums.filter(([, { metrics }]) => metrics.length > 0));
}

/** @param rows of an account: each place and all of them, at each start and at all of them */
function readSeries(
  rows: readonly Row[],
  metric: string,
  starts: readonly string[],
  known: ReadonlySet<string>,
): Pick<PageMetric, 'series' | 'values'> {
  const values = new Map(rows.map((row) => [`${row.place} ${row.start}`, row[metric]]));
  const valueAt = (place: Row[string] | undefined, start: string) => {
    const value = values.get(`${place} ${start}`);
    if (value === undefined) return known.has(start) ? '0' : null;
    return value === null ? null : String(value);
  };
  const places = rows.filter(({ place, start }) => place !== null && start === null);
  const series = places.map(({ place, label, [metric]: total }) => ({
    ...(Number(place) > MAX_SERIES
      ? { label: 'all others', others: true as const }
      : { label: String(label) }),
    values: starts.map((start) => valueAt(place, start)),
    total: String(total ?? 0),
  }));
  return { series, values: starts.map((start) => valueAt(null, start)) };
}

type Points = Pick<PageSums, 'unit' | 'starts' | 'days'>;

/** @param days ascending */
function pointsOf(days: readonly string[]): Points {
  const [first = '', last = ''] = [days[0], days.at(-1)];
  const span = days.length === 0 ? 0 : daysBetween(first, last) + 1;
  const unit = span <= MAX_POINTS ? 'day' : span <= 7 * MAX_POINTS ? 'week' : 'month';
  const known = Map.groupBy(days, (day) => toStart(day, unit));
  const points: (Points['days'][number] & { start: string })[] = [];
  for (let start = toStart(first, unit), next = start; start <= last && span > 0; start = next) {
    next = toStart(addDays(start, DAYS[unit]), unit);
    points.push({ start, known: known.get(start)?.length ?? 0, all: daysBetween(start, next) });
  }
  return {
    unit,
    starts: points.map(({ start }) => start),
    days: points.map(({ known, all }) => ({ known, all })),
  };
}

/** From the first day of a unit, these lead into the next one. */
const DAYS = { day: 1, week: 7, month: 31 } as const;

/** See {@link startOf}. */
function toStart(date: string, unit: PageSums['unit']): string {
  if (unit === 'month') return `${date.slice(0, 'YYYY-MM'.length)}-01`;
  return unit === 'day' ? date : addDays(date, -((new Date(date).getUTCDay() + 6) % 7));
}
