import { Command } from 'commander';
import { historiesOf } from './history.ts';
import { tellHistory } from './tell-history.ts';

interface Options {
  readonly runs: number;
  readonly seed: number;
  readonly answers?: true;
}

const { runs, seed, answers } = new Command('npm run test:histories --')
  .description('Tells random histories of an export, for a reader who says what each day is.')
  .option('--runs <n>', 'number of histories', Number, 20)
  .option('--seed <n>', 'seed of the histories', Number, Date.now() % 2 ** 31)
  .option('--answers', 'adds what `missing` says of each day')
  .parse()
  .opts<Options>();

for (const [at, history] of historiesOf(seed, runs).entries()) {
  const { story, states } = await tellHistory(history);
  console.log([`History ${at + 1}`, '', ...story, ...(answers ? ['', ...states] : []), ''].join('\n'));
}
