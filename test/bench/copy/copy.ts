import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { COPY_ENVIRONMENT } from '../../../infra/stack/constructs/workflow-functions.ts';
import { median, type Taken } from '../measure-command.ts';

const CONTENDERS = ['raw', 'ours'] as const;

const here = import.meta.dirname;

/** Copies files of these sizes. Each round runs both contenders once, so that a busy machine slows both. */
export async function benchCopy(sizes: readonly number[], rounds: number): Promise<void> {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'bench-'));
  using ended = new DisposableStack();
  const start = async (role: string): Promise<string> => {
    const child: ChildProcess = fork(join(here, 'servers.ts'), [role]);
    ended.defer(() => child.kill());
    const [port] = (await once(child, 'message')) as [number];
    return `http://127.0.0.1:${port}`;
  };
  const [source, s3, program] = [await start('source'), await start('s3'), await bundle(directory.path)];
  for (const bytes of sizes) {
    const samples = { raw: [] as Taken[], ours: [] as Taken[] };
    for (let round = 1; round <= rounds; round++) {
      for (const contender of CONTENDERS)
        samples[contender].push(await measure([program, contender, `${source}/${bytes}`, s3]));
      process.stderr.write(`${bytes} bytes: round ${round}\r`);
    }
    const gigabytes = bytes / 1e9;
    const raw = median(samples.raw.map(({ cpu }) => cpu));
    const rows = CONTENDERS.map((contender) => {
      const seconds = median(samples[contender].map((each) => each.seconds));
      const cpu = median(samples[contender].map((each) => each.cpu));
      const figures = {
        GB: gigabytes,
        'MB/s': (1000 * gigabytes) / seconds,
        'CPU s/GB': cpu / gigabytes,
        '÷ raw': cpu / raw,
        'peak MB': Math.max(...samples[contender].map(({ rss }) => rss)) / 1e6,
      };
      const rounded = Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(3))]);
      return [contender, Object.fromEntries(rounded)];
    });
    console.table(Object.fromEntries(rows));
  }
}

/** Bundles the contenders as Lambda gets them: loading TypeScript takes memory that Lambda does not need. */
async function bundle(outdir: string): Promise<string> {
  const require =
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  const outfile = join(outdir, 'contender.mjs');
  await build({
    entryPoints: [join(here, 'contender.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner: { js: require },
    logLevel: 'warning',
  });
  return outfile;
}

/** Runs one copy with the environment of SaveReport. */
async function measure(command: readonly string[]): Promise<Taken> {
  const env = { ...process.env, ...COPY_ENVIRONMENT };
  const child = spawn(process.execPath, command, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface(child.stdout)) {
    // Node sometimes hangs in its own exit, waiting for a thread of V8.
    child.kill('SIGKILL');
    return JSON.parse(line) as Taken;
  }
  throw new Error(`It ended without a result: ${command.join(' ')}`);
}
