import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PutBucketVersioningCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Options } from '../../infra/lab/local/s3/call.ts';
import { CREDENTIALS } from '../../infra/lab/local/s3/server.ts';
import { cachedFolder } from '../../infra/stack/cache.ts';
import { findFreePort } from './listen.ts';

const VERSION = 'v1.8.0';

/** The Region that the tests' clients name. */
const REGION = 'eu-west-1';

/** Builds versitygw before the tests. Go keeps what it compiled in the user's cache. */
export default function setup(): void {
  const folder = cachedFolder(`versitygw-${VERSION}`, (draft) => {
    console.log('Builds versitygw, which takes minutes the first time');
    const env = { ...process.env, GOBIN: draft, GOTOOLCHAIN: 'auto' };
    const program = `github.com/versity/versitygw/cmd/versitygw@${VERSION}`;
    execFileSync('go', ['install', program], { env });
  });
  process.env.VERSITYGW = join(folder, 'versitygw');
}

/** Starts versitygw on a folder. Objects are plain files at the same paths as in the local S3. */
export async function startVersitygw(
  program: string,
  { directory, buckets, versioned = false }: S3Options,
): Promise<AsyncDisposable & { readonly endpoint: string }> {
  const root = dirname(directory);
  const metadata = join(root, 'metadata');
  const versions = join(root, 'versions');
  for (const folder of [metadata, versions, ...buckets.map((bucket) => join(directory, bucket))])
    await mkdir(folder, { recursive: true });
  const address = `127.0.0.1:${await findFreePort()}`;
  const { accessKeyId, secretAccessKey } = CREDENTIALS;
  const user = ['--access', accessKeyId, '--secret', secretAccessKey, '--region', REGION];
  const backend = ['posix', '--sidecar', metadata, '--versioning-dir', versions, directory];
  const child = spawn(program, [...user, '--quiet', '--port', address, ...backend], { stdio: 'ignore' });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = once(child, 'exit');
  const endpoint = `http://${address}`;
  while (!(await fetch(endpoint, { method: 'HEAD' }).catch(() => undefined)))
    if (child.exitCode !== null) throw new Error(`versitygw ended with ${child.exitCode}`);
  if (versioned) await keepVersions(endpoint, buckets);
  const stop = async () => {
    process.off('exit', kill);
    kill();
    await exited;
  };
  return { endpoint, [Symbol.asyncDispose]: stop };
}

async function keepVersions(endpoint: string, buckets: readonly string[]): Promise<void> {
  const s3 = new S3Client({ endpoint, region: REGION, forcePathStyle: true, credentials: CREDENTIALS });
  const VersioningConfiguration = { Status: 'Enabled' } as const;
  for (const Bucket of buckets)
    await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
  s3.destroy();
}
