import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cachedFolder } from '../../infra/cache.ts';

const run = promisify(execFile);

const FOLDER = fileURLToPath(new URL('./readers', import.meta.url));

/** Python programs in `readers/`, with the packages that they need. */
export interface Python {
  /** Runs a program to its end. @returns what it printed */
  run(program: string, ...args: string[]): Promise<string>;
  /** Starts a server that prints its URL and ends with standard input. */
  serve(program: string): Promise<AsyncDisposable & { readonly url: string }>;
}

/**
 * Installs the pinned packages into the cache with pip, the first time that it is called. They need no virtual environment, which
 * Debian's Python does not create without another package.
 */
export async function installPython(): Promise<Python> {
  const requirements = `${FOLDER}/requirements.txt`;
  const { stdout: version } = await run('python3', ['--version']);
  const hash = createHash('sha256')
    .update(version)
    .update(await readFile(requirements));
  const packages = await cachedFolder(`python-${hash.digest('hex').slice(0, 16)}`, async (draft) => {
    const options = ['--quiet', '--no-deps', '--no-compile', '--target', draft];
    await run('python3', ['-m', 'pip', 'install', ...options, '--requirement', requirements]);
  });
  const env = { ...process.env, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' };
  return {
    run: async (program, ...args) =>
      (await run('python3', [`${FOLDER}/${program}`, ...args], { env })).stdout,
    async serve(program) {
      const child = spawn('python3', [`${FOLDER}/${program}`], { env, stdio: ['pipe', 'pipe', 'inherit'] });
      const exited = once(child, 'exit');
      const [url] = await Promise.race([
        once(createInterface(child.stdout), 'line'),
        exited.then(() => Promise.reject(new Error(`${program} ended before it printed its URL`))),
      ]);
      const dispose = async () => {
        child.stdin.end();
        await exited;
      };
      return { url, [Symbol.asyncDispose]: dispose };
    },
  };
}
