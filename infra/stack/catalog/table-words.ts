import type { TableWords } from '../../../functions/aws/catalog-table.ts';
import { truncate } from '../../../functions/decisions/warnings.ts';
import { byName } from '../../../functions/workflow/json.ts';
import { findDimension, findMetric } from '../../../functions/workflow/request/dictionary.ts';
import {
  ADVERTISER_COLUMN,
  LEDGER,
  LEDGER_COLUMNS,
  type LedgerColumnName,
  type TableColumn,
  type TableSchema,
  tableColumns,
} from '../../../functions/workflow/table.ts';
import { type ConfiguredEntry, type TableSource, tableSource } from '../config/exports.ts';

/** Bytes that the Data Catalog keeps of a column's comment and of a table's description. */
const MAX_COMMENT = 255;
const MAX_DESCRIPTION = 2_048;

/** The meaning of a table's column. */
export interface DocumentedColumn extends TableColumn {
  /** One sentence, without its full stop. */
  readonly meaning: string;
  /**
   * `count`, `number`, `ratio`, a currency such as `EUR`, or `money` for no or several currencies. Known
   * metrics only.
   */
  readonly unit?: string;
  /** Its sum over days or dimensions means something. Only of a metric that we know. */
  readonly adds_up?: boolean;
  /** No row has NULL. */
  readonly required?: boolean;
}

/** A table for those who query it. */
export interface DocumentedTable extends Pick<TableSchema, 'table' | 'currencies'> {
  readonly kind: TableSchema['kind'] | 'ledger';
  readonly description: string;
  /** The columns that tell the rows of a report apart. A dimension may be NULL. */
  readonly key: readonly string[];
  /** By account: the time zone that the days are taken to be in. Only of a report. */
  readonly time_zones: Readonly<Record<string, string>>;
  readonly columns: readonly DocumentedColumn[];
}

const ACCOUNT_MEANING = 'The account, as the config names it';

/** Meanings of a report's columns that are not in its file, and of the one that we expect there. */
const REPORT_COLUMNS: ReadonlyMap<string, string> = new Map([
  ['account', ACCOUNT_MEANING],
  ['currency', 'The currency of the amounts in the row, in ISO 4217'],
  ['report_id', 'The report that the row is from'],
  ['report_created_at', 'When that report was created, in UTC. A day shows its newest report'],
  [ADVERTISER_COLUMN, 'The id of the advertiser, if the report has it'],
]);

const ITEM_COLUMNS: Readonly<Record<string, string>> = {
  account: ACCOUNT_MEANING,
  id: 'The id of the item',
  name: 'The name of the item, if it has one',
  created_at: 'When the platform created the item, as it says',
  item: 'The whole item, in JSON',
  snapshot_at: 'When the list was read, in UTC',
};

const FACT_COLUMNS: Readonly<Record<LedgerColumnName, string>> = {
  account: ACCOUNT_MEANING,
  export: 'The name of the export',
  table_name: 'The table that the export writes',
  start_date: 'The first day of the window that the report covers',
  end_date: 'The day after the last one of the window',
  date: 'The day that the row is about',
  report_id: 'The report',
  report_created_at: 'When the report was created, in UTC',
  copied_at: 'When its file arrived, in UTC; of accepted and closed, when that was',
  metric: 'The metric, as the column of the table; rows is the number of rows',
  value: 'The sum of the metric over the day, or its number of rows',
  kind: "What fact it is. report: what the report said. total: the platform's own total. accepted: somebody accepted that the report has no rows of the day. closed: what the day showed when its month was closed",
  request_hash: 'Which request the report is of: the hash of all that decides its rows',
  execution: 'The execution that brought the report',
  day_over: 'Whether the day was over when the report was created, in the time zone of the account',
};

export const LEDGER_TABLE: DocumentedTable = {
  table: LEDGER,
  kind: 'ledger',
  description:
    'What every report said about every day: one row per report, day and metric. It tells which days were restated, what a day showed on an earlier date, and which days are final.',
  key: [],
  time_zones: {},
  currencies: {},
  columns: LEDGER_COLUMNS.map((column) => ({
    ...column,
    meaning: FACT_COLUMNS[column.name],
    required: !['table_name', 'value'].includes(column.name),
  })),
};

/** The words of a table in the Data Catalog. */
export function tableWords({ description, columns }: DocumentedTable): TableWords {
  const comments = columns.map((column) => [column.name, truncate(commentOf(column), MAX_COMMENT)] as const);
  return { description: truncate(description, MAX_DESCRIPTION), comments: Object.fromEntries(comments) };
}

/** @param exports of the config. Finds the exports that write the table among them */
export function documentTable(schema: TableSchema, exports: readonly ConfiguredEntry[]): DocumentedTable {
  const { table, kind, currencies } = schema;
  const sources = exports.filter(({ name }) => name === table).flatMap((entry) => tableSource(entry) ?? []);
  const zones = sources.flatMap(({ request }) =>
    request.kind === 'report' ? [[request.account, request.time_zone ?? 'UTC'] as const] : [],
  );
  const time_zones = byName(zones);
  const isOfFile = (name: string) => schema.columns.some((column) => column.name === name);
  const dimensions = schema.columns.filter(({ type }) => type === 'string').map(({ name }) => name);
  const isList = kind === 'list';
  return {
    table,
    kind,
    description: isList ? describeList(sources) : describeReport(sources, time_zones, currencies),
    key: isList ? [] : ['account', 'date', ...dimensions],
    time_zones,
    currencies,
    columns: tableColumns(schema).map((column) => ({
      ...column,
      ...(isList ? { meaning: meaningOfItem(column.name) } : describeColumn(column, schema, time_zones)),
      // The config may name a currency for some of the accounts only.
      required: !isOfFile(column.name) && column.name !== 'currency',
    })),
  };
}

/** @throws Error if a column of a list's table has no words */
function meaningOfItem(name: string): string {
  const meaning = ITEM_COLUMNS[name];
  if (meaning === undefined) throw new Error(`No words say what the column ${name} of a list is`);
  return meaning;
}

function describeReport(
  sources: readonly TableSource[],
  time_zones: Readonly<Record<string, string>>,
  currencies: Readonly<Record<string, string>>,
): string {
  const { request } = sources[0] ?? {};
  const dimensions = request?.kind === 'report' ? (request.dimensions ?? []) : [];
  const keys = ['account', 'day', ...dimensions];
  return [
    `The report of ${namesOf(sources)}: one row per ${keys.slice(0, -1).join(', ')} and ${keys.at(-1)}.`,
    'Each day of an account is from its newest report, so it counts once.',
    `Days are taken to be in ${perAccount(time_zones)}.`,
    Object.keys(currencies).length > 0
      ? `Amounts are in ${perAccount(currencies)}.`
      : "Amounts are in the account's currency, which the config does not name.",
  ].join(' ');
}

function describeList(sources: readonly TableSource[]): string {
  const resources = sources.flatMap(({ request }) => (request.kind === 'list' ? [request.resource] : []));
  return `The newest list of ${[...new Set(resources)].join(', ')} (${namesOf(sources)}): one row per account and item.`;
}

function namesOf(sources: readonly TableSource[]): string {
  return sources.map(({ request }) => `${request.account}/${request.name}`).join(', ');
}

function describeColumn(
  { name, type }: TableColumn,
  schema: TableSchema,
  time_zones: DocumentedTable['time_zones'],
): Pick<DocumentedColumn, 'meaning' | 'unit' | 'adds_up'> {
  if (name === 'date')
    return { meaning: `The day, taken to be in ${perAccount(time_zones)} (time_zone of the export)` };
  const { from = name } = schema.columns.find((column) => column.name === name) ?? {};
  const field = from.toLowerCase() === name ? '' : ` (${from} in the file)`;
  const metric = type === 'string' ? undefined : findMetric(name);
  if (!metric) {
    const known = REPORT_COLUMNS.get(name) ?? findDimension(name)?.meaning;
    const unknown = type === 'string' ? 'a dimension of the report' : 'a metric of the report';
    return { meaning: `${capitalize(known ?? unknown)}${field}` };
  }
  const { meaning, unit, adds_up } = metric;
  const [currency = unit, ...others] = new Set(Object.values(schema.currencies));
  const isOne = unit === 'money' && others.length === 0;
  return { meaning: `${capitalize(meaning)}${field}`, unit: isOne ? currency : unit, adds_up };
}

/** The sentences about a column. */
export function commentOf({ meaning, unit, adds_up }: DocumentedColumn): string {
  if (unit === undefined) return `${meaning}.`;
  const sum = adds_up ? 'Adds up over days and dimensions' : 'Does not add up over days or dimensions';
  return `${meaning}. Unit: ${unit}. ${sum}.`;
}

/** `EUR`, or `EUR (acme), USD (globex)`. */
function perAccount(values: Readonly<Record<string, string>>): string {
  const [first = '', ...others] = new Set(Object.values(values));
  if (others.length === 0) return first;
  return Object.entries(values)
    .map(([account, value]) => `${value} (${account})`)
    .join(', ');
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
