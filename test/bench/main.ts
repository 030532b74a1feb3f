import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { benchAccounts } from './accounts.ts';
import { benchCopy } from './copy/copy.ts';
import { benchLarge } from './curate/large.ts';
import { benchPage } from './page.ts';

const program = new Command('npm run bench --').description(
  'Measures on this machine, between servers on 127.0.0.1.',
);
program
  .command('copy')
  .description('Copies a JSON file to S3, over http and TLS, beside a raw pipe and lib-storage.')
  .option('--sizes <list>', 'sizes of the file, such as 10MB,2GB', listOfBytes, [200e6, 2e9])
  .option('--rounds <n>', 'the table shows their median', positive, 5)
  .action(({ sizes, rounds }: { sizes: number[]; rounds: number }) => benchCopy(sizes, rounds));
program
  .command('curate')
  .description('Measures CurateReport for a large report and a large month.')
  .option('--size <bytes>', 'the size of the large report, such as 200MB', bytesOf, 1e9)
  .option(
    '--month-rows <n>',
    'rows of the month into which a day is merged; 15000000 are 1 GB',
    positive,
    15_000_000,
  )
  .option('--rounds <n>', 'the lines of reports show their medians', positive, 5)
  .action(({ size, monthRows, rounds }: { size: number; monthRows: number; rounds: number }) =>
    benchLarge(size, monthRows, rounds),
  );
program
  .command('accounts')
  .description('Synthesizes three daily exports of many accounts: resources, bytes, executions and cost.')
  .action(() => benchAccounts([5, 50, 200]));
program
  .command('page')
  .description('Measures the page of one year and of two of three accounts with five exports.')
  .option('--rounds <n>', 'the table shows their median', positive, 7)
  .option('--folder <dir>', 'keeps the exports there, and uses the exports of an earlier bench')
  .action(async ({ rounds, folder }: { rounds: number; folder?: string }) => {
    using temporary = mkdtempDisposableSync(join(tmpdir(), 'bench-page-'));
    await benchPage(folder === undefined ? temporary.path : resolve(folder), rounds);
  });
await program.parseAsync();

function listOfBytes(text: string): number[] {
  return text.split(',').map(bytesOf);
}

function bytesOf(text: string): number {
  const [, number, unit] = /^(\d+)(MB|GB)$/.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError('Give a size such as 200MB or 2GB.');
  return Number(number) * (unit === 'GB' ? 1e9 : 1e6);
}

function positive(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('Give a number from 1.');
  return Number(text);
}
