import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DbtFiles } from '../../stack/catalog/dbt-project.ts';
import { refuse } from '../place/errors.ts';
import { writeFiles } from './write-files.ts';
import { toYaml } from './yaml.ts';

/** The end of the first line of each file that the command may replace. */
const MARK =
  'Written by `ad-report-export dbt`, which writes it again. Without this line, it stays as it is.';

/** dbt knows a project by it. */
const PROJECT_FILE = 'dbt_project.yml' satisfies keyof DbtFiles;

/**
 * Writes the files of the project, and removes the files of a table that is gone.
 *
 * @throws UsageError if the folder has files and is no dbt project, or if somebody else wrote one of the
 *   files
 */
export function writeDbtFiles(dir: string, files: DbtFiles): void {
  if (globSync('*', { cwd: dir }).length > 0 && !existsSync(join(dir, PROJECT_FILE)))
    refuse([`${dir} has files, and no ${PROJECT_FILE}: name a new folder, or one that this command wrote`]);
  const isOurs = (path: string) =>
    statSync(join(dir, path)).isFile() &&
    readFileSync(join(dir, path), 'utf8').split('\n', 1)[0]?.endsWith(MARK);
  const foreign = Object.keys(files).filter((path) => existsSync(join(dir, path)) && !isOurs(path));
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
  const outdated = globSync('{*.yml,macros/*.sql,models/*.{sql,yml},tests/*.sql}', { cwd: dir }).filter(
    isOurs,
  );
  writeFiles(dir, Object.fromEntries(texts), outdated);
}
