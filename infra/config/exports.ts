import * as z from 'zod';
import { type RequestTarget, requestHash } from '../../functions/decisions/request-hash.ts';
import { byName } from '../../functions/workflow/json.ts';
import {
  type ListRequest,
  parseRequest,
  type ReportRequest,
} from '../../functions/workflow/request/request.ts';
import {
  type ColumnType,
  DATE_COLUMN,
  type DeclaredColumn,
  LIST_COLUMNS,
  reportColumns,
  type TableSchema,
  tableOf,
} from '../../functions/workflow/table.ts';

type Fields = Readonly<Record<string, unknown>>;

/** An entry of the config's `exports`: a request, and fields that only the stack reads. */
export interface ConfiguredEntry {
  readonly schedule?: unknown;
  /** By column, in any case of letters. */
  readonly columns?: Readonly<Record<string, DeclaredColumn>> | undefined;
  readonly date_column?: string | undefined;
  readonly [field: string]: unknown;
}

/** The request of an entry, without the fields that only the stack reads. */
export function requestOf({ schedule, columns, date_column, ...request }: ConfiguredEntry) {
  return request;
}

/** A request with what the export of its name says about columns: a local run takes them from the config. */
export function withColumns(request: Fields, configured: readonly ConfiguredEntry[]): ConfiguredEntry {
  const { columns, date_column } = configured.find(({ name }) => name === request.name) ?? {};
  return { ...request, ...(columns && { columns }), ...(date_column && { date_column }) };
}

/** The most digits that Parquet's readers and the Data Catalog allow. */
const MAX_DIGITS = 38;

const TYPES = `must be "bigint", "double", "string" or "decimal(digits,decimals)" with at most ${MAX_DIGITS} digits`;
const FORM = `${TYPES}, or have such a type, the field of the file or both, like {"type": "bigint", "from": "Clicks (all)"}`;

/** A field of the report's file. A comment in the catalog, which takes one line, quotes it. */
const FieldOfFile = z
  .string()
  .min(1, 'must not be empty')
  .max(100, 'must not have more than 100 characters')
  .regex(/^\P{Cc}*$/u, 'must not have control characters');

const Type = z
  .string()
  .refine(isColumnType, TYPES)
  .transform((type) => type as ColumnType);

const Declared = z.union(
  [
    Type.transform((type): DeclaredColumn => ({ type })),
    z.strictObject({ type: Type.exactOptional(), from: FieldOfFile.exactOptional() }),
  ],
  FORM,
);

/** Types of a report's columns and their fields in the file, by the name of a metric or dimension. */
export const DeclaredColumns = z.record(z.string(), Declared);

/** The name of the date column in a report's file. */
export const DateColumn = FieldOfFile;

/** ISO 4217 by account. */
export type Currencies = Readonly<Record<string, string>>;

/** One export's part of a table: its request and its columns. */
export interface TableSource extends Pick<TableSchema, 'table' | 'kind' | 'columns' | 'date_column'> {
  readonly request: ReportRequest | ListRequest;
}

/** Returns the export's part of its table, if it has one. @throws InvalidInput if the request is faulty */
export function tableSource(entry: ConfiguredEntry): TableSource | undefined {
  // A table does not depend on dates, and so not on the day either.
  const { request } = parseRequest(requestOf(entry), new Date(0));
  const table = tableOf(request);
  if (table === undefined || request.kind === 'purchases') return undefined;
  if (request.kind === 'list')
    return { table, kind: 'list', columns: LIST_COLUMNS, date_column: DATE_COLUMN, request };
  const { columns = {}, date_column = DATE_COLUMN } = entry;
  // The table has a column for the date anyway, so it is left out here if it is among the dimensions.
  const inFile = reportColumns(request, columns).filter(({ from }) => !isSame(from, date_column));
  return { table, kind: 'report', columns: inFile, date_column, request };
}

/**
 * The tables of these exports. Exports that share a table have the same columns.
 *
 * @param config its currencies. A list has no amounts, and so no currency
 */
export function tablesOf(
  exports: readonly ConfiguredEntry[],
  target: RequestTarget,
  config: { readonly currency: Currencies },
): TableSchema[] {
  const sources = exports.map(tableSource).filter((source) => source !== undefined);
  return [...Map.groupBy(sources, ({ table }) => table).values()].map((sharing) => {
    const { request: _, ...table } = sharing.at(-1) as TableSource;
    const requests = sharing.map(({ request }) => [request.account, requestHash(request, target)] as const);
    const currencies = sharing.flatMap(({ kind, request: { account } }) => {
      const code = config.currency[account];
      return kind === 'report' && code !== undefined ? [[account, code] as const] : [];
    });
    return { ...table, requests: byName(requests), currencies: byName(currencies) };
  });
}

function isColumnType(text: string): boolean {
  const [, digits, decimals] = /^decimal\(([1-9]\d?),(\d{1,2})\)$/.exec(text) ?? [];
  if (digits === undefined) return ['bigint', 'double', 'string'].includes(text);
  return Number(digits) <= MAX_DIGITS && Number(decimals) <= Number(digits);
}

/** Compares names of fields, whose case does not matter. */
export function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
