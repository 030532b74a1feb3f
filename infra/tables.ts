import { type RequestTarget, requestHash } from '../functions/decisions/request-hash.ts';
import type { ListRequest, ReportRequest } from '../functions/workflow/request/request.ts';
import { parseRequest } from '../functions/workflow/request/request.ts';
import {
  type Column,
  DATE_COLUMN,
  LIST_COLUMNS,
  reportColumns,
  type TableSchema,
  tableOf,
} from '../functions/workflow/table.ts';

/** An entry of the config's `exports`: a request, and fields that only the stack reads. */
export interface ConfiguredEntry {
  readonly schedule?: unknown;
  /** By column, in any case of letters. */
  readonly columns?: Readonly<Record<string, Omit<Column, 'name'>>> | undefined;
  readonly date_column?: string | undefined;
  readonly [field: string]: unknown;
}

/** One export's part of a table: its request and its columns. */
export interface TableSource extends Pick<TableSchema, 'table' | 'kind' | 'columns' | 'date_column'> {
  readonly request: ReportRequest | ListRequest;
}

/** The request of an entry, without the fields that only the stack reads. */
export function requestOf({ schedule, columns, date_column, ...request }: ConfiguredEntry) {
  return request;
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

/**
 * The tables of these exports. Exports of several accounts that name the same table share it; it has the columns of all of them.
 *
 * @param exports of a valid config: their tables do not contradict each other
 */
export function tablesOf(exports: readonly ConfiguredEntry[], target: RequestTarget): TableSchema[] {
  const sources = exports.map(tableSource).filter((source) => source !== undefined);
  return [...Map.groupBy(sources, ({ table }) => table).values()].flatMap((sharing) => {
    const [first] = sharing;
    if (!first) return [];
    const { table, kind, date_column } = first;
    const columns = new Map(
      sharing.flatMap((source) => source.columns.map((column) => [column.name, column])),
    );
    const hashes = sharing.map(({ request }) => [request.account, requestHash(request, target)]);
    return { table, kind, date_column, columns: [...columns.values()], requests: Object.fromEntries(hashes) };
  });
}
