import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { type Sample, startServers, TRANSPORTS, type Transport } from './copy/run.ts';
import { benchLarge } from './curate/large.ts';
import { benchWorkflow } from './curate/workflow.ts';
import { formatTable, median } from './figures.ts';
import { benchLocal } from './local.ts';
import { benchPage } from './page.ts';
import { benchTables } from './tables.ts';

const CONTENDERS = ['raw', 'ours', 'lib-storage', 'against'];

interface Options {
  readonly sizes: string[];
  readonly oursSizes: string[];
  readonly transports: Transport[];
  readonly contenders: string[];
  readonly rounds: number;
  readonly against?: string;
}

const program = new Command('npm run bench --').description(
  'Measures on this machine, between servers on 127.0.0.1.',
);
program
  .command('copy')
  .description('Copies a JSON file from a storage host to S3. Each round runs every contender once.')
  .option('--sizes <list>', 'sizes of the file, such as 10MB or 2GB', list(/^[\d.]+(MB|GB)$/), [
    '200MB',
    '2GB',
  ])
  .option('--ours-sizes <list>', 'sizes for ours alone, to see its memory', list(/^[\d.]+(MB|GB)$/), ['8GB'])
  .option('--transports <list>', TRANSPORTS.join(' or '), list(/^(http|tls)$/), [...TRANSPORTS])
  .option(
    '--contenders <list>',
    CONTENDERS.join(', '),
    list(new RegExp(`^(${CONTENDERS.join('|')})$`)),
    CONTENDERS,
  )
  .option('--rounds <n>', 'the table shows their median', positive, 5)
  .option('--against <dir>', 'another checkout to compare with')
  .action(benchCopy);
program
  .command('curate')
  .description(
    'Measures CurateReport: its part of each window of a workflow on this machine, and the step alone for a large report and a large month.',
  )
  .option('--size <bytes>', 'the size of the large report, such as 200MB', '1GB')
  .option(
    '--month-rows <n>',
    'rows of the month into which a day is merged; 15000000 are 1 GB',
    positive,
    15_000_000,
  )
  .action(async ({ size, monthRows }: { size: string; monthRows: number }) => {
    console.log(await benchWorkflow());
    console.log(await benchLarge(bytesOf(size), monthRows));
  });
program
  .command('local')
  .description('Runs the workflow on this machine. Measures the time to the first request, CPU and memory.')
  .option('--rounds <n>', 'the table shows their median', positive, 7)
  .option('--against <dir>', 'another checkout to compare with')
  .action(async ({ rounds, against }: { rounds: number; against?: string }) =>
    console.log(await benchLocal(checkoutsOf(against), rounds)),
  );
program
  .command('tables')
  .description('Exports two years of three accounts on this machine, and adds up the tables.')
  .option('--against <dir>', 'another checkout to compare with')
  .action(async ({ against }: { against?: string }) => console.log(await benchTables(checkoutsOf(against))));
program
  .command('page')
  .description(
    'Measures the page of two years of three accounts with five exports: time, CPU, memory and size.',
  )
  .option('--rounds <n>', 'the table shows their median', positive, 7)
  .option('--folder <dir>', 'keeps the exports there, and uses those of an earlier bench')
  .option('--against <dir>', 'another checkout to compare with')
  .action(async ({ rounds, folder, against }: { rounds: number; folder?: string; against?: string }) => {
    using temporary = mkdtempDisposableSync(join(tmpdir(), 'bench-page-'));
    const exports = folder === undefined ? temporary.path : resolve(folder);
    console.log(await benchPage(checkoutsOf(against), exports, rounds));
  });
await program.parseAsync();

async function benchCopy({ sizes, oursSizes, transports, contenders, rounds, against }: Options) {
  const names = contenders.filter((name) => name !== 'against' || against !== undefined);
  const plan = [
    ...sizes.map((size) => ({ size, names })),
    ...oursSizes.map((size) => ({ size, names: ['ours'] })),
  ];
  for (const transport of transports) {
    using servers = await startServers(transport, against && resolve(against));
    for (const { size, names } of plan) {
      const rows = names.map((contender) => ({ contender, samples: [] as Sample[] }));
      for (let round = 1; round <= rounds; round++) {
        for (const { contender, samples } of rows)
          samples.push(await servers.measure(contender, bytesOf(size)));
        process.stderr.write(`${transport} ${size}: round ${round}\r`);
      }
      console.log(`\n${summarize(`${transport} ${size}`, rows)}`);
    }
  }
}

/** Medians of all rounds, and the highest memory. The ratios compare medians of the same rounds. */
function summarize(what: string, rows: readonly { contender: string; samples: readonly Sample[] }[]): string {
  const figures = rows.map(({ contender, samples }) => {
    const cpuPerGb = samples.map(({ bytes, cpu }) => (cpu * 1e9) / bytes);
    return {
      contender,
      speed: median(samples.map(({ bytes, seconds }) => bytes / 1e6 / seconds)),
      cpu: median(cpuPerGb),
      leastCpu: Math.min(...cpuPerGb),
      rss: Math.max(...samples.map(({ rss }) => rss)) / 1e6,
    };
  });
  const references = figures.filter(({ contender }) => contender !== 'ours');
  const divided = references.map(({ contender }) => `÷ ${contender}`);
  const head = ['', '', 'MB/s', ...divided, 'CPU s/GB', 'least', ...divided, 'peak MB'];
  const lines = figures.map(({ contender, speed, cpu, leastCpu, rss }) => [
    ...[what, contender, speed.toFixed(0)],
    ...references.map((reference) => (speed / reference.speed).toFixed(2)),
    ...[cpu.toFixed(2), leastCpu.toFixed(2)],
    ...references.map((reference) => (cpu / reference.cpu).toFixed(2)),
    rss.toFixed(0),
  ]);
  return formatTable([head, ...lines], 2);
}

/** This checkout, and the one to compare with. */
function checkoutsOf(against: string | undefined): string[] {
  return ['.', against].flatMap((directory) => (directory === undefined ? [] : resolve(directory)));
}

function bytesOf(size: string): number {
  return Number.parseFloat(size) * (size.endsWith('GB') ? 1e9 : 1e6);
}

function list(element: RegExp): (text: string) => string[] {
  return (text) => {
    const wrong = text.split(',').find((one) => !element.test(one));
    if (wrong !== undefined) throw new InvalidArgumentError(`${wrong} is not possible here.`);
    return text.split(',');
  };
}

function positive(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Give a number from 1.');
  return Number(text);
}
