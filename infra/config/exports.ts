import * as z from 'zod';
import { type RequestTarget, requestHash } from '../../functions/decisions/request-hash.ts';
import { InvalidInput } from '../../functions/workflow/errors.ts';
import {
  type ListRequest,
  parseRequest,
  type ReportRequest,
} from '../../functions/workflow/request/request.ts';
import {
  type Column,
  type ColumnType,
  catalogName,
  DATE_COLUMN,
  LIST_COLUMNS,
  PARTITION_KEYS,
  reportColumns,
  type TableSchema,
  tableOf,
} from '../../functions/workflow/table.ts';

/** An entry of the config's `exports`: a request, and fields that only the stack reads. */
export interface ConfiguredEntry {
  readonly schedule?: unknown;
  /** By column, in any case of letters. */
  readonly columns?: Readonly<Record<string, Omit<Column, 'name'>>> | undefined;
  readonly date_column?: string | undefined;
  readonly [field: string]: unknown;
}

/** The request of an entry, without the fields that only the stack reads. */
export function requestOf({ schedule, columns, date_column, ...request }: ConfiguredEntry) {
  return request;
}

/** The most digits that Parquet's readers and the Data Catalog allow. */
const MAX_DIGITS = 38;

const FORM = `must be "bigint", "double", "string", "decimal(digits,decimals)" with at most ${MAX_DIGITS} digits, or such a bigint or decimal as {"type": "bigint", "round": true}`;

const Type = z
  .string()
  .refine(isColumnType)
  .transform((type) => type as ColumnType);

const DeclaredColumn = z.union(
  [
    Type.transform((type): Omit<Column, 'name'> => ({ type })),
    z
      .strictObject({ type: Type, round: z.boolean().optional() })
      .refine(({ type, round }) => !round || /^(bigint|decimal)/.test(type))
      .transform(({ type, round }): Omit<Column, 'name'> => (round ? { type, round } : { type })),
  ],
  FORM,
);

/** Types of a report's columns, by name. */
export const DeclaredColumns = z.record(z.string(), DeclaredColumn);

/** The name of the date column in a report's file. */
export const DateColumn = z
  .string()
  .min(1, 'must not be empty')
  .max(100, 'must not have more than 100 characters');

/** One export's part of a table: its request and its columns. */
export interface TableSource extends Pick<TableSchema, 'table' | 'kind' | 'columns' | 'date_column'> {
  readonly request: ReportRequest | ListRequest;
}

/** Returns the export's part of its table; undefined if it has no table. @throws InvalidInput if the request is faulty */
export function tableSource(entry: ConfiguredEntry): TableSource | undefined {
  // A table does not depend on dates, and so not on the day either.
  const { request } = parseRequest(requestOf(entry), new Date(0));
  const table = tableOf(request);
  if (table === undefined || request.kind === 'purchases') return undefined;
  if (request.kind === 'list')
    return { table, kind: 'list', columns: LIST_COLUMNS, date_column: DATE_COLUMN, request };
  const { columns = {}, date_column = DATE_COLUMN } = entry;
  // The partition holds the date, also if it is among the dimensions.
  const inFile = reportColumns(request, columns).filter(({ name }) => name !== date_column.toLowerCase());
  return { table, kind: 'report', columns: inFile, date_column, request };
}

/** The tables of these exports. Exports that share a table have the same columns. */
export function tablesOf(exports: readonly ConfiguredEntry[], target: RequestTarget): TableSchema[] {
  const sources = exports.map(tableSource).filter((source) => source !== undefined);
  return [...Map.groupBy(sources, ({ table }) => table).values()].map((sharing) => {
    const hashes = sharing.map(({ request }) => [request.account, requestHash(request, target)]);
    const { request: _, ...table } = sharing.at(-1) as TableSource;
    return { ...table, requests: Object.fromEntries(hashes) };
  });
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Faults of the exports: each must be a request that an execution would accept, and their tables must not contradict each
 * other. Looks at the raw config, so that a fault elsewhere hides none of these.
 */
export function exportFaults(context: unknown): string[] {
  const { exports, accounts, tables, revision } = fieldsOf(context);
  if (!Array.isArray(exports)) return [];
  const entries = exports.map(fieldsOf);
  const names = entries.map(({ account, name }) => `${account}/${name}`);
  const faults = entries.flatMap((entry, at) => {
    const request = requestOf(entry);
    return [
      ...requestFaults(request),
      ...accountFault('account', request.account, accounts),
      ...(entry.schedule === undefined ? [] : scheduleFaults(request)),
      ...(names.indexOf(names[at] ?? '') < at
        ? [`name: the account has another export ${request.name}`]
        : []),
    ].map((fault) => (/^[\w.[\]]+: /.test(fault) ? `exports[${at}].${fault}` : `exports[${at}]: ${fault}`));
  });
  return tables === false ? faults : [...faults, ...tableFaults(entries, String(revision))];
}

/** Faults of `time_zones`, whose keys are accounts. */
export function timeZoneFaults(context: unknown): string[] {
  const { time_zones, accounts } = fieldsOf(context);
  return Object.keys(fieldsOf(time_zones)).flatMap((name) => accountFault('time_zones', name, accounts));
}

function requestFaults(request: Fields): readonly string[] {
  try {
    parseRequest(request, new Date());
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.facts.faults as readonly string[];
    throw error;
  }
}

function scheduleFaults({ period, only_missing }: Fields): string[] {
  const faults = [];
  if (period === undefined)
    faults.push('period: is missing; a schedule with fixed dates would export the same days every time');
  if (only_missing)
    faults.push(
      'only_missing: cannot be combined with a schedule, which would deliver nothing once everything is delivered',
    );
  return faults;
}

function accountFault(path: string, name: unknown, accounts: unknown): string[] {
  if (typeof name !== 'string' || !Array.isArray(accounts) || accounts.includes(name)) return [];
  return [`${path}: ${name} is not one of accounts (${accounts.join(', ')})`];
}

/** An export without faults of its own. */
interface Readable {
  /** Its path in the config. */
  readonly path: string;
  readonly entry: ConfiguredEntry;
  /** Undefined if it has no table. */
  readonly source: TableSource | undefined;
}

function tableFaults(entries: readonly Fields[], revision: string): string[] {
  const exports = entries.flatMap((entry, at) => read(entry, `exports[${at}]`));
  const pairs = exports.flatMap((one, at) => exports.slice(0, at).map((earlier) => [one, earlier] as const));
  return [
    ...exports.flatMap(columnFaults),
    ...pairs.flatMap(([one, earlier]) => contradictions(one, earlier, revision)),
  ];
}

/** Nothing if the entry is faulty: other checks name those faults. */
function read(raw: Fields, path: string): Readable[] {
  const columns = DeclaredColumns.optional().safeParse(raw.columns);
  const date_column = DateColumn.optional().safeParse(raw.date_column);
  if (!columns.success || !date_column.success) return [];
  const entry = { ...raw, columns: columns.data, date_column: date_column.data };
  try {
    return [{ path, entry, source: tableSource(entry) }];
  } catch (error) {
    if (error instanceof InvalidInput) return [];
    throw error;
  }
}

function columnFaults({ path, entry, source }: Readable): string[] {
  if (source?.request.kind !== 'report')
    return ['columns', 'date_column']
      .filter((field) => entry[field] !== undefined)
      .map((field) => `${path}.${field}: needs a report that has a table`);
  const { metrics, dimensions = [] } = source.request;
  const named = [...dimensions, ...metrics].map((name) => name.toLowerCase());
  const inTable = new Set(source.columns.map(({ name }) => name));
  return [
    ...repeated(named).map((name) => `${path}.metrics: ${name} is also a dimension`),
    ...Object.keys(PARTITION_KEYS)
      .filter((key) => named.includes(key) && inTable.has(key))
      .map((key) => `${path}.table: has a partition named ${key}, like the column; set it to false`),
    ...declaredFaults(entry.columns ?? {}, [...named, 'advertiser_id'], source.date_column).map(
      (fault) => `${path}.columns.${fault}`,
    ),
  ];
}

function declaredFaults(declared: Fields, named: readonly string[], date_column: string): string[] {
  const spellings = Object.keys(declared);
  const twice = repeated(spellings.map((name) => name.toLowerCase()));
  return spellings.flatMap((spelled) => {
    const name = spelled.toLowerCase();
    if (name === date_column.toLowerCase()) return [`${spelled}: is the date, which needs no type`];
    if (!named.includes(name)) return [`${spelled}: is neither a metric nor a dimension of the report`];
    return twice.includes(name) ? [`${spelled}: is repeated in another case of letters`] : [];
  });
}

/** Two exports may share a table if it has the same columns for both. One account fills it with one request. */
function contradictions(
  { path, source }: Readable,
  { path: other, source: earlier }: Readable,
  revision: string,
): string[] {
  if (!source || !earlier || catalogName(source.table) !== catalogName(earlier.table)) return [];
  const { table, request } = source;
  const isSameAccount = request.account === earlier.request.account;
  if (isSameAccount && request.name === earlier.request.name) return [];
  if (table !== earlier.table)
    return [
      `${path}.table: ${table} would have the name of ${earlier.table} (${other}) in the catalog, ${catalogName(table)}`,
    ];
  const here = describeColumns(source);
  const there = describeColumns(earlier);
  const differences = [
    ...here.filter((column) => !there.includes(column)).map((column) => `only ${path} has ${column}`),
    ...there.filter((column) => !here.includes(column)).map((column) => `only ${other} has ${column}`),
  ];
  if (differences.length > 0)
    return [
      `${path}.table: exports that share ${table} need the same columns, but ${differences.join(', ')}`,
    ];
  const hash = (each: TableSource) => requestHash(each.request, { platform: '', revision });
  return isSameAccount && hash(source) !== hash(earlier)
    ? [`${path}.table: another request of the account fills ${table} (${other})`]
    : [];
}

function describeColumns({ date_column, columns }: TableSource): string[] {
  return [
    `the date column ${date_column}`,
    ...columns.map(({ name, type, round }) => `${name} ${round ? `rounded ${type}` : type}`),
  ];
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) < at))];
}

function isColumnType(text: string): boolean {
  const [, digits, decimals] = /^decimal\(([1-9]\d?),(\d{1,2})\)$/.exec(text) ?? [];
  if (digits === undefined) return ['bigint', 'double', 'string'].includes(text);
  return Number(digits) <= MAX_DIGITS && Number(decimals) <= Number(digits);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
