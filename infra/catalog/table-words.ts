import { truncate } from '../../functions/decisions/warnings.ts';
import type { TableWords } from '../../functions/workflow/catalog-table.ts';
import { byName } from '../../functions/workflow/json.ts';
import { findDimension, findMetric } from '../../functions/workflow/request/dictionary.ts';
import {
  ADVERTISER_COLUMN,
  columnName,
  LEDGER,
  LEDGER_COLUMNS,
  type TableColumn,
  type TableSchema,
  tableColumns,
} from '../../functions/workflow/table.ts';
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
  readonly required?: true;
}

/** A table for those who query it. */
export interface DocumentedTable {
  readonly table: string;
  readonly kind: TableSchema['kind'] | 'ledger';
  readonly description: string;
  /** The columns that tell the rows of a report apart. A dimension may be NULL. */
  readonly key: readonly string[];
  /** By account: the time zone that the days are taken to be in. Only of a report. */
  readonly time_zones: Readonly<Record<string, string>>;
  readonly currencies: Readonly<Record<string, string>>;
  readonly columns: readonly DocumentedColumn[];
}

/** Meanings of columns that have the same name in every table. */
const OWN_COLUMNS: ReadonlyMap<string, string> = new Map([
  ['account', 'The account, as the config names it'],
  ['currency', 'The currency of the amounts in the row, in ISO 4217'],
  ['report_id', 'The report that the row is from'],
  ['report_created_at', 'When that report was created, in UTC. A day shows its newest report'],
  [ADVERTISER_COLUMN, 'The id of the advertiser, if the report has it'],
]);

const LIST_COLUMNS: Readonly<Record<string, string>> = {
  account: 'The account, as the config names it',
  id: 'The id of the item',
  name: 'The name of the item, if it has one',
  created_at: 'When the platform created the item, as it says',
  item: 'The whole item, in JSON',
  snapshot_at: 'When the list was read, in UTC',
};

/** The words of the ledger (see LEDGER_COLUMNS). */
export const LEDGER_WORDS: TableWords = {
  description:
    'What every report said about every day: one row per report, day and metric. It tells which days were restated, what a day showed on an earlier date, and which days are final.',
  comments: {
    account: 'The account, as the config names it',
    export: 'The name of the export',
    table_name: 'The table that the export writes',
    start_date: 'The first day of the window that the report covers',
    end_date: 'The day after the last one of the window',
    date: 'The day that the row is about',
    report_id: 'The report',
    report_created_at: 'When the report was created, in UTC',
    copied_at: 'When its file arrived, in UTC',
    metric: 'The metric, as the column of the table; rows is the number of rows',
    value: 'The sum of the metric over the day, or its number of rows',
    outcome:
      "The outcome of the day when the file arrived: shown; kept (the table shows another report); held (the report has no rows for it); or not written. closed: what the day showed when its month was closed. total: the value is the platform's own total",
  },
};

/** Columns of the ledger that may be NULL. */
const OPTIONAL_FACTS: readonly string[] = ['table_name', 'value'];

export const LEDGER_TABLE: DocumentedTable = {
  table: LEDGER,
  kind: 'ledger',
  description: LEDGER_WORDS.description,
  key: [],
  time_zones: {},
  currencies: {},
  columns: LEDGER_COLUMNS.map((column) => ({
    ...column,
    meaning: LEDGER_WORDS.comments[column.name] ?? '',
    ...(!OPTIONAL_FACTS.includes(column.name) && { required: true }),
  })),
};

/** @param exports of the config; those that write the table are found among them */
export function tableWords(schema: TableSchema, exports: readonly ConfiguredEntry[]): TableWords {
  const { description, columns } = documentTable(schema, exports);
  const comments = columns.map((column) => [column.name, truncate(commentOf(column), MAX_COMMENT)] as const);
  return { description: truncate(description, MAX_DESCRIPTION), comments: Object.fromEntries(comments) };
}

/** @param exports of the config; those that write the table are found among them */
export function documentTable(schema: TableSchema, exports: readonly ConfiguredEntry[]): DocumentedTable {
  const { table, kind, currencies } = schema;
  const sources = exports.filter(({ name }) => name === table).flatMap((entry) => tableSource(entry) ?? []);
  const zones = sources.flatMap(({ request }) =>
    request.kind === 'report' ? [[request.account, request.time_zone ?? 'UTC'] as const] : [],
  );
  const time_zones = byName(zones);
  const describe =
    kind === 'list'
      ? describeItem
      : (column: TableColumn) => describeColumn(column, schema, sources, time_zones);
  const isOfFile = ({ name }: TableColumn) => schema.columns.some((column) => column.name === name);
  const dimensions = schema.columns.filter(({ type }) => type === 'string').map(({ name }) => name);
  return {
    table,
    kind,
    description: kind === 'list' ? describeList(sources) : describeReport(sources, time_zones, currencies),
    key: kind === 'list' ? [] : ['account', 'date', ...dimensions],
    time_zones,
    currencies,
    columns: tableColumns(schema).map((column) => ({
      ...describe(column),
      // The config may name a currency for some of the accounts only.
      ...(!isOfFile(column) && column.name !== 'currency' && { required: true }),
    })),
  };
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

function describeItem({ name, type }: TableColumn): DocumentedColumn {
  return { name, type, meaning: LIST_COLUMNS[name] ?? '' };
}

function describeColumn(
  { name, type }: TableColumn,
  schema: TableSchema,
  sources: readonly TableSource[],
  time_zones: Readonly<Record<string, string>>,
): DocumentedColumn {
  if (name === 'date')
    return {
      name,
      type,
      meaning: `The day, taken to be in ${perAccount(time_zones)} (time_zone of the export)`,
    };
  const { from = name } = schema.columns.find((column) => column.name === name) ?? {};
  const field = from.toLowerCase() === name ? '' : ` (${from} in the file)`;
  const isNamed = (asked: string) => columnName(asked) === name;
  const requests = sources.flatMap(({ request }) => (request.kind === 'report' ? [request] : []));
  const metric = requests.flatMap(({ metrics }) => metrics).find(isNamed);
  if (metric === undefined) {
    const dimension = requests.flatMap(({ dimensions = [] }) => dimensions).find(isNamed);
    const known = findDimension(dimension ?? '')?.meaning ?? 'a dimension of the report';
    return { name, type, meaning: `${OWN_COLUMNS.get(name) ?? capitalize(known)}${field}` };
  }
  const known = findMetric(metric);
  if (!known) return { name, type, meaning: `A metric of the report${field}` };
  const { meaning, unit, adds_up } = known;
  const [currency, ...others] = new Set(Object.values(schema.currencies));
  return {
    name,
    type,
    meaning: `${capitalize(meaning)}${field}`,
    unit: unit === 'money' && currency !== undefined && others.length === 0 ? currency : unit,
    adds_up,
  };
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
