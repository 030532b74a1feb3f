import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { COPY_ENVIRONMENT } from '../../../infra/stack/constructs/step-limits.ts';
import { CERTIFICATE } from '../../support/certificate.ts';
import { median, type Taken } from '../measure-command.ts';

const PROTOCOLS = ['http', 'https'] as const;
type Protocol = (typeof PROTOCOLS)[number];

const CONTENDERS = ['raw', 'lib-storage', 'ours'] as const;
type Contender = (typeof CONTENDERS)[number];

// The bounds of our copy, on an idle machine: its speed beside the others', and its memory at any size.
const MIN_OF_RAW = 0.6;
const MIN_OF_LIBRARY = 1.7;
const MAX_MEGABYTES = 150;

const here = import.meta.dirname;

/** Copies files of these sizes over http and over TLS, and prints a table for each. */
export async function benchCopy(sizes: readonly number[], rounds: number): Promise<void> {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'bench-'));
  const program = await bundle(directory.path);
  const authority = join(directory.path, 'ca.pem');
  writeFileSync(authority, CERTIFICATE.cert);
  // The function's options of Node, for all contenders: they alone make a pipe twice as light.
  const env = { ...process.env, ...COPY_ENVIRONMENT, NODE_EXTRA_CA_CERTS: authority };
  for (const protocol of PROTOCOLS) {
    using stopped = new DisposableStack();
    const source = await startServer('source', protocol, stopped);
    const s3 = await startServer('s3', protocol, stopped);
    for (const bytes of sizes) {
      const samples = await measureInTurns(rounds, bytes, (contender) =>
        measure([program, contender, `${source}/${bytes}`, s3], env),
      );
      console.log(`${bytes / 1e9} GB over ${protocol}, ${rounds} rounds`);
      const figures = figuresOf(samples, bytes / 1e9);
      console.table(figures);
      for (const sentence of exceededBounds(figures)) console.log(sentence);
    }
  }
}

/** @returns the server's address */
async function startServer(role: string, protocol: Protocol, stopped: DisposableStack): Promise<string> {
  const child: ChildProcess = fork(join(here, 'servers.ts'), [role, protocol]);
  stopped.defer(() => child.kill());
  const [port] = (await once(child, 'message')) as [number];
  return `${protocol}://127.0.0.1:${port}`;
}

type Samples = Readonly<Record<Contender, Taken[]>>;

/** Each round runs every contender once, so that a busy machine slows all of them. */
async function measureInTurns(
  rounds: number,
  bytes: number,
  measureOnce: (contender: Contender) => Promise<Taken>,
): Promise<Samples> {
  const samples: Samples = { raw: [], 'lib-storage': [], ours: [] };
  for (let round = 1; round <= rounds; round++) {
    for (const contender of CONTENDERS) samples[contender].push(await measureOnce(contender));
    process.stderr.write(`${bytes} bytes: round ${round}\r`);
  }
  return samples;
}

interface Figures {
  readonly 'MB/s': number;
  readonly '÷ raw': number;
  readonly '÷ lib-storage': number;
  readonly 'CPU s/GB': number;
  readonly 'peak MB': number;
}

/** Medians, the highest memory, and each contender's speed beside the others'. */
function figuresOf(samples: Samples, gigabytes: number): Record<Contender, Figures> {
  const speedOf = (contender: Contender) =>
    (1000 * gigabytes) / median(samples[contender].map(({ seconds }) => seconds));
  const figures = (contender: Contender) => ({
    'MB/s': round(speedOf(contender)),
    '÷ raw': round(speedOf(contender) / speedOf('raw')),
    '÷ lib-storage': round(speedOf(contender) / speedOf('lib-storage')),
    'CPU s/GB': round(median(samples[contender].map(({ cpu }) => cpu)) / gigabytes),
    'peak MB': round(Math.max(...samples[contender].map(({ rss }) => rss)) / 1e6),
  });
  return { raw: figures('raw'), 'lib-storage': figures('lib-storage'), ours: figures('ours') };
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}

/** A sentence for each bound that the copy does not keep. */
function exceededBounds({ ours }: Record<Contender, Figures>): string[] {
  const sentences: string[] = [];
  if (ours['÷ raw'] < MIN_OF_RAW) sentences.push(`Less than ${MIN_OF_RAW} times as fast as raw.`);
  if (ours['÷ lib-storage'] < MIN_OF_LIBRARY)
    sentences.push(`Less than ${MIN_OF_LIBRARY} times as fast as lib-storage.`);
  if (ours['peak MB'] > MAX_MEGABYTES) sentences.push(`More than ${MAX_MEGABYTES} MB of memory.`);
  return sentences;
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

/** Runs one copy in a process of its own. */
async function measure(command: readonly string[], env: NodeJS.ProcessEnv): Promise<Taken> {
  const child = spawn(process.execPath, command, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface(child.stdout)) {
    // Node sometimes hangs in its own exit, waiting for a thread of V8.
    child.kill('SIGKILL');
    return JSON.parse(line) as Taken;
  }
  throw new Error(`It ended without a result: ${command.join(' ')}`);
}
