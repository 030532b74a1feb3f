import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { cacheCompiledCode } from './infra/stack/cache.ts';

cacheCompiledCode();

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Whole runs and random runs: `npm run test:workflow`.
    exclude: ['test/workflow/**', 'test/random/**'],
    globalSetup: ['test/support/temporary-folder-guard.ts', 'test/support/prepare-assembly.ts'],
    // Loading the modules again for each file would take half of the time: CDK alone takes a second.
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // Undo what a test stubs, before the next one. The setup file does it before the next file is imported.
    unstubEnvs: true,
    unstubGlobals: true,
    restoreMocks: true,
    setupFiles: ['test/support/undo-stubs.ts'],
    expect: { poll: { timeout: 30_000 } },
    // Whole runs often wait for their scaled clock: one worker more than cores keeps the cores busy.
    maxWorkers: availableParallelism() + 1,
    sequence: { shuffle: true },
  },
});
