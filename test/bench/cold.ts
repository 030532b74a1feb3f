import { execFileSync } from 'node:child_process';
import { mkdtempDisposableSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleFunctions } from '../../infra/constructs/bundle.ts';

/** Prints the ms from the start of the process to the first line of the handler, and its CPU time. Like Lambda, imports the bundle. */
const MEASURE = `
await import(process.argv[1]);
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ time: performance.now(), cpu: (user + system) / 1000 }));`;

const ROUNDS = 15;

/** Milliseconds. */
interface Sample {
  readonly time: number;
  readonly cpu: number;
}

/**
 * Measures how long each function takes to load, compared with an empty handler. The empty handler runs just before each function,
 * so that a busy machine slows both. The CPU time changes less than the time on such a machine.
 *
 * @returns a table of medians
 */
export function benchCold(): string {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bench-cold-'));
  bundleFunctions(folder.path);
  const functions = readdirSync(folder.path).map((name) => ({ name, samples: [] as Sample[] }));
  const empty = join(folder.path, 'empty.cjs');
  writeFileSync(empty, 'exports.handler = async () => {};');
  const empties: Sample[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    process.stderr.write(`round ${round} of ${ROUNDS}\r`);
    for (const { name, samples } of functions) {
      const base = loadHandler(empty);
      const { time, cpu } = loadHandler(join(folder.path, name, 'index.cjs'));
      empties.push(base);
      samples.push({ time: time - base.time, cpu: cpu - base.cpu });
    }
  }
  const lines = functions.map(({ name, samples }) => {
    const kilobytes = statSync(join(folder.path, name, 'step.cjs')).size / 1000;
    return `${name.padEnd(18)} +${medians(samples)}, ${kilobytes.toFixed(0)} kB`;
  });
  return [`an empty handler    ${medians(empties)}`, ...lines].join('\n');
}

/** Without this process's environment, where a cache of compiled code would hide most of the time. */
function loadHandler(file: string): Sample {
  const options = ['--input-type=module', '--eval', MEASURE, file];
  return JSON.parse(execFileSync(process.execPath, options, { env: {}, encoding: 'utf8' }));
}

function medians(samples: readonly Sample[]): string {
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]?.toFixed(0);
  return `${median(samples.map(({ time }) => time))} ms, CPU ${median(samples.map(({ cpu }) => cpu))} ms`;
}
