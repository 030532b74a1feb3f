import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { contenders } from './copy/contenders.ts';
import { startServers, type Transport } from './copy/run.ts';
import { type Row, summarize, table } from './copy/table.ts';

// npm run bench -- copy [--sizes 10MB,200MB] [--transports http] [--rounds 3] [--contenders ours,raw] [--json FILE]
// Rounds are interleaved, every contender once in each, so that whatever else the machine does hits all alike.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sizes: { type: 'string', default: '10MB,200MB,2GB' },
    transports: { type: 'string', default: 'http,tls' },
    rounds: { type: 'string', default: '5' },
    contenders: { type: 'string', default: Object.keys(contenders).join(';') },
    json: { type: 'string', default: 'reports/bench-copy.json' },
  },
});
if (positionals[0] !== 'copy') throw new Error('Usage: bench copy [--sizes 10MB,2GB] [--rounds N]');

const rows: Row[] = [];
for (const transport of values.transports.split(',') as Transport[]) {
  using servers = await startServers(transport);
  for (const size of values.sizes.split(',')) {
    const samples = new Map(values.contenders.split(';').map((name) => [name, [] as Row['samples']]));
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const [name, taken] of samples) {
        taken.push(await servers.measure(name, bytesOf(size)));
        process.stderr.write(`${transport} ${size} round ${round + 1}: ${name}        \r`);
      }
    }
    const measured = [...samples].map(([contender, taken]) => ({
      transport,
      size,
      contender,
      samples: taken,
    }));
    console.log(`\n${table(measured)}`);
    rows.push(...measured);
  }
}
const report = {
  node: process.version,
  cpu: cpus()[0]?.model,
  cores: cpus().length,
  results: rows.map(summarize),
};
mkdirSync(dirname(values.json), { recursive: true });
writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);

function bytesOf(size: string): number {
  const [, digits, unit = ''] = /^([\d.]+)(MB|GB)$/.exec(size) ?? [];
  if (digits === undefined) throw new Error(`A size is like 10MB or 2GB, not ${size}`);
  return Number(digits) * (unit === 'GB' ? 1e9 : 1e6);
}
