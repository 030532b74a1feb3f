import { accessSync, constants, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UsageError } from '../place/errors.ts';

/**
 * Writes files at their paths in a folder, which is made if it is missing.
 *
 * @param outdated the paths of files that are removed before
 * @throws UsageError if the system refuses
 */
export function writeFiles(
  dir: string,
  files: Readonly<Record<string, string | Uint8Array>>,
  outdated: readonly string[] = [],
): void {
  try {
    for (const path of outdated) rmSync(join(dir, path));
    for (const [path, content] of Object.entries(files)) {
      makeFolder(dirname(join(dir, path)));
      writeFileSync(join(dir, path), content);
    }
  } catch (error) {
    throw createWriteFault(dir, error);
  }
}

/**
 * Makes the folders of files before their content is made, which may take long: a folder that nobody can
 * write is refused first.
 *
 * @throws UsageError if the system refuses
 */
export function makeFolders(dir: string, paths: readonly string[]): void {
  try {
    for (const folder of new Set(paths.map((path) => dirname(join(dir, path))))) {
      makeFolder(folder);
      accessSync(folder, constants.W_OK);
    }
  } catch (error) {
    throw createWriteFault(dir, error);
  }
}

function createWriteFault(dir: string, error: unknown): UsageError {
  return new UsageError([`${dir} cannot be written (${(error as NodeJS.ErrnoException).code})`]);
}

/**
 * Makes a folder and the parents that it lacks. Node's recursive mkdir never ends if the system answers
 * ENOENT in a folder that exists, as in /proc.
 *
 * @throws ErrnoException if the system refuses
 */
export function makeFolder(folder: string): void {
  const parent = dirname(folder);
  if (!existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(folder);
  } catch (error) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
