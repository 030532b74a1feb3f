import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, TestRunner } from 'vitest';

/**
 * Creates an empty folder, which is removed at the end of the test.
 *
 * @param onEnd removes the folder at another time, for a hook of a test file
 * @throws Error while modules are imported: the test files of a worker share what they import, and the
 *   first one would remove the folder of the others
 */
export function temporaryDirectory(onEnd: (remove: () => void) => void = onTestFinished): string {
  if (isImporting()) throw new Error('Create a folder in a test or a hook, not when a module is imported');
  const { path, remove } = mkdtempDisposableSync(join(tmpdir(), 'test-'));
  onEnd(remove);
  return path;
}

function isImporting(): boolean {
  return TestRunner.getCurrentTest() === undefined && TestRunner.getCurrentSuite().file?.result === undefined;
}
