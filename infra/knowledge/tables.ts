import { type CatalogTable, readSchema } from '../../functions/workflow/catalog-table.ts';
import { catalogName, type TableSchema } from '../../functions/workflow/table.ts';
import { type DocumentedTable, documentTable, LEDGER_TABLE } from '../catalog/table-words.ts';
import { type ConfiguredEntry, tablesOf, withColumns } from '../config/exports.ts';
import { createRequestTables } from '../local/glue.ts';
import { type Folder, openToRead } from './bucket.ts';
import { loadConfig } from './config.ts';
import { readDeployment, requireOutput } from './deployment.ts';
import { UsageError } from './errors.ts';
import { type FoundExport, readLastRequests } from './exports.ts';
import { inputOf } from './request.ts';
import { findTables } from './views.ts';

/** The tables that these exports write. */
export function documentTables(exports: readonly ConfiguredEntry[]): DocumentedTable[] {
  const schemas = tablesOf(exports, { platform: '', revision: '' }, loadConfig());
  return schemas.map((schema) => documentTable(schema, exports));
}

/**
 * The tables of the config, or those that a folder has, with the ledger.
 *
 * @throws UsageError if there is none
 */
export async function findDocumentedTables(folder: Folder): Promise<DocumentedTable[]> {
  const config = loadConfig();
  const configured = config.tables ? config.exports : [];
  const tables = folder.local ? await documentFolder(folder, config.exports) : documentTables(configured);
  const place = folder.local ? `${folder.out} has` : 'The exports of cdk.json have';
  if (tables.length === 0) throw new UsageError([`${place} no tables`]);
  return [...tables, LEDGER_TABLE];
}

/** The request of a table is the one of the last run. */
async function documentFolder(folder: Folder, configured: readonly ConfiguredEntry[]) {
  await using bucket = await openToRead(folder);
  const requests = await readLastRequests(folder.out, bucket);
  const entries = requests.map(({ request }) => withColumns(Object(inputOf(request)), configured));
  const present = findTables(folder.out);
  return documentTables(entries).filter(({ table }) => present.has(catalogName(table)));
}

/**
 * The schema of a table.
 *
 * @param exports of a folder, whose tables are those that a local run defines. Undefined: those of the
 * deployed stack
 * @throws UsageError if no stack with tables was deployed from here
 */
export async function findSchema(
  table: string,
  exports: readonly FoundExport[] | undefined,
): Promise<TableSchema | undefined> {
  if (exports) {
    const tables = new Map<string, CatalogTable>();
    const define = createRequestTables({ tables }, '', loadConfig());
    for (const { input, target } of exports) define(input, target);
    return readSchema(tables.get(catalogName(table)) ?? {});
  }
  const { createCatalog } = await import('../../functions/aws/catalog.ts');
  const deployment = await readDeployment();
  const GLUE_DATABASE = requireOutput(deployment, 'database');
  process.env.AWS_REGION = deployment.region;
  return createCatalog({ GLUE_DATABASE }).getTable(table);
}
