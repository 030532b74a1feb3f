import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { expect, it } from 'vitest';
import { addDays, daysOf } from '../../../../functions/workflow/request/dates.ts';
import { newestChange } from '../../../../infra/lab/local/s3/store.ts';
import { endOf, MAIN } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const ROOT = new URL('../../../../', import.meta.url);
const README = readFileSync(new URL('README.md', ROOT), 'utf8');

/** The lines of a section's first block of commands. */
function commandsOf(section: string): string[] {
  const [, rest = ''] = README.split(`\n## ${section}\n`);
  return /```sh\n([^`]*)```/.exec(rest)?.[1]?.split('\n') ?? [];
}

/** Runs a command line of the README as a shell does. */
async function run(line: string, cwd: string, input = '') {
  const command = line
    .replace('npm start --', 'npm run export -- run --local')
    .replace('npm run export --', `'${process.execPath}' '${MAIN}'`);
  const child = spawn('sh', ['-c', command], { cwd });
  child.stdin.end(input);
  const { status, stdout, stderr } = await endOf(child);
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringContaining('error') });
  return { stdout, stderr };
}

it("the README's steps show each day of overlapping runs once, and leave no day missing", async () => {
  expect(commandsOf('Run it here')[0]).toBe('npm ci && npm start');
  const [, fast = ''] = /\(`(npm start -- --speed \d+)`/.exec(README) ?? [];
  const [second = '', query = ''] = commandsOf('Your first query');
  const cwd = temporaryDirectory();
  await run(fast, cwd);
  await run(second, cwd);
  // Runs that are faster than real time begin in the past.
  expect(await newestChange(join(cwd, 'out'))).toBeLessThanOrEqual(Date.now());
  const { stdout, stderr } = await run(`${query} --csv`, cwd);
  expect(stderr).not.toContain('has no days');
  const rows = stdout.trim().split('\r\n').slice(1);
  const days = [...new Set(rows.map((row) => row.slice(0, 'YYYY-MM-DD'.length)))];
  // 15 at midnight.
  const [start_date = '', { length }] = [days[0], days];
  expect(length).toBeGreaterThanOrEqual(14);
  const end_date = addDays(start_date, length);
  expect(days).toEqual(daysOf({ start_date, end_date }));
  expect(new Set(rows.map((row) => row.replace(/,[^,]*$/, ''))).size).toBe(rows.length);
  // A run that is faster than real time may begin before midnight.
  const range = `--from ${start_date} --to ${end_date}`;
  const missing = await run(`npm run export -- missing example --local --json ${range}`, cwd);
  expect(JSON.parse(missing.stdout)).toMatchObject({ days: length, ranges: [] });
});

it('git ignores the files that the README asks for, and only their owner reads the credential', async () => {
  const ignored = readFileSync(new URL('.gitignore', ROOT), 'utf8').split('\n');
  const written = new Set(README.match(/\b(credential|request|example)\.(json|csv)\b/g));
  expect(written.size).toBe(3);
  const isIgnored = (file: string) => ignored.some((pattern) => matchesGlob(file, pattern));
  expect([...written].filter((file) => !isIgnored(file))).toEqual([]);
  const cwd = temporaryDirectory();
  await run(commandsOf('Your own request')[0] ?? '', cwd, '{}\n');
  expect(statSync(join(cwd, 'credential.json')).mode & 0o777).toBe(0o600);
});
