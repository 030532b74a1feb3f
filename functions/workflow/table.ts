import { findMetric } from './request/dictionary.ts';
import { LEDGER } from './request/fields.ts';
import type { ExportRequest, ListRequest, ReportRequest } from './request/request.ts';

export { LEDGER };

/**
 * The tables: one Parquet object per account and month, so that a query counts each day once. The stack
 * writes each table's schema into the Glue Data Catalog, and CurateReport reads it there: no type comes from
 * data.
 */

/** CurateReport may write only under this prefix. */
export const TABLES_PREFIX = 'tables/';

/** The column of a report that holds the day, unless the config names another. The table calls it `date`. */
export const DATE_COLUMN = 'date';

/** Contract 2 does not show a row. A report with dimensions may name the advertiser of each. */
export const ADVERTISER_COLUMN = 'advertiser_id';

/** Types of the Data Catalog. DuckDB has the same names. */
export type ColumnType = 'string' | 'bigint' | 'double' | `decimal(${number},${number})`;

/** A column of a table's objects. */
export interface TableColumn {
  /** In lower case, like every name in the Data Catalog; letters, digits and `_` only, as Athena wants it. */
  readonly name: string;
  readonly type: ColumnType | 'date' | 'timestamp' | 'boolean';
}

/** A column whose values are in the platform's file. */
export interface Column extends TableColumn {
  readonly type: ColumnType;
  /** Its name in the file. */
  readonly from: string;
}

/** The schema of a table, as the config gives it. */
export interface TableSchema {
  /** The part of the key after `tables/`. {@link catalogName} is its name in the Data Catalog. */
  readonly table: string;
  readonly kind: 'report' | 'list';
  /** The columns of the file: dimensions and metrics of a report. {@link tableColumns} adds the others. */
  readonly columns: readonly Column[];
  /** The name of the date column in a report's file. */
  readonly date_column: string;
  /** The hash of the configured request by account (see requestHash). Only that request may write. */
  readonly requests: Readonly<Record<string, string>>;
  /** ISO 4217 by account. With one of them, the table has a column `currency`. */
  readonly currencies: Readonly<Record<string, string>>;
}

const CURRENCY: TableColumn = { name: 'currency', type: 'string' };

/** Columns of a report's table before and after the columns of the file. */
const BEFORE = [
  { name: 'account', type: 'string' },
  { name: 'date', type: 'date' },
] as const satisfies TableColumn[];
const AFTER = [
  { name: 'report_id', type: 'string' },
  { name: 'report_created_at', type: 'timestamp' },
] as const satisfies TableColumn[];

/** Names that a column of the file must not have. The last four are columns of the view `<table>_days`. */
export const RESERVED_COLUMNS: readonly string[] = [
  ...[...BEFORE, ...AFTER, CURRENCY].map(({ name }) => name),
  ...['rows', 'changed_at', 'state', 'finality'],
];

/** The columns of a list's table: fields that most lists are likely to have, and the item as JSON. */
export const LIST_COLUMNS: readonly Column[] = ['id', 'name', 'created_at', 'item'].map((name) => ({
  name,
  type: 'string',
  from: name,
}));

/** All columns of a table's objects, in their order. */
export function tableColumns({ kind, columns, currencies }: TableSchema): TableColumn[] {
  const ofFile = columns.map(({ name, type }) => ({ name, type }));
  if (kind === 'list') return [BEFORE[0], ...ofFile, { name: 'snapshot_at', type: 'timestamp' }];
  const currency = Object.keys(currencies).length > 0 ? [CURRENCY] : [];
  return [...BEFORE, ...ofFile, ...currency, ...AFTER];
}

/** A column of the ledger. */
export interface LedgerColumn extends TableColumn {
  /** Added to the ledger later: the rows of objects from before it have NULL. */
  readonly optional?: true;
}

/**
 * The columns of the ledger, one row per fact and metric. The value of the metric `rows` is the number of
 * rows; the value of any other metric is its sum. No row ever changes. `kind` says which fact it is:
 *
 * - `report`: what a report said of a day that the table took. `copied_at` is when its file arrived
 * - `total`: the platform's own total of the day, from a report of its own. It is compared with the rows that
 *   the same execution brought
 * - `accepted`: at `copied_at`, somebody accepted that this report has no rows of the day
 * - `closed`: what the day showed when a person closed its month, at `copied_at`. The last close counts
 */
export const LEDGER_COLUMNS = [
  { name: 'account', type: 'string' },
  { name: 'export', type: 'string' },
  { name: 'table_name', type: 'string' },
  { name: 'start_date', type: 'date' },
  { name: 'end_date', type: 'date' },
  { name: 'date', type: 'date' },
  { name: 'report_id', type: 'string' },
  { name: 'report_created_at', type: 'timestamp' },
  { name: 'copied_at', type: 'timestamp' },
  { name: 'metric', type: 'string' },
  // 28 digits before the point and ten after it. A double with more digits is rounded.
  { name: 'value', type: 'decimal(38,10)' },
  { name: 'kind', type: 'string' },
  // The report's request, see requestHash; the execution that brought it; and whether the day was over when
  // the report was created, in the account's time zone.
  { name: 'request_hash', type: 'string' },
  { name: 'execution', type: 'string' },
  { name: 'day_over', type: 'boolean' },
] as const satisfies readonly LedgerColumn[];

export type LedgerColumnName = (typeof LEDGER_COLUMNS)[number]['name'];

/**
 * The table of an export; undefined if it has none. By default, every list and every report with granularity
 * DAY has a table of its own name.
 */
export function tableOf(request: ExportRequest): string | undefined {
  if (request.kind === 'purchases' || request.table === false) return undefined;
  if (request.kind === 'report' && request.granularity.toUpperCase() !== 'DAY') return undefined;
  return request.name;
}

/** Names the differences between a request and the request of the table, as far as the schema shows them. */
export function differenceOf(request: ExportRequest, schema: TableSchema): string {
  const others = 'advertisers, options, granularity, platform or revision';
  if (request.kind !== 'report' || schema.kind !== 'report')
    return 'its resource, filters, platform or revision';
  const date = columnName(schema.date_column);
  const asked = reportColumns(request).filter(({ name }) => name !== date);
  const added = asked.filter(({ name }) => !schema.columns.some((column) => column.name === name));
  const wanted = new Set([...asked.map(({ name }) => name), ADVERTISER_COLUMN]);
  const absent = schema.columns.filter(({ name }) => !wanted.has(name));
  const words = [
    ...(added.length > 0 ? [`more columns: ${added.map(({ name }) => name).join(', ')}`] : []),
    ...(absent.length > 0 ? [`fewer columns: ${absent.map(({ name }) => name).join(', ')}`] : []),
    // The config may declare columns that no request names.
    ...(added.length === 0 ? [absent.length > 0 ? `or ${others}` : others] : []),
  ];
  return words.join('; ');
}

/** Athena and Spark need quotes around a name with a hyphen. */
export function catalogName(table: string): string {
  return table.replaceAll('-', '_');
}

/** Accounts have no point, so the parts of a key can be told apart. @param month YYYY-MM */
export function monthKey(table: string, account: string, month: string): string {
  return `${TABLES_PREFIX}${table}/${account}.${month}.parquet`;
}

export function listKey(table: string, account: string): string {
  return `${TABLES_PREFIX}${table}/${account}.parquet`;
}

export function ledgerKey(
  { account, name }: Pick<ReportRequest | ListRequest, 'account' | 'name'>,
  month: string,
): string {
  return `${TABLES_PREFIX}${LEDGER}/${account}.${name}.${month}.parquet`;
}

/** The key of what a closed month showed: more rows of the ledger. */
export function closedKey(id: Pick<ReportRequest, 'account' | 'name'>, month: string): string {
  return ledgerKey(id, `${month}.closed`);
}

/** The kinds of the ledger's facts, see LEDGER_COLUMNS. */
export const REPORT = 'report';
export const TOTAL = 'total';
export const ACCEPTED = 'accepted';
export const CLOSED = 'closed';

/** A column as the config declares it. */
type DeclaredColumn = Partial<Pick<Column, 'type' | 'from'>>;

/**
 * The columns of a report's file, except its date: dimensions, advertiser, metrics, and others of the config.
 *
 * @param declared by the name of a metric or dimension, in any case
 */
export function reportColumns(
  { dimensions = [], metrics }: Pick<ReportRequest, 'dimensions' | 'metrics'>,
  declared: Readonly<Record<string, DeclaredColumn>> = {},
): Column[] {
  const texts = [...dimensions, ...(dimensions.length > 0 ? [ADVERTISER_COLUMN] : [])];
  const columns = new Map<string, Column>();
  const add = (name: string, column: DeclaredColumn) => {
    const key = name.toLowerCase();
    const known = columns.get(key) ?? { name: columnName(name), type: 'string', from: name };
    columns.set(key, { ...known, ...column });
  };
  for (const name of texts) add(name, {});
  for (const name of metrics) add(name, { type: metricType(name) ?? 'double' });
  for (const [name, column] of Object.entries(declared)) add(name, column);
  return [...columns.values()];
}

/** Athena takes only letters, digits and `_`. */
export function columnName(from: string): string {
  return from.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_');
}

/** 18 digits hold 999 billion with six decimals. */
const TYPES = { count: 'bigint', money: 'decimal(18,6)', number: 'double', ratio: 'double' } as const;

/** The type that a metric's name tells; undefined if it tells none. */
export function metricType(name: string): ColumnType | undefined {
  const known = findMetric(name);
  return known && TYPES[known.unit];
}
