import type { ExportRequest, ReportRequest } from './request/request.ts';

/**
 * The tables: one Parquet object per account and day, so that a query counts each day once. The stack writes each table's
 * schema into the Glue Data Catalog, and CurateReport reads it there: types never come from data.
 */

/** CurateReport may write only under this prefix. */
export const TABLES_PREFIX = 'tables/';

/** The partition keys of a report's table, in the order of its keys. A list's table has only `account`. */
export const PARTITION_KEYS = { account: 'string', date: 'date' } as const;

/** The column of a report that holds the day, unless the config names another. The table calls it `date`. */
export const DATE_COLUMN = 'date';

/** Contract 2 does not show a row. A report with dimensions may name the advertiser of each. */
export const ADVERTISER_COLUMN = 'advertiser_id';

/** Types of the Data Catalog. DuckDB has the same names. */
export type ColumnType = 'string' | 'bigint' | 'double' | `decimal(${number},${number})`;

export interface Column {
  /** In lower case, like every name in the Data Catalog. */
  readonly name: string;
  readonly type: ColumnType;
  /** Rounds a value with more digits than the type holds, which otherwise keeps the report out of the table. */
  readonly round?: boolean;
}

/** The schema of a table, as the config gives it. */
export interface TableSchema {
  /** The part of the key after `tables/`. {@link catalogName} is its name in the Data Catalog. */
  readonly table: string;
  readonly kind: 'report' | 'list';
  /** Without the partition keys. */
  readonly columns: readonly Column[];
  /** The name of the date column in a report's file. */
  readonly date_column: string;
  /** The hash of the configured request by account (see requestHash). Only that request may write. */
  readonly requests: Readonly<Record<string, string>>;
}

/** The columns of a list's table: those of an item that all lists are likely to have, and the whole item as JSON. */
export const LIST_COLUMNS: readonly Column[] = ['id', 'name', 'created_at', 'item'].map((name) => ({
  name,
  type: 'string',
}));

/**
 * The table of an export; undefined if it has none. By default, every list and every report with granularity DAY has a
 * table of its own name.
 */
export function tableOf(request: ExportRequest): string | undefined {
  if (request.kind === 'purchases' || request.table === false) return undefined;
  if (request.kind === 'report' && request.granularity.toUpperCase() !== 'DAY') return undefined;
  return request.table ?? request.name;
}

/** Athena and Spark need quotes around a name with a hyphen. */
export function catalogName(table: string): string {
  return table.replaceAll('-', '_');
}

export function dayKey(table: string, account: string, day: string): string {
  return `${TABLES_PREFIX}${table}/account=${account}/date=${day}/data.parquet`;
}

export function listKey(table: string, account: string): string {
  return `${TABLES_PREFIX}${table}/account=${account}/data.parquet`;
}

/**
 * The columns of a report's rows, except its date: dimensions, the advertiser, and metrics.
 *
 * @param declared types of the config, which replace those that follow from a metric's name
 */
export function reportColumns(
  { dimensions = [], metrics }: Pick<ReportRequest, 'dimensions' | 'metrics'>,
  declared: Readonly<Record<string, Omit<Column, 'name'>>> = {},
): Column[] {
  const texts = [...dimensions, ...(dimensions.length > 0 ? [ADVERTISER_COLUMN] : [])];
  const types = new Map<string, Omit<Column, 'name'>>([
    ...texts.map((name) => [name.toLowerCase(), { type: 'string' }] as const),
    ...metrics.map((name) => [name.toLowerCase(), { type: metricType(name) ?? 'double' }] as const),
    ...Object.entries(declared).map(([name, column]) => [name.toLowerCase(), column] as const),
  ]);
  return [...types].map(([name, column]) => ({ name, ...column }));
}

/** The type that a metric's name tells; undefined if it tells none. 18 digits hold 999 billion with six decimals. */
export function metricType(name: string): ColumnType | undefined {
  if (/^(spend|cost|revenue)$|_value$/i.test(name)) return 'decimal(18,6)';
  if (/^(impressions|clicks)$|^number_of_/i.test(name)) return 'bigint';
  return undefined;
}
