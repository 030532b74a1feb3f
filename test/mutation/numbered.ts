import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BREAKS, type Break, brokenBy } from './numbered-breaks.ts';

// `npm run mutate:numbered -- [numbers]`: breaks, one at a time, what handles each numbered fault, and shows that a test of
// that number notices. Works in a copy of the working tree; exits 1 where a break stays unnoticed.

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** What of Vitest's JSON report is looked at. */
interface TestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** What became of the tests of a number. */
interface Outcome {
  /** One failed, all passed, or none was run. */
  readonly color: 'red' | 'green' | 'not run';
  readonly failed: readonly string[];
}

/** The working tree as it is, with what is not committed, and its packages. */
async function copyTree(to: string): Promise<void> {
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    ...{ cwd: ROOT, maxBuffer: 64 * 1024 * 1024 },
  });
  for (const file of listed.stdout.split('\0').filter(Boolean)) {
    const gone = (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    };
    await cp(join(ROOT, file), join(to, file), { recursive: true }).catch(gone);
  }
  // A folder of its own, because the tests keep a cache in it.
  await mkdir(join(to, 'node_modules'));
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (name !== '.cache') await symlink(join(ROOT, 'node_modules', name), join(to, 'node_modules', name));
  }
}

/** The number may stand in a row of others: `1, 29: `. */
function patternOf(number: number): string {
  return `(^| )(\\d+, )*${number}(, \\d+)*: `;
}

async function runTests(
  tree: string,
  tests: readonly string[],
  numbers: readonly number[],
): Promise<Outcome> {
  const report = join(tree, 'numbered.json');
  await rm(report, { force: true });
  const pattern = numbers.map(patternOf).join('|');
  const options = ['--bail=1', '--reporter=json', `--outputFile=${report}`, '-t', pattern];
  await run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...tests, ...options], {
    ...{ cwd: tree, maxBuffer: 256 * 1024 * 1024 },
  }).catch(() => undefined); // Whether it failed, and where, is in its report.
  const { testResults } = JSON.parse(await readFile(report, 'utf8')) as TestReport;
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  // A break that does not even load says nothing about the tests.
  const failed = results.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
  if (failed.length > 0) return { color: 'red', failed };
  return { color: results.some(({ status }) => status === 'passed') ? 'green' : 'not run', failed };
}

async function tryBreak(tree: string, one: Break): Promise<Outcome> {
  const path = join(tree, one.file);
  const text = await readFile(path, 'utf8');
  await writeFile(path, brokenBy(one, text));
  try {
    return await runTests(tree, one.tests, [one.number]);
  } finally {
    await writeFile(path, text);
  }
}

async function timed(work: () => Promise<Outcome>): Promise<{ outcome: Outcome; seconds: string }> {
  const began = performance.now();
  const outcome = await work();
  return { outcome, seconds: `${((performance.now() - began) / 1000).toFixed(1)} s`.padStart(7) };
}

/** @returns how many breaks no test noticed */
async function tryAll(tree: string, breaks: readonly Break[]): Promise<number> {
  const tests = [...new Set(breaks.flatMap((one) => one.tests))];
  const numbers = [...new Set(breaks.map(({ number }) => number))];
  const whole = await timed(() => runTests(tree, tests, numbers));
  const { color, failed } = whole.outcome;
  console.log(`unbroken  ${color}  ${whole.seconds}  ${tests.length} files`);
  for (const name of failed) console.log(`  ${name}`);
  if (color !== 'green') return breaks.length;
  let unnoticed = 0;
  for (const one of breaks) {
    const { outcome, seconds } = await timed(() => tryBreak(tree, one));
    console.log(
      `${String(one.number).padStart(2)}  ${outcome.color.padEnd(7)}  ${seconds}  ${one.file}: ${one.broken}`,
    );
    if (outcome.color !== 'red') unnoticed += 1;
  }
  return unnoticed;
}

const asked = process.argv.slice(2);
const unknown = asked.filter((text) => !BREAKS.some(({ number }) => String(number) === text));
if (unknown.length > 0) {
  console.error(`error: nothing is broken for ${unknown.join(', ')}; give numbers from 1 to 40`);
  process.exit(2);
}
const breaks = BREAKS.filter(({ number }) => asked.length === 0 || asked.includes(String(number)));
const tree = await mkdtemp(join(tmpdir(), 'numbered-'));
try {
  await copyTree(tree);
  const unnoticed = await tryAll(tree, breaks);
  console.log(`${breaks.length - unnoticed} of ${breaks.length} breaks are noticed`);
  process.exitCode = unnoticed === 0 ? 0 : 1;
} finally {
  await rm(tree, { recursive: true, force: true });
}
