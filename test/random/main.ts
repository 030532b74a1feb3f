import { parseArgs } from 'node:util';
import { type Outcome, runAll } from './lane.ts';
import { scenarios } from './scenario.ts';

// npm run test:random -- [--runs 1000] [--seed 1] [--run 17] [--lanes 3] [--speed 1000] [--ranges]
// `--run` replays one run of the seed alone, as often as `--runs` says.

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    run: { type: 'string' },
    lanes: { type: 'string', default: '3' },
    speed: { type: 'string' },
    ranges: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const runs = chosen();
const ends = new Map<string, number>();
const failed: number[] = [];
let heard = 0;

const { lanes, ranges } = values;
// A turn of a range's is 22 s, of which a machine needs to see each.
const speed = values.speed ?? (ranges ? '25' : '1000');

await runAll(runs, { lanes: Number(lanes), speed: Number(speed), ranges }, (outcome) => {
  heard += 1;
  count(outcome);
  if (outcome.broken.length > 0) tell(outcome);
  else if (heard % 100 === 0) console.error(`${heard} of ${runs.length} runs`);
});
console.log(`${runs.length} runs of seed ${seed}; their executions ended:`);
for (const [end, times] of [...ends].sort((a, b) => b[1] - a[1])) console.log(`  ${end}: ${times}`);
console.log(failed.length === 0 ? 'P1 to P6 held in all.' : `Runs that broke a promise: ${failed}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function chosen() {
  if (values.run === undefined)
    return scenarios(seed, Number(values.runs ?? 1000)).map((scenario, index) => ({ index, scenario }));
  const index = Number(values.run);
  const [scenario] = scenarios(seed, index + 1).slice(index);
  if (!scenario) throw new RangeError(`There is no run ${values.run}`);
  return Array.from({ length: Number(values.runs ?? 1) }, (_, time) => ({
    index: index + time * 1e6,
    scenario,
  }));
}

function count({ played }: Outcome): void {
  for (const { status, error } of played.faulty.ended) {
    const end = [status ?? 'never', error].filter(Boolean).join(' ');
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
}

function tell({ index, scenario, broken }: Outcome): void {
  failed.push(index);
  console.log(`Run ${index} of seed ${seed}: npm run test:random -- --seed ${seed} --run ${index}`);
  console.log(JSON.stringify(scenario));
  for (const line of broken) console.log(`  ${line}`);
}
