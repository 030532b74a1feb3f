import { type CatalogTable, catalogTable } from '../../../functions/aws/catalog-table.ts';
import type { RequestTarget } from '../../../functions/decisions/request-hash.ts';
import { InvalidInput } from '../../../functions/workflow/errors.ts';
import { documentTable, tableWords } from '../../stack/catalog/table-words.ts';
import {
  type Accounts,
  type ConfiguredEntry,
  tableSource,
  tablesOf,
  withColumns,
} from '../../stack/config/exports.ts';
import { JsonServiceError, startJsonService } from './json-service.ts';

export type Glue = Awaited<ReturnType<typeof startGlue>>;

/**
 * Starts the Glue Data Catalog on 127.0.0.1, with GetTable only: CurateReport calls nothing else (AWS JSON
 * 1.1). It has one database.
 */
export async function startGlue(database = 'local', now = Date.now) {
  /** By name. Tables may be added, changed and removed at any time. */
  const tables = new Map<string, CatalogTable>();
  const GetTable = ({ DatabaseName, Name = '' }: { DatabaseName?: string; Name?: string }) => {
    const table = DatabaseName === database ? tables.get(Name) : undefined;
    const message = `There is no table ${DatabaseName}.${Name}.`;
    if (!table) throw new JsonServiceError('EntityNotFoundException', message);
    return { Table: { ...table, DatabaseName, VersionId: '0' } };
  };
  return { ...(await startJsonService({ GetTable }, now)), database, tables };
}

/** The parts of the config that decide what a table has besides its request. */
export interface TableConfig {
  /** One of the same name lends its columns and date column to a request. */
  readonly exports: readonly ConfiguredEntry[];
  readonly accounts: Accounts;
}

/**
 * Returns a function that creates a request's table, as a deployment would if the config contained the
 * request. Requests of several accounts may share a table.
 */
export function createRequestTables(
  tables: Map<string, CatalogTable>,
  bucket: string,
  config: TableConfig,
): (request: unknown, target: RequestTarget) => void {
  const entries = new Map<string, readonly ConfiguredEntry[]>();
  return (request, target) => {
    const entry = withColumns(Object(request), config.exports);
    const table = tableNameOf(entry);
    if (table === undefined) return;
    const others = (entries.get(table) ?? []).filter(({ account }) => account !== entry.account);
    const sharing = [...others, entry];
    entries.set(table, sharing);
    for (const schema of tablesOf(sharing, target, config)) {
      const definition = catalogTable(schema, bucket, tableWords(documentTable(schema, sharing)));
      tables.set(definition.Name, definition);
    }
  };
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
