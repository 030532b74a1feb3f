import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UsageError } from '../knowledge/errors.ts';

/**
 * Writes files at their paths in a folder, which is made if it is missing.
 *
 * @param outdated the paths of files that are removed before
 * @throws UsageError if the system refuses
 */
export function writeFiles(
  dir: string,
  files: Readonly<Record<string, string>>,
  outdated: readonly string[] = [],
): void {
  try {
    for (const path of outdated) rmSync(join(dir, path));
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), content);
    }
  } catch (error) {
    throw new UsageError([`${dir} cannot be written (${(error as NodeJS.ErrnoException).code})`]);
  }
}
