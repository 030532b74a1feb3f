import { connect } from 'node:net';
import { pipeline } from 'node:stream';
import { createServer } from 'node:tls';
import type { SandboxOptions } from '../../../infra/lab/sandbox/sandbox-options.ts';
import { startSandbox } from '../../../infra/lab/sandbox/start-sandbox.ts';
import { CERTIFICATE } from '../../support/certificate.ts';
import { startServer } from '../../support/listen.ts';

/** The platform's host. Its files are on another one. */
export const PLATFORM = 'api.platform.example';
const STORAGE = 'storage.platform.example';

/** Starts the sandbox of the platform behind TLS. @returns it, and the port of each host */
export async function startPlatform(options: SandboxOptions) {
  const sandbox = await startSandbox({ ...options, storageUrl: `https://${STORAGE}` });
  const { baseUrl, storageUrl } = sandbox;
  return { sandbox, ports: { [PLATFORM]: await decrypt(baseUrl), [STORAGE]: await decrypt(storageUrl) } };
}

async function decrypt(url: string): Promise<number> {
  const server = createServer(CERTIFICATE, (encrypted) => {
    const plain = connect(Number(new URL(url).port), '127.0.0.1');
    pipeline(encrypted, plain, encrypted, () => {});
  });
  return (await startServer(server)).port;
}
