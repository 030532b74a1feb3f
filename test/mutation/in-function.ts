import { getEnvironmentData } from 'node:worker_threads';
import type { Shared } from './in-test.ts';

/** Loaded before a function's bundle while Stryker runs: the mutant that it tries is active in this thread as well. */
const shared = getEnvironmentData('stryker') as unknown as Shared;
const reached = new Uint8Array(shared.reached);

/** What Stryker's own code counts in, by the mutant's number. */
const counts = new Proxy<Record<string, number>>(
  {},
  {
    set(_, mutant, count) {
      reached[Number(mutant)] = 1;
      return Reflect.set(_, mutant, count);
    },
  },
);

Object.assign(globalThis, {
  __stryker__: {
    ...(shared.mutant !== undefined && { activeMutant: shared.mutant }),
    ...(shared.hitLimit !== undefined && { hitLimit: shared.hitLimit, hitCount: 0 }),
    mutantCoverage: { static: counts, perTest: {} },
  },
});
