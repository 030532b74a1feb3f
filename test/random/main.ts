import { Command, InvalidArgumentError } from 'commander';
import { type Outcome, runScenarios } from './run-scenarios.ts';
import { scenariosOf } from './scenario.ts';

interface Options {
  readonly runs?: number;
  readonly seed: number;
  readonly run?: number;
  readonly parallel: number;
  readonly speed: number;
}

const { seed, run, runs, parallel, speed } = new Command('npm run test:random --')
  .description('Runs exports with random faults, and checks the promises in all of them.')
  .option('--runs <n>', 'number of runs (default: 1000; with --run 1)', parseCount(1))
  .option('--seed <n>', 'seed of the random faults', parseCount(0), Date.now() % 2 ** 31)
  .option('--run <n>', 'only this run of the seed, as often as --runs says', parseCount(0))
  .option('--parallel <n>', 'runs at the same time', parseCount(1), 3)
  .option('--speed <n>', 'times faster than real time', parseCount(1), 1000)
  .parse()
  .opts<Options>();
const scenarios = chooseScenarios();
const ends = new Map<string, number>();
const failed: number[] = [];
let done = 0;

await runScenarios(scenarios, { parallel, speed }, (outcome) => {
  done += 1;
  countEnds(outcome);
  if (outcome.broken.length > 0) printBroken(outcome);
  else if (done % 100 === 0) console.error(`${done} of ${scenarios.length} runs`);
});
console.log(`Runs of seed ${seed}: ${scenarios.length}. Their executions ended:`);
for (const [end, times] of [...ends].sort((a, b) => b[1] - a[1])) console.log(`  ${end}: ${times}`);
console.log(failed.length === 0 ? 'P1 to P7 held in all runs.' : `Runs that broke a promise: ${failed}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function chooseScenarios() {
  if (run === undefined) return scenariosOf(seed, runs ?? 1000);
  const [chosen] = scenariosOf(seed, run + 1).slice(run);
  if (!chosen) throw new RangeError(`There is no run ${run}`);
  return Array.from({ length: runs ?? 1 }, (_, time) => ({ ...chosen, index: run + time * 1e6 }));
}

/** Refuses 0: no run at all would look like runs in which all promises held. */
function parseCount(least: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,10}$/.test(text) && Number(text) >= least) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${least} on.`);
  };
}

function countEnds({ ended }: Outcome): void {
  for (const { status, error } of ended) {
    const end = [status ?? 'never', error].filter(Boolean).join(' ');
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
}

function printBroken({ index, scenario, broken }: Outcome): void {
  failed.push(index);
  console.log(`Run ${index} of seed ${seed}: npm run test:random -- --seed ${seed} --run ${index}`);
  console.log(JSON.stringify(scenario));
  for (const line of broken) console.log(`  ${line}`);
}
