import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/** Gives the run a temporary folder of its own, and fails the run if a test leaves anything in it. */
export default function setup({ config, vitest }: TestProject): void {
  const folder = mkdtempSync(join(tmpdir(), 'ad-report-export-test-'));
  process.env.TMPDIR = folder;
  // Not returned: vitest would call it before the workers end, and they close what their files share.
  vitest.onClose(async () => {
    const left = readdirSync(folder, { recursive: true });
    rmSync(folder, { recursive: true, force: true });
    // With -t, vitest skips the afterAll of a file whose tests are all skipped.
    if (left.length === 0 || config.testNamePattern) return;
    throw new Error(`Tests left these in the temporary folder:\n${left.slice(0, 20).join('\n')}`);
  });
}
