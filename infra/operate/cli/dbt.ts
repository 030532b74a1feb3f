import { Command } from 'commander';
import { count } from '../../../functions/workflow/count.ts';
import { catalogName } from '../../../functions/workflow/table.ts';
import { createDbtProject } from '../../stack/catalog/dbt-project.ts';
import { quoteArgument } from '../days/next-command.ts';
import type { Folder } from '../place/bucket.ts';
import { stackName } from '../place/deployment.ts';
import { loadConfig } from '../place/load-config.ts';
import { findTables } from '../place/local-tables.ts';
import { findDocumentedTables } from '../place/table-schemas.ts';
import { readTarget } from '../place/target-platform.ts';
import { writeDbtFiles } from './dbt-files.ts';
import { printLines } from './layout.ts';
import { examples, option } from './options.ts';
import { readAthenaPlace } from './query/athena.ts';

export function createCommand(): Command {
  return new Command('dbt')
    .argument('<dir>', 'the folder of the project')
    .option('--local', 'for the tables of the runs of this machine, with dbt-duckdb')
    .addOption(option.out())
    .addHelpText('after', examples('dbt ads', 'dbt ads --local'))
    .action(async (dir: string, folder: Folder) => {
      const tables = await findDocumentedTables(folder);
      const { exports } = loadConfig();
      const place = folder.local ? localPlace(folder) : await athenaPlace();
      const project = catalogName(stackName());
      const { platform } = await readTarget(folder);
      const facts = { project, platform, exports, ...place };
      const files = createDbtProject(tables, facts);
      writeDbtFiles(dir, files);
      printLines([
        `Wrote ${count(Object.keys(files).length, 'file')}. Build it: cd ${quoteArgument(dir)} && dbt build`,
      ]);
    });
}

async function athenaPlace() {
  const { workgroup: work_group, database: schema, region: region_name } = await readAthenaPlace();
  const database = 'awsdatacatalog';
  const profile = { type: 'athena', region_name, database, schema: `${schema}_dbt`, work_group, threads: 4 };
  return { profile, source: { database, schema } };
}

function localPlace({ out }: Folder) {
  const tables = findTables(out);
  const location = (table: string) =>
    `read_parquet(${tables.get(catalogName(table))?.files}, union_by_name = true)`;
  return { profile: { type: 'duckdb', path: 'warehouse.duckdb', threads: 1 }, source: {}, location };
}
