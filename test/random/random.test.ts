import { expect, it } from 'vitest';
import { findBroken } from './run-scenarios.ts';
import { type NumberedScenario, scenariosOf, THREE_WINDOWS } from './scenario.ts';

/** `npm run test:random` takes other seeds and thousands of runs. */
const SEED = 1;
const RUNS = 50;

/**
 * At 1000 times the speed, 10 s last as long as one step of a busy machine, so a GET that came too early
 * could look punctual. At 100 times the speed they can be told apart. Only runs with short waits are quick
 * enough for it.
 */
const SLOWER = { speed: 100, runs: 10 };

const all = scenariosOf(SEED, 10 * RUNS);

// At the same time, in three workflows.
it.concurrent.each([
  [1000, 2, all.slice(0, RUNS)],
  [SLOWER.speed, 1, all.filter(isShort).slice(0, SLOWER.runs)],
])(
  'P1 to P7 hold in exports with random faults at speed %i',
  { timeout: 600_000 },
  async (speed, parallel, scenarios) => {
    const { broken, ends } = await findBroken(SEED, scenarios, { parallel, speed });
    expect(broken).toBe('[]');
    // Runs that all succeed, or all fail, show little.
    for (const status of ['SUCCEEDED', 'FAILED'])
      expect(ends.filter((end) => end === status).length).toBeGreaterThan(scenarios.length / 20);
  },
);

/** True for one window with few waits. */
function isShort({ scenario: { report, platform, exports, s3, bus } }: NumberedScenario): boolean {
  const waits = /times=(5|always)|status=5|reset=|hang|retry_after|trickle|stall/;
  const windows = exports.map(({ fields }) => fields.end_date).filter((end) => end !== THREE_WINDOWS);
  const isSimple = exports.length === 1 && windows.length === 1 && s3.length === 0 && bus === 0;
  return isSimple && report.secondsToReady <= 60 && platform.every((fault) => !waits.test(fault));
}
