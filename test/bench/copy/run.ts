import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { makeCertificate } from '../../support/certificate.ts';

export type Transport = 'http' | 'tls';

export interface Sample {
  readonly bytes: number;
  readonly seconds: number;
  /** User and system time of the contender's process, without its start. */
  readonly cpu: number;
  /** The highest the process ever had, in bytes. */
  readonly rss: number;
}

export interface Servers extends Disposable {
  /** Runs one contender in a process of its own. */
  measure(contender: string, bytes: number): Promise<Sample>;
}

// Lambda takes these from NODE_OPTIONS. Of 1, 2, 4, 8 and 16 (the default) MiB for the young generation, 2 gave the least
// memory: with 1, a third of what is young is taken for old, and waits for a collection that comes late.
const FLAGS = ['--max-semi-space-size=2'];

const run = promisify(execFile);
const here = import.meta.dirname;

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

/** The storage host and S3, each in a process of its own. */
export async function startServers(transport: Transport): Promise<Servers> {
  const certificate = transport === 'tls' ? makeCertificate() : undefined;
  const trust: Record<string, string> = {};
  if (certificate) {
    trust.NODE_EXTRA_CA_CERTS = join(mkdtempSync(join(tmpdir(), 'bench-ca-')), 'ca.pem');
    writeFileSync(trust.NODE_EXTRA_CA_CERTS, certificate.cert);
  }
  const start = async (file: string) => {
    const child = fork(join(here, file), { env: { ...process.env, ...certificate } });
    const [port] = (await once(child, 'message')) as [number];
    return { child, address: `${certificate ? 'https' : 'http'}://127.0.0.1:${port}` };
  };
  const [source, s3, program] = await Promise.all([start('source.ts'), start('s3.ts'), bundle()]);
  return {
    async measure(contender, bytes) {
      const flags = /^ours|as ours$/.test(contender) ? FLAGS : [];
      const arguments_ = [...flags, program, contender, `${source.address}/${bytes}`, s3.address];
      const { stdout } = await run(process.execPath, arguments_, { env: { ...process.env, ...trust } });
      return JSON.parse(stdout) as Sample;
    },
    [Symbol.dispose]() {
      source.child.kill();
      s3.child.kill();
    },
  };
}
