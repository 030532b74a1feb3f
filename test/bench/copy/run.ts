import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { makeCertificate } from '../../support/certificate.ts';
import { commands, environmentFor } from './commands.ts';
import { contenders } from './contenders.ts';
import { bytesOfFile } from './file.ts';
import { measureCommand } from './measure-command.ts';

export const TRANSPORTS = ['http', 'tls'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** What one copy took. */
export interface Taken {
  readonly seconds: number;
  /** User and system time of the contender; one in Node is measured without its start. */
  readonly cpu: number;
  /** The highest it ever had, in bytes. */
  readonly rss: number;
}

export interface Sample extends Taken {
  readonly bytes: number;
  /** User and system time of the storage host and S3 together. */
  readonly servers: number;
}

export interface Servers extends Disposable {
  /** One copy by one contender. */
  measure(contender: string, bytes: number): Promise<Sample>;
}

interface Server {
  readonly child: ChildProcess;
  readonly address: string;
}

const here = import.meta.dirname;

/** The storage host and S3, each in a process of its own. */
export async function startServers(transport: Transport): Promise<Servers> {
  const certificate = transport === 'tls' ? makeCertificate() : undefined;
  const authority = certificate && join(mkdtempSync(join(tmpdir(), 'bench-ca-')), 'ca.pem');
  if (certificate && authority) writeFileSync(authority, certificate.cert);
  const start = async (file: string): Promise<Server> => {
    const child = fork(join(here, file), { env: { ...process.env, ...certificate } });
    const [port] = (await once(child, 'message')) as [number];
    return { child, address: `${certificate ? 'https' : 'http'}://127.0.0.1:${port}` };
  };
  const [source, s3, program] = await Promise.all([start('source.ts'), start('s3.ts'), bundle()]);
  const serversCpu = async () => (await cpuOf(source)) + (await cpuOf(s3));
  return {
    async measure(contender, about) {
      const url = `${source.address}/${about}`;
      const before = await serversCpu();
      const command = commands[contender];
      const taken = command
        ? await measureCommand(command.script, { ...environmentFor(s3.address, authority), URL: url })
        : await measureProcess([program, contender, url, s3.address], contender, authority);
      return { ...taken, bytes: bytesOfFile(about), servers: (await serversCpu()) - before };
    },
    [Symbol.dispose]() {
      source.child.kill();
      s3.child.kill();
    },
  };
}

/** The contenders as a Lambda gets them: bundled, because loading TypeScript takes memory that they do not. */
async function bundle(): Promise<string> {
  const outdir = mkdtempSync(join(tmpdir(), 'bench-bundle-'));
  const require =
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  await build({
    entryPoints: [join(here, 'contender.ts')],
    outdir,
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    outExtension: { '.js': '.mjs' },
    banner: { js: require },
    logLevel: 'warning',
  });
  return join(outdir, 'contender.mjs');
}

async function measureProcess(
  command: readonly string[],
  contender: string,
  authority: string | undefined,
): Promise<Taken> {
  const trust = authority === undefined ? {} : { NODE_EXTRA_CA_CERTS: authority };
  const child = spawn(process.execPath, command, {
    env: { ...process.env, ...contenders[contender]?.environment, ...trust },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface(child.stdout)) {
    // Node has been seen to hang in its own exit, waiting for a thread of V8's.
    child.kill('SIGKILL');
    return JSON.parse(line) as Taken;
  }
  throw new Error(`${contender} ended without a result`);
}

async function cpuOf({ child }: Server): Promise<number> {
  child.send('cpu');
  const [seconds] = (await once(child, 'message')) as [number];
  return seconds;
}
