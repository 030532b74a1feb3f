import { defineConfig } from 'vitest/config';
import standard from '../../vitest.config.ts';

/** Checks with other people's tools. `npm test` would spend half a minute on them. */
export default defineConfig({
  test: {
    ...standard.test,
    include: ['test/checks/*.check.ts'],
    exclude: [],
    // The first file installs the Python packages of both.
    fileParallelism: false,
  },
});
