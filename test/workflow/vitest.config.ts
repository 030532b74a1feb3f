import { defineConfig } from 'vitest/config';
import standard from '../../vitest.config.ts';

// Not merged: lists of two merged configurations are joined.
export default defineConfig({
  test: {
    ...standard.test,
    include: ['test/workflow/**/*.test.ts', 'test/random/**/*.test.ts'],
    exclude: [],
    environment: './test/workflow/environment.ts',
  },
});
