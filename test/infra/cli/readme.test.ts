import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { MAIN } from '../../support/cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const README = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');

/** Runs a command line of the README as a shell does. */
async function run(line: string, cwd: string) {
  const command = line
    .replace('npm start --', 'npm run export -- run --local')
    .replace('npm run export --', `'${process.execPath}' '${MAIN}'`);
  const child = spawn('sh', ['-c', command], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('error')]);
  return { stdout, stderr };
}

it("the commands of the README's first query run, and show each day of overlapping runs once", async () => {
  const [, section = ''] = README.split('\n## Your first query\n');
  const [, block = ''] = section.split(/```(?:sh)?\n/);
  const [first = '', second = '', query = ''] = block.split('\n');
  const cwd = temporaryDirectory();
  await run(first, cwd);
  // The first run was faster than real time.
  expect((await run(second, cwd)).stderr).toContain('has times in the future');
  const rows = (await run(`${query} --csv`, cwd)).stdout.trim().split('\r\n').slice(1);
  const days = new Set(rows.map((row) => row.slice(0, '2026-10-01'.length)));
  expect([...days]).toEqual(Array.from({ length: 11 }, (_, at) => `2026-10-${`${at + 1}`.padStart(2, '0')}`));
  expect(new Set(rows.map((row) => row.replace(/,[^,]*$/, ''))).size).toBe(rows.length);
});
