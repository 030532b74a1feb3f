import { resolve } from 'node:path';
import { Command } from 'commander';
import { TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import { PROGRAM } from '../../package.ts';
import { createContract } from '../../stack/catalog/data-contract.ts';
import { RESULTS_PREFIX } from '../../stack/config/config.ts';
import type { Folder } from '../place/bucket.ts';
import { readDeployment, requireOutput, stackName } from '../place/deployment.ts';
import { loadConfig } from '../place/load-config.ts';
import { findDocumentedTables } from '../place/table-schemas.ts';
import { option } from './options.ts';
import { toYaml } from './yaml.ts';

/** Without `-s`, npm writes two lines of its own. */
const CONTRACT_EXAMPLE = `\nExample:\n  ${PROGRAM.replace('run', 'run -s')} contract > ads.odcs.yaml`;

export function createCommand(): Command {
  return new Command('contract')
    .option('--local', 'of the tables of the runs of this machine')
    .addOption(option.out())
    .addHelpText('after', CONTRACT_EXAMPLE)
    .action(async (folder: Folder) => {
      const tables = await findDocumentedTables(folder);
      const server = folder.local ? localServer(folder) : await athenaServer();
      process.stdout.write(toYaml(createContract(tables, server, { ...loadConfig(), stack: stackName() })));
    });
}

/** The CLI of the standard puts the table's name in place of `{model}`. */
function localServer({ out }: Folder) {
  const path = `${resolve(out)}/*/${TABLES_PREFIX}{model}/*.parquet`;
  return { server: 'local', type: 'local', path, format: 'parquet' };
}

async function athenaServer() {
  const deployment = await readDeployment();
  return {
    server: 'athena',
    type: 'athena',
    catalog: 'awsdatacatalog',
    schema: requireOutput(deployment, 'database'),
    regionName: deployment.region,
    stagingDir: `s3://${requireOutput(deployment, 'bucket')}/${RESULTS_PREFIX}`,
  };
}
