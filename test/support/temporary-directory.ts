import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** Creates an empty folder. It is removed after the test that called this, or after the file if no test did. */
export function temporaryDirectory(): string {
  const { path, remove } = mkdtempDisposableSync(join(tmpdir(), 'test-'));
  if (TestRunner.getCurrentTest()) onTestFinished(remove);
  else afterAll(remove);
  return path;
}
