import { defineConfig } from 'vitest/config';

/** Separate from `npm test`, which needs no browser. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.browser.ts'],
    globalSetup: 'test/support/temporary-folder-guard.ts',
    unstubEnvs: true,
    unstubGlobals: true,
    restoreMocks: true,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
