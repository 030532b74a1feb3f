import { type CatalogTable, readSchema } from '../../../functions/aws/catalog-table.ts';
import { catalogName, LEDGER, type TableSchema } from '../../../functions/workflow/table.ts';
import { createRequestTables } from '../../lab/local/glue.ts';
import { type DocumentedTable, documentTable, LEDGER_TABLE } from '../../stack/catalog/table-words.ts';
import { tablesOf, withColumns } from '../../stack/config/exports.ts';
import { findExports } from '../days/find-exports.ts';
import type { RecordedExport } from '../days/read-export.ts';
import { type Folder, openToRead } from './bucket.ts';
import { readDeployment, requireOutput } from './deployment.ts';
import { UsageError } from './errors.ts';
import { configName, loadConfig } from './load-config.ts';
import { findTables, type LocalTable } from './local-tables.ts';

/** The tables that these exports write. */
export function documentTables(exports: readonly Pick<RecordedExport, 'input'>[]): DocumentedTable[] {
  const config = loadConfig();
  if (!config.tables) return [];
  const entries = exports.map(({ input }) => withColumns(Object(input), config.exports));
  const schemas = tablesOf(entries, { platform: '', revision: '' }, config);
  return schemas.map((schema) => documentTable(schema, entries));
}

/**
 * The tables of the config, or the tables of a folder, with the ledger. A folder may have none: somebody may
 * have removed it.
 *
 * @throws UsageError if there is none
 */
export async function findDocumentedTables(folder: Folder): Promise<DocumentedTable[]> {
  const configured = loadConfig().exports.map((input) => ({ input }));
  const present = folder.local ? findTables(folder.out) : undefined;
  const tables = present ? await documentFolder(folder, present) : documentTables(configured);
  const place = folder.local ? `${folder.out} has` : `The exports of ${configName()} have`;
  if (tables.length === 0) throw new UsageError([`${place} no tables`]);
  return !present || present.has(LEDGER) ? [...tables, LEDGER_TABLE] : tables;
}

async function documentFolder(folder: Folder, present: ReadonlyMap<string, LocalTable>) {
  await using bucket = await openToRead(folder);
  const exports = await findExports(undefined, folder, bucket, new Date());
  return documentTables(exports).filter(({ table }) => present.has(catalogName(table)));
}

/**
 * The schema of a table.
 *
 * @param exports of a folder, for the table that a local run defines. Undefined: for the deployed table
 * @throws UsageError if no stack with tables was deployed from here
 */
export async function findSchema(
  table: string,
  exports: readonly RecordedExport[] | undefined,
): Promise<TableSchema | undefined> {
  if (exports) {
    const tables = new Map<string, CatalogTable>();
    const define = createRequestTables(tables, '', loadConfig());
    for (const { input, target } of exports) define(input, target);
    return readSchema(tables.get(catalogName(table)) ?? {});
  }
  const { createCatalog } = await import('../../../functions/aws/catalog.ts');
  const deployment = await readDeployment();
  const GLUE_DATABASE = requireOutput(deployment, 'database');
  process.env.AWS_REGION = deployment.region;
  return createCatalog({ GLUE_DATABASE }).getTable(table);
}
