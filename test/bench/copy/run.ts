import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { COPY_ENVIRONMENT } from '../../../infra/constructs/copy-environment.ts';
import { CERTIFICATE } from '../../support/certificate.ts';
import type { Taken } from '../measure-command.ts';

export const TRANSPORTS = ['http', 'tls'] as const;
export type Transport = (typeof TRANSPORTS)[number];

export interface Sample extends Taken {
  readonly bytes: number;
}

export interface Servers extends Disposable {
  /** One copy by one contender. */
  measure(contender: string, bytes: number): Promise<Sample>;
}

const here = import.meta.dirname;

/**
 * Starts the storage host and S3, each in a process of its own.
 *
 * @param against another checkout, whose `ours` is measured as the contender `against`
 */
export async function startServers(transport: Transport, against: string | undefined): Promise<Servers> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  const certificate = transport === 'tls' ? CERTIFICATE : undefined;
  const authority = join(directory, 'ca.pem');
  writeFileSync(authority, certificate?.cert ?? '');
  const trust = certificate ? { NODE_EXTRA_CA_CERTS: authority } : {};
  const start = async (role: string): Promise<{ child: ChildProcess; address: string }> => {
    const env = { ...process.env, ...certificate };
    const child = fork(join(here, 'servers.ts'), [role], { env });
    const [port] = (await once(child, 'message')) as [number];
    return { child, address: `${certificate ? 'https' : 'http'}://127.0.0.1:${port}` };
  };
  const [source, s3, program] = await Promise.all([start('source'), start('s3'), bundle(here, directory)]);
  const other = against && {
    program: await bundle(join(against, 'test/bench/copy'), join(directory, 'against')),
    environment: (await import(join(against, 'infra/constructs/copy-environment.ts'))).COPY_ENVIRONMENT,
  };
  const measureContender = (contender: string, url: string) => {
    const args = [url, s3.address];
    if (contender === 'against' && other)
      return measureProcess([other.program, 'ours', ...args], { ...trust, ...other.environment });
    const environment = contender === 'ours' ? COPY_ENVIRONMENT : {};
    return measureProcess([program, contender, ...args], { ...trust, ...environment });
  };
  return {
    async measure(contender, bytes) {
      return { ...(await measureContender(contender, `${source.address}/${bytes}`)), bytes };
    },
    [Symbol.dispose]() {
      source.child.kill();
      s3.child.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Bundles the contenders as Lambda gets them: loading TypeScript takes memory that Lambda does not need. */
async function bundle(folder: string, outdir: string): Promise<string> {
  const require =
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  await build({
    entryPoints: [join(folder, 'contender.ts')],
    outdir,
    bundle: true,
    splitting: true,
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
  environment: Readonly<Record<string, string>>,
): Promise<Taken> {
  const child = spawn(process.execPath, command, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface(child.stdout)) {
    // Node sometimes hangs in its own exit, waiting for a thread of V8.
    child.kill('SIGKILL');
    return JSON.parse(line) as Taken;
  }
  throw new Error(`It ended without a result: ${command.join(' ')}`);
}
