import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { keepCompiled } from './infra/kept.ts';

keepCompiled();

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Whole runs wait for real servers and worker threads; the clock inside them is scaled, the machine is not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // The default leaves one core to the main thread, which waits; of two that would be half of the machine. One worker more
    // than there are cores runs while others wait for the turns of their ranges: a fifth less time in all, on two cores.
    maxWorkers: availableParallelism() + 1,
    sequence: { shuffle: true },
  },
});
