import { execFileSync } from 'node:child_process';
import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Taken } from '../copy/measure-command.ts';
import { median } from '../copy/table.ts';
import { writeReport } from './report.ts';
import { measureStep } from './step.ts';

const CONTENDERS = ['ours', 'javascript'] as const;

interface Size {
  readonly name: string;
  readonly bytes: number;
}

/**
 * Turns reports of these sizes into Parquet files, one per day. Each round runs every contender once, in a process of its
 * own, so that a busy machine slows all of them.
 *
 * @returns a table of medians; the memory is the highest of all rounds
 */
export async function benchCurate(sizes: readonly Size[], rounds: number): Promise<string> {
  const lines = [await measureStep(), ''];
  lines.push('                        CPU s   ÷ javascript      wall s    peak MB');
  for (const { name, bytes } of sizes) {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'bench-curate-'));
    const path = join(folder.path, 'report.json');
    await writeReport(path, bytes);
    const rows = CONTENDERS.map((contender) => ({ contender, samples: [] as Taken[] }));
    for (let round = 1; round <= rounds; round++) {
      process.stderr.write(`${name}: round ${round} of ${rounds}\r`);
      for (const { contender, samples } of rows) samples.push(convert(contender, path));
    }
    const cpuOf = (samples: readonly Taken[]) => median(samples.map(({ cpu }) => cpu));
    const reference = cpuOf(rows.at(-1)?.samples ?? []);
    for (const { contender, samples } of rows) {
      const cpu = cpuOf(samples);
      const wall = median(samples.map(({ seconds }) => seconds));
      const rss = Math.max(...samples.map((sample) => sample.rss)) / 1e6;
      const figures = [cpu.toFixed(2), (cpu / reference).toFixed(2), wall.toFixed(2), rss.toFixed(0)];
      lines.push(
        `${name.padEnd(7)}${contender.padEnd(12)}${figures.map((figure) => figure.padStart(10)).join('  ')}`,
      );
    }
  }
  return lines.join('\n');
}

function convert(contender: string, path: string): Taken {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bench-curate-'));
  const program = join(import.meta.dirname, 'contender.ts');
  // A file of 1 GB leaves 4 million rows in the memory of JavaScript.
  const command = ['--max-old-space-size=12000', program, contender, path, folder.path];
  return JSON.parse(execFileSync(process.execPath, command, { encoding: 'utf8' }));
}
