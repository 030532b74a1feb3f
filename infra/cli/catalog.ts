import type { TablePartitions } from '../../functions/decisions/missing.ts';
import { ExportError } from '../../functions/workflow/errors.ts';
import { catalogName } from '../../functions/workflow/table.ts';
import { openPartitions } from '../local/partitions.ts';
import { readDeployedPlace, readOutput } from './deployed.ts';
import { createAwsFailure } from './errors.ts';

interface CatalogOptions {
  readonly local?: true;
  readonly out: string;
}

/**
 * The partitions of the tables: those of the deployed stack, or those that local runs left in their folder.
 *
 * @returns undefined if the stack has no tables, or was not deployed from here
 */
export async function openCatalog({ local, out }: CatalogOptions): Promise<TablePartitions | undefined> {
  return local ? readFolder(out) : readDeployed();
}

function readFolder(out: string): TablePartitions {
  const partitions = openPartitions(out);
  return {
    async getPartitions(table, values) {
      const registered = partitions.of(catalogName(table));
      return values.filter((each) => registered.has(each.join('/'))).map((each) => ({ values: each }));
    },
  };
}

async function readDeployed(): Promise<TablePartitions | undefined> {
  const GLUE_DATABASE = await readOutput('database');
  const BUCKET = await readOutput('bucket');
  if (GLUE_DATABASE === undefined || BUCKET === undefined) return undefined;
  const { region } = await readDeployedPlace();
  if (region !== undefined) process.env.AWS_REGION = region;
  const { createCatalog } = await import('../../functions/aws/catalog.ts');
  const catalog = createCatalog({ GLUE_DATABASE, BUCKET });
  return {
    getPartitions: (table, values) =>
      catalog.getPartitions(table, values).catch((error: unknown) => {
        if (!(error instanceof ExportError)) throw error;
        const { aws_error: name = error.name } = error.facts;
        throw createAwsFailure({ name }, `read the partitions of table ${table}`, 'glue:BatchGetPartition');
      }),
  };
}
