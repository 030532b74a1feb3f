import { expect, it } from 'vitest';
import { type Pace, type Run, runAll } from './run-scenarios.ts';
import { type Scenario, scenarios } from './scenario.ts';

/** Another seed, or thousands of runs: `npm run test:random`. */
const SEED = 1;
const RUNS = 180;

/**
 * At 1000 times the speed, 10 s are as long as a busy machine needs for one step, and a GET that comes too soon would come
 * late enough. At 100 times they are told apart, and only runs that wait for little are fit for it.
 */
const SLOWER = { speed: 100, runs: 20 };

/** Files in ranges, each in a turn of 22 s: a machine that is late for one lets it go by. */
const IN_RANGES = { speed: 25, runs: 6 };

const all = scenarios(SEED, 10 * RUNS).map((scenario, index) => ({ index, scenario }));

it.each<Pace & { runs: Run[] }>([
  { lanes: 3, speed: 1000, runs: all.slice(0, RUNS) },
  {
    lanes: 3,
    speed: SLOWER.speed,
    runs: all.filter(({ scenario }) => isShort(scenario)).slice(0, SLOWER.runs),
  },
  {
    ...{ lanes: 3, speed: IN_RANGES.speed, ranges: true },
    runs: all.filter(({ scenario }) => isLarge(scenario)).slice(0, IN_RANGES.runs),
  },
])('P1 to P6 hold in exports with random faults, $speed times faster', { timeout: 600_000 }, async ({
  runs,
  ...pace
}) => {
  const told: unknown[] = [];
  const ends: unknown[] = [];
  await runAll(runs, pace, ({ index, scenario, played, broken }) => {
    ends.push(...played.faulty.ended.map(({ status }) => status));
    const replay = `npm run test:random -- --seed ${SEED} --run ${index} --speed ${pace.speed}${pace.ranges ? ' --ranges' : ''}`;
    if (broken.length > 0) told.push({ replay, broken, scenario });
  });
  expect(JSON.stringify(told, undefined, 2)).toBe('[]');
  // A run in which nothing went wrong, or nothing could be delivered, shows little.
  for (const status of ['SUCCEEDED', 'FAILED'])
    expect(ends.filter((end) => end === status).length).toBeGreaterThan(runs.length / 20);
});

function isShort({ report, platform, exports, s3, bus }: Scenario): boolean {
  const waits = /times=(5|always)|status=5|reset=|hang|retry_after|trickle|stall/;
  const windows = exports.map(({ fields }) => fields.end_date).filter((end) => end !== '2026-05-01');
  const isSimple = exports.length === 1 && windows.length === 1 && s3.length === 0 && bus === 0;
  return isSimple && report.secondsToReady <= 60 && platform.every((fault) => !waits.test(fault));
}

/** One file, in the middle of whose ranges something goes wrong. */
function isLarge(scenario: Scenario): boolean {
  const isReport = scenario.exports[0]?.fields.kind === 'report';
  return (
    isReport && isShort({ ...scenario, s3: [] }) && /storage .*nth=[2-4]/.test(scenario.platform.join('\n'))
  );
}
