import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { cachedFolder } from '../../infra/stack/cache.ts';

const FOLDER = fileURLToPath(new URL('./readers/', import.meta.url));

/**
 * Runs Python with the packages that the readers need, to its end.
 *
 * @param args a program in `readers/` or `-m module`, and its arguments
 * @returns what it printed
 * @throws Error with what it printed, if it fails
 */
export type RunPython = (
  args: readonly string[],
  options?: { readonly stdin?: string; readonly cwd?: string },
) => Promise<string>;

/** Installs the pinned packages of the readers. */
export function installPython(): RunPython {
  const packages = installPackages(`${FOLDER}requirements.txt`);
  // dbt would send statistics of its use.
  const env = { PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1', DO_NOT_TRACK: '1' };
  return ([first = '', ...rest], options) =>
    run([first.startsWith('-') ? first : `${FOLDER}${first}`, ...rest], { ...options, env });
}

/**
 * Installs pinned packages into the cache with pip, the first time that it is called. They need no virtual
 * environment, which Debian's Python does not create without another package.
 *
 * @returns the folder for PYTHONPATH
 */
export function installPackages(requirements: string): string {
  const hash = createHash('sha256')
    .update(execFileSync('python3', ['--version']))
    .update(readFileSync(requirements));
  return cachedFolder(`python-${hash.digest('hex').slice(0, 16)}`, (draft) => {
    const options = ['--quiet', '--no-deps', '--no-compile', '--target', draft];
    execFileSync('python3', ['-m', 'pip', 'install', ...options, '--requirement', requirements]);
  });
}

async function run(
  args: readonly string[],
  { stdin = '', cwd, env }: { stdin?: string; cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const child = spawn('python3', args, { cwd, env: { ...process.env, ...env } });
  child.stdin.end(stdin);
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (status !== 0) throw new Error(`python3 ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}
