import { EntityNotFoundException, GetTableCommand, GlueClient } from '@aws-sdk/client-glue';
import type { Settings } from '../workflow/settings.ts';
import { catalogName, type TableSchema } from '../workflow/table.ts';
import { readSchema } from './catalog-table.ts';
import { asServiceError } from './service-error.ts';

/** Milliseconds for all tries. Without it, a call that AWS never answers lasts until Lambda's timeout. */
const CALL_TIMEOUT = 5_000;

/** Lake Formation refuses with the same error as IAM. */
const READ_TABLE = 'glue:GetTable, and DESCRIBE in Lake Formation if it manages the table';

export type Catalog = ReturnType<typeof createCatalog>;

/** The tables of the stack's Glue database. */
export function createCatalog({ GLUE_DATABASE: DatabaseName }: { readonly GLUE_DATABASE: string }) {
  const glue = new GlueClient();
  return {
    /** Undefined if the table does not exist, or is not one of this stack's. */
    async getTable(table: string): Promise<TableSchema | undefined> {
      const command = new GetTableCommand({ DatabaseName, Name: catalogName(table) });
      try {
        const { Table = {} } = await glue.send(command, { abortSignal: AbortSignal.timeout(CALL_TIMEOUT) });
        const schema = readSchema(Table);
        // Names that differ only in - and _ share a name in the catalog.
        return schema?.table === table ? schema : undefined;
      } catch (error) {
        if (error instanceof EntityNotFoundException) return undefined;
        throw asServiceError(error, `read table ${table}`, READ_TABLE);
      }
    },
  };
}

/** @returns undefined if the stack has no tables */
export function catalogOf({ GLUE_DATABASE }: Pick<Settings, 'GLUE_DATABASE'>): Catalog | undefined {
  return GLUE_DATABASE === undefined ? undefined : createCatalog({ GLUE_DATABASE });
}
