import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { installPackages } from '../../checks/python.ts';
import { CERTIFICATE } from '../../support/certificate.ts';
import { findFreePort } from '../../support/listen.ts';
import type { Processes } from '../processes.ts';
import { ROOT } from '../project.ts';

export const AWS_ACCOUNT = '123456789012';
export const AWS_REGION = 'eu-central-1';

const PROGRAM = fileURLToPath(new URL('emulator.py', import.meta.url));
const REQUIREMENTS = fileURLToPath(new URL('emulator-requirements.txt', import.meta.url));
const REDIRECT = new URL('redirect.ts', import.meta.url).href;

export const [EMULATOR = ''] = readFileSync(REQUIREMENTS, 'utf8').match(/^ministack.*/m) ?? [];

/**
 * Starts the emulator with IAM and TLS, and leads this process and its children to it. Nothing of the user's
 * AWS environment is left to them, so that no call reaches a real AWS account.
 *
 * @returns reads the calls that IAM has refused so far
 */
export async function startCloud(
  processes: Processes,
  ports: Readonly<Record<string, number>>,
): Promise<() => string[]> {
  const { folder } = processes;
  const packages = installPackages(REQUIREMENTS);
  const certificate = join(folder, 'certificate.pem');
  const key = join(folder, 'key.pem');
  const log = join(folder, 'emulator.log');
  writeFileSync(certificate, CERTIFICATE.cert);
  writeFileSync(key, CERTIFICATE.key);
  const port = await findFreePort();
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: `https://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: AWS_ACCOUNT,
    AWS_SECRET_ACCESS_KEY: 'rehearsal',
    AWS_REGION,
    AWS_CONFIG_FILE: join(folder, 'absent'),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'absent'),
    AWS_CA_BUNDLE: certificate,
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    NODE_EXTRA_CA_CERTS: certificate,
    NODE_OPTIONS: `--import ${REDIRECT}`,
    NO_PROXY: [process.env.NO_PROXY, '127.0.0.1'].filter(Boolean).join(),
    REHEARSAL_NODE: process.execPath,
    REHEARSAL_PORTS: JSON.stringify({ ...ports, '.on.aws': port, '.amazonaws.com': port }),
    REHEARSAL_REDIRECT: REDIRECT,
  });
  setDefaultCACertificates([...getCACertificates(), CERTIFICATE.cert]);
  const emulator = processes.start('python3', [PROGRAM], {
    env: {
      PYTHONPATH: packages,
      PYTHONDONTWRITEBYTECODE: '1',
      // For functions, which inherit this: their bundles have DuckDB for arm64 only.
      NODE_PATH: join(ROOT, 'node_modules'),
      NODE_OPTIONS: undefined,
      AWS_ENDPOINT_URL: undefined,
      MINISTACK_SSL_CERT: certificate,
      MINISTACK_SSL_KEY: key,
      MINISTACK_REGION: AWS_REGION,
      MINISTACK_ACCOUNT_ID: AWS_ACCOUNT,
      GATEWAY_PORT: String(port),
      S3_DATA_DIR: join(folder, 's3'),
    },
  });
  processes.keepAlive(emulator);
  for (const output of [emulator.stdout, emulator.stderr])
    output.pipe(createWriteStream(log, { flags: 'a' }));
  const isUp = () => fetch(`https://127.0.0.1:${port}/_ministack/health`).then(Boolean, () => false);
  while (!(await isUp())) {
    if (emulator.exitCode !== null)
      throw new Error(`The emulator did not start:\n${readFileSync(log, 'utf8').slice(-3000)}`);
    await wait(200);
  }
  return () => readFileSync(log, 'utf8').match(/^REFUSED .*$/gm) ?? [];
}
