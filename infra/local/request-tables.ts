import type { RequestTarget } from '../../functions/decisions/request-hash.ts';
import { catalogTable } from '../../functions/workflow/catalog-table.ts';
import { InvalidInput } from '../../functions/workflow/errors.ts';
import { type ConfiguredEntry, tableSource, tablesOf } from '../config/exports.ts';
import type { Glue } from './glue.ts';

export interface RequestTablesOptions {
  readonly glue: Pick<Glue, 'tables'>;
  readonly bucket: string;
  /** An export of this name lends its columns and date column to a request. */
  readonly configured: readonly ConfiguredEntry[];
}

/**
 * Returns a function that creates a request's table, as a deployment would if the config contained the request. Requests of
 * several accounts may share a table.
 */
export function createRequestTables({
  glue,
  bucket,
  configured,
}: RequestTablesOptions): (request: unknown, target: RequestTarget) => void {
  const entries = new Map<string, readonly ConfiguredEntry[]>();
  return (request, target) => {
    const entry = withColumns(Object(request), configured);
    const table = tableNameOf(entry);
    if (table === undefined) return;
    const others = (entries.get(table) ?? []).filter(({ account }) => account !== entry.account);
    const sharing = [...others, entry];
    entries.set(table, sharing);
    for (const schema of tablesOf(sharing, target)) {
      const definition = catalogTable(schema, bucket);
      glue.tables.set(definition.Name, definition);
    }
  };
}

function withColumns(
  request: Readonly<Record<string, unknown>>,
  configured: readonly ConfiguredEntry[],
): ConfiguredEntry {
  const { columns, date_column } = configured.find(({ name }) => name === request.name) ?? {};
  return { ...request, ...(columns && { columns }), ...(date_column && { date_column }) };
}

/** A faulty request has no table, because its execution fails before it creates a report. */
function tableNameOf(entry: ConfiguredEntry): string | undefined {
  try {
    return tableSource(entry)?.table;
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}
