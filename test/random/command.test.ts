import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

it.each([
  [['--runs', 'x'], "option '--runs <n>' argument 'x' is invalid"],
  [['--runs', '0'], "option '--runs <n>' argument '0' is invalid"],
  [['--seed', '1.5'], "option '--seed <n>' argument '1.5' is invalid"],
  [['--rums', '5'], "unknown option '--rums'"],
])('test:random %j runs nothing and fails', (args, fault) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain(fault);
  expect(stderr).not.toContain('    at ');
});
