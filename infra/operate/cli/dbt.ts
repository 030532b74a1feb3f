import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { count } from '../../../functions/workflow/count.ts';
import { catalogName } from '../../../functions/workflow/table.ts';
import { createDbtProject, type DbtFiles } from '../../stack/catalog/dbt.ts';
import { quote } from '../days/next-command.ts';
import { findTables } from '../days/views.ts';
import type { Folder } from '../place/bucket.ts';
import { loadConfig } from '../place/config.ts';
import { stackName } from '../place/deployment.ts';
import { refuse } from '../place/errors.ts';
import { readTarget } from '../place/platform.ts';
import { findDocumentedTables } from '../place/tables.ts';
import { printLines } from './layout.ts';
import { examples, option } from './options.ts';
import { readAthenaPlace } from './query/athena.ts';
import { writeFiles } from './write-files.ts';
import { toYaml } from './yaml.ts';

/** The end of the first line of each file that this command may replace. */
const MARK =
  'Written by `ad-report-export dbt`, which writes it again. Without this line, it stays as it is.';

/** dbt knows a project by it. */
const PROJECT_FILE = 'dbt_project.yml' satisfies keyof DbtFiles;

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
      writeOwnFiles(dir, files);
      printLines([
        `Wrote ${count(Object.keys(files).length, 'file')}. Build it: cd ${quote(dir)} && dbt build`,
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

/**
 * Removes the files of a table that is gone.
 *
 * @throws UsageError if the folder has files and is no dbt project, or if somebody else wrote one of the
 *   files
 */
function writeOwnFiles(dir: string, files: DbtFiles): void {
  if (globSync('*', { cwd: dir }).length > 0 && !existsSync(join(dir, PROJECT_FILE)))
    refuse([`${dir} has files, and no ${PROJECT_FILE}: name a new folder, or one that this command wrote`]);
  const isOwn = (path: string) =>
    statSync(join(dir, path)).isFile() &&
    readFileSync(join(dir, path), 'utf8').split('\n', 1)[0]?.endsWith(MARK);
  const foreign = Object.keys(files).filter((path) => existsSync(join(dir, path)) && !isOwn(path));
  refuse(
    foreign.map((path) =>
      path === PROJECT_FILE
        ? `${join(dir, path)} is of another project: name another folder`
        : `${join(dir, path)} is not this command's: remove it, or name another folder`,
    ),
  );
  const toText = (content: string | object) =>
    typeof content === 'string' ? `-- ${MARK}\n${content}` : `# ${MARK}\n${toYaml(content)}`;
  const texts = Object.entries(files).map(([path, content]) => [path, toText(content)]);
  const outdated = globSync('{*.yml,models/*.{sql,yml},tests/*.sql}', { cwd: dir }).filter(isOwn);
  writeFiles(dir, Object.fromEntries(texts), outdated);
}
