import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { commands, missing } from './copy/commands.ts';
import { contenders } from './copy/contenders.ts';
import { type Sample, type Servers, startServers, TRANSPORTS, type Transport } from './copy/run.ts';
import { type Row, summarize, table } from './copy/table.ts';

const ALL = { ...contenders, ...commands };

interface Options {
  readonly sizes: string[];
  readonly oursSizes: string[];
  readonly transports: Transport[];
  readonly contenders: string[];
  readonly rounds: number;
  readonly json: string;
}

const program = new Command('npm run bench --').description(
  'Measures on this machine, between servers on 127.0.0.1.',
);
program
  .command('copy')
  .description('Copies a JSON file from a storage host to S3, by us and by what people use instead.')
  .option('--sizes <list>', 'of the file, as 10MB or 2GB', list(/^[\d.]+(MB|GB)$/), ['10MB', '200MB', '2GB'])
  .option('--ours-sizes <list>', 'at which ours is measured alone, for its memory', list(/^[\d.]+(MB|GB)$/), [
    '8GB',
  ])
  .option('--transports <list>', TRANSPORTS.join(' or '), list(/^(http|tls)$/), [...TRANSPORTS])
  .option(
    '--contenders <list>',
    'any of those below',
    list(new RegExp(`^(${Object.keys(ALL).join('|')})$`)),
    Object.keys(ALL),
  )
  .option('--rounds <n>', 'of which the median is shown', positive, 5)
  .option('--json <file>', 'takes every sample', 'reports/bench-copy.json')
  .addHelpText('after', () => {
    const width = Math.max(...Object.keys(ALL).map((name) => name.length));
    const lines = Object.entries(ALL).map(([name, { what }]) => `  ${name.padEnd(width)}  ${what}`);
    return `\nContenders:\n${lines.join('\n')}\n\nEach round has every contender once, so that whatever else the machine does hits all alike.\n`;
  })
  .action(benchCopy);
await program.parseAsync();

async function benchCopy({ sizes, oursSizes, transports, contenders: named, rounds, json }: Options) {
  const present = named.filter((name) => tellIfMissing(name));
  const rows: Row[] = [];
  for (const transport of transports) {
    using servers = await startServers(transport);
    const plan = [
      ...sizes.map((size) => ({ size, names: present })),
      ...oursSizes.map((size) => ({ size, names: ['ours'] })),
    ];
    for (const { size, names } of plan) {
      const measured = await measure(servers, { transport, size, names, rounds });
      console.log(`\n${table(measured)}`);
      rows.push(...measured);
    }
  }
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  mkdirSync(dirname(json), { recursive: true });
  const results = rows.map((row) => ({ ...summarize(row), samples: row.samples }));
  writeFileSync(json, `${JSON.stringify({ ...machine, results }, null, 2)}\n`);
}

async function measure(
  servers: Servers,
  { transport, size, names, rounds }: { transport: Transport; size: string; names: string[]; rounds: number },
): Promise<Row[]> {
  const rows = names.map((contender) => ({ transport, size, contender, samples: [] as Sample[] }));
  for (let round = 1; round <= rounds; round++) {
    for (const { contender, samples } of rows) {
      samples.push(await servers.measure(contender, bytesOf(size)));
      process.stderr.write(`${transport} ${size} round ${round}: ${contender.padEnd(24)}\r`);
    }
  }
  return rows;
}

function tellIfMissing(name: string): boolean {
  const absent = missing(name);
  if (absent.length > 0) console.log(`${name}: not installed (${absent.join(', ')})`);
  return absent.length === 0;
}

function bytesOf(size: string): number {
  return Number.parseFloat(size) * (size.endsWith('GB') ? 1e9 : 1e6);
}

function list(element: RegExp): (text: string) => string[] {
  return (text) => {
    const wrong = text.split(',').find((one) => !element.test(one));
    if (wrong !== undefined) throw new InvalidArgumentError(`It does not take ${wrong}.`);
    return text.split(',');
  };
}

function positive(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It takes a number from 1.');
  return Number(text);
}
