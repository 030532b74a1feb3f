import { setEnvironmentData } from 'node:worker_threads';

/** What passes from a test to the threads of the functions that it starts, and back. */
export interface Shared {
  /** The mutant that is tried, if one is. */
  readonly mutant?: string;
  readonly hitLimit?: number;
  /** A byte for each mutant: whether its code was run. */
  readonly reached: SharedArrayBuffer;
}

/** What Stryker keeps in a test's thread; its code in the mutated sources looks there. */
interface Stryker {
  readonly activeMutant?: string;
  readonly hitLimit?: number;
  readonly currentTestId?: string;
  mutantCoverage?: { perTest: Record<string, Record<string, number>>; static: Record<string, number> };
}

const MUTANTS = 20_000;

/** Loaded before each function's bundle while Stryker runs the tests. */
const IN_FUNCTION = new URL('./in-function.ts', import.meta.url);

/**
 * Carries Stryker's mutant over to the threads of the functions, where its globals do not reach, and what they have run
 * of the mutated code back to the test. Does nothing unless Stryker runs the tests.
 *
 * @returns modules to load before a function's bundle, and what is to be called at the run's end
 */
export function carryMutant(): { modules: URL[]; end(): void } {
  const stryker = (globalThis as { __stryker__?: Stryker }).__stryker__;
  if (!stryker) return { modules: [], end: () => {} };
  const { activeMutant: mutant, hitLimit, currentTestId } = stryker;
  const reached = new SharedArrayBuffer(MUTANTS);
  const shared: Shared = {
    reached,
    ...(mutant !== undefined && { mutant }),
    ...(hitLimit !== undefined && { hitLimit }),
  };
  setEnvironmentData('stryker', shared as never);
  return {
    modules: [IN_FUNCTION],
    end() {
      if (currentTestId === undefined) return;
      stryker.mutantCoverage ??= { static: {}, perTest: {} };
      const { perTest } = stryker.mutantCoverage;
      perTest[currentTestId] ??= {};
      for (const [number, run] of new Uint8Array(reached).entries())
        if (run) perTest[currentTestId][number] = 1;
    },
  };
}
