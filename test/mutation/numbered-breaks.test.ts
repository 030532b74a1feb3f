import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { expect, it } from 'vitest';
import { BREAKS, brokenBy } from './numbered-breaks.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const read = (file: string) => readFile(join(ROOT, file), 'utf8');

it.each(BREAKS)('"$broken" ($number) is an edit of code that is there, and leaves a program', async (one) => {
  const text = await read(one.file);
  await expect(transform(brokenBy(one, text), { loader: 'ts' })).resolves.toHaveProperty('code');
});

it('each of the forty faults has a break', () => {
  const numbers = new Set(BREAKS.map(({ number }) => number));
  expect([...numbers].sort((one, other) => one - other)).toEqual(
    Array.from({ length: 40 }, (_, at) => at + 1),
  );
});

it.each(BREAKS)('"$broken" is to be noticed by tests that are there, and that name $number', async ({
  number,
  tests,
}) => {
  for (const file of tests) {
    const named = new RegExp(`['\`](\\d+, )*${number}(, \\d+)*: |\\['${number}'`);
    expect(await read(file)).toMatch(named);
  }
});

it('the command breaks nothing where it is asked for a fault that there is not', () => {
  const command = join(ROOT, 'test/mutation/numbered.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, '12', '41', 'x'], {
    encoding: 'utf8',
  });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toBe('error: nothing is broken for 41, x; give numbers from 1 to 40\n');
});
