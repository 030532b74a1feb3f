import { execFileSync } from 'node:child_process';
import { mkdtempDisposableSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleFunctions } from '../../infra/constructs/bundle.ts';

/** Prints the ms from the start of the process to the first line of the handler. Like Lambda, it imports the bundle. */
const MEASURE = `
const { handler } = await import(process.argv[1]);
process.stdout.write(String(performance.now()));
if (typeof handler !== 'function') process.exitCode = 1;`;

const ROUNDS = 15;

/**
 * Measures how long each function takes to load, compared with an empty handler. The empty handler runs just before each function,
 * so that a busy machine slows both.
 *
 * @returns a table of medians
 */
export function benchCold(): string {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bench-cold-'));
  bundleFunctions(folder.path);
  const functions = readdirSync(folder.path).map((name) => ({ name, samples: [] as number[] }));
  const empty = join(folder.path, 'empty.cjs');
  writeFileSync(empty, 'exports.handler = async () => {};');
  const empties: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    process.stderr.write(`round ${round} of ${ROUNDS}\r`);
    for (const { name, samples } of functions) {
      const base = millisecondsToHandler(empty);
      empties.push(base);
      samples.push(millisecondsToHandler(join(folder.path, name, 'index.cjs')) - base);
    }
  }
  const lines = functions.map(({ name, samples }) => {
    const kilobytes = (statSync(join(folder.path, name, 'step.cjs')).size / 1000).toFixed(0);
    return `${name.padEnd(18)} +${median(samples).toFixed(0)} ms, ${kilobytes} kB`;
  });
  return [`an empty handler    ${median(empties).toFixed(0)} ms`, ...lines].join('\n');
}

/** Without this process's environment, where a cache of compiled code would hide most of the time. */
function millisecondsToHandler(file: string): number {
  const options = ['--input-type=module', '--eval', MEASURE, file];
  return Number(execFileSync(process.execPath, options, { env: {}, encoding: 'utf8' }));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
