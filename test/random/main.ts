import { Command, InvalidArgumentError } from 'commander';
import { type Outcome, runAll } from './run-scenarios.ts';
import { scenarios } from './scenario.ts';

interface Options {
  readonly runs?: number;
  readonly seed: number;
  readonly run?: number;
  readonly lanes: number;
  readonly speed?: number;
  readonly ranges: boolean;
}

const options = new Command('npm run test:random --')
  .description('Exports in which random things go wrong, held to what must be kept whatever happens.')
  .option('--runs <n>', 'how many (default: 1000; with --run 1)', count(1))
  .option('--seed <n>', 'what they are drawn from', count(0), Date.now() % 2 ** 31)
  .option('--run <n>', 'one run of the seed alone, as often as --runs says', count(0))
  .option('--lanes <n>', 'at a time', count(1), 3)
  .option('--speed <n>', 'times faster than real time (default: 1000; with --ranges 25)', count(1))
  .option('--ranges', 'divide the files', false)
  .parse()
  .opts<Options>();
const { seed, lanes, ranges } = options;
const runs = chosen();
const ends = new Map<string, number>();
const failed: number[] = [];
let heard = 0;

// A turn of a range's is 22 s, of which a machine needs to see each.
const speed = options.speed ?? (ranges ? 25 : 1000);

await runAll(runs, { lanes, speed, ranges }, (outcome) => {
  heard += 1;
  countEnds(outcome);
  if (outcome.broken.length > 0) tell(outcome);
  else if (heard % 100 === 0) console.error(`${heard} of ${runs.length} runs`);
});
console.log(`${runs.length} runs of seed ${seed}; their executions ended:`);
for (const [end, times] of [...ends].sort((a, b) => b[1] - a[1])) console.log(`  ${end}: ${times}`);
console.log(failed.length === 0 ? 'P1 to P6 held in all.' : `Runs that broke a promise: ${failed}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function chosen() {
  const { run: index, runs } = options;
  if (index === undefined)
    return scenarios(seed, runs ?? 1000).map((scenario, index) => ({ index, scenario }));
  const [scenario] = scenarios(seed, index + 1).slice(index);
  if (!scenario) throw new RangeError(`There is no run ${index}`);
  return Array.from({ length: runs ?? 1 }, (_, time) => ({ index: index + time * 1e6, scenario }));
}

/** Without it, no runs at all would be told as runs in which all was kept. */
function count(least: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,10}$/.test(text) && Number(text) >= least) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${least} on.`);
  };
}

function countEnds({ played }: Outcome): void {
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
