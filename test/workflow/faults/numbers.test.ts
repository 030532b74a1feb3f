import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const TESTS = fileURLToPath(new URL('../..', import.meta.url));

/** What goes wrong, and has tests whose names begin with its number. */
const FAULTS: Readonly<Record<number, string>> = {
  1: 'a refused token',
  2: 'a revoked client',
  3: 'a dead refresh token',
  4: 'a scope that is missing',
  5: 'a request that is not valid',
  6: 'a revision that is not known',
  7: 'a platform that is down',
  8: 'a platform that throttles',
  9: 'a server that does not answer',
  10: 'a lost answer to POST',
  11: 'an answer that cannot be read',
  12: 'a report that is stuck',
  13: 'a report that is not there',
  14: 'a status that is not known',
  15: 'a report without a URL',
  16: 'a download that is reset',
  17: 'a download that is cut short',
  18: 'a file that changes',
  19: 'a URL that has expired',
  20: 'a storage host that is down',
  21: 'a URL that must not be fetched',
  22: 'a file that is too large',
  23: 'a file without rows',
  24: 'a file that is encoded',
  25: 'an S3 that is down',
  26: 'a checksum that differs',
  27: 'an S3 that refuses',
  28: 'a function that is killed',
  29: 'exports that overlap',
  30: 'a redrive',
  31: 'a manifest or an event that cannot be written',
  32: 'a credential that cannot be used',
  33: 'a Secrets Manager that is down or refuses',
  34: 'an odd lifetime of a token',
  35: 'clocks that differ',
  36: 'an input that is not valid',
  37: 'a dimension of the legacy API',
  38: 'a metric that is not documented',
  39: 'an API key near its end',
  40: 'many exports at once',
};

/** The numbers that names of tests begin with: `'16: …'`, or the first cell of a row where the name is `'%s: …'`. */
async function numbersIn(files: string): Promise<Set<number>> {
  const numbers = new Set<number>();
  for await (const file of glob(files, { cwd: TESTS })) {
    const text = await readFile(join(TESTS, file), 'utf8');
    const named = text.matchAll(/\(\s*'(\d+): /g);
    const rows = text.includes("'%s: ") ? text.matchAll(/^ {2}\['(\d+)', /gm) : [];
    for (const [, number] of [...named, ...rows]) numbers.add(Number(number));
  }
  return numbers;
}

it('each fault has a test that a whole run, or a whole step, goes through', async () => {
  const tested = await numbersIn('workflow/**/*.test.ts');
  const untested = Object.entries(FAULTS).filter(([number]) => !tested.has(Number(number)));
  expect(untested).toEqual([]);
});

it('no test begins with a number that no fault has', async () => {
  const tested = await numbersIn('workflow/faults/*.test.ts');
  expect([...tested].filter((number) => FAULTS[number] === undefined)).toEqual([]);
});
