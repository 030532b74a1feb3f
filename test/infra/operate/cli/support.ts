import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { request } from 'undici';
import { onTestFinished, vi } from 'vitest';
import { createSecret } from '../../../../infra/lab/local/secrets-manager.ts';
import type { SandboxOptions } from '../../../../infra/lab/sandbox/sandbox-options.ts';
import { type Sandbox, startSandbox } from '../../../../infra/lab/sandbox/start-sandbox.ts';
import { createAccount } from '../../../../infra/operate/cli/accounts/account.ts';
import {
  type AuthorizeOptions,
  LOOPBACK,
  logInWithBrowser,
} from '../../../../infra/operate/cli/accounts/login.ts';
import { readConfig } from '../../../../infra/stack/config/read-config.ts';
import { startCommand } from '../../../support/cli.ts';
import { startFaultySecrets } from '../../../support/faulty-services.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { startBucket } from '../executions/operated-executions.ts';
import { STATE_MACHINE, startCloudFormation } from '../executions/step-functions.ts';

export type Platform = Awaited<ReturnType<typeof startPlatform>>;

/** Writes a file in a temporary folder of its own. */
export async function writeTemporary(name: string, content: string) {
  const directory = temporaryDirectory();
  const file = join(directory, name);
  await writeFile(file, content, { mode: 0o600 });
  return { directory, file };
}

/** A sandbox, and a file with its credential. */
export async function startPlatform(options: SandboxOptions = {}) {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox[Symbol.asyncDispose]());
  const { clientId: client_id, clientSecret: client_secret } = sandbox;
  const credential = JSON.stringify({ client_id, client_secret, note: 'kept' });
  const { directory, file } = await writeTemporary('credential.json', credential);
  const readStored = async () => JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
  return { sandbox, directory, file, readStored };
}

/** A stack with tables, as CloudFormation describes it. */
export async function startDeployedTables(): Promise<void> {
  const tables = { bucket: 'ads-bucket', database: 'ads', workgroup: 'ads-group' };
  await startCloudFormation(readConfig().stack, { stateMachine: STATE_MACHINE, ...tables });
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
}

/** The object of a lease that an execution has. */
export function heldLease() {
  const lease = { owner: 'an execution', expires_at: new Date(Date.now() + 60_000) };
  return { 'leases/acme.json': lease };
}

/** A deployed account, whose credential is in a local Secrets Manager. @param leases objects of the bucket */
export async function startDeployedAccount(content: string, leases: Readonly<Record<string, unknown>> = {}) {
  const secret = createSecret({ text: content });
  const secrets = new Map([[`${readConfig().stack}/acme/credential`, secret]]);
  const server = await startFaultySecrets(secrets);
  await startBucket(leases);
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', server.endpoint);
  vi.stubEnv('AWS_REGION', 'eu-west-1');
  const account = createAccount('acme', {});
  onTestFinished(async () => {
    await account[Symbol.asyncDispose]();
    await server.close();
  });
  const readStored = async () => JSON.parse(secret.versions().at(-1)?.text ?? '{}');
  return { account, readStored, server };
}

/** Presses a button on the consent screen. @returns the redirect */
export async function consent(url: string, decision: 'allow' | 'deny' = 'allow'): Promise<URL> {
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `decision=${decision}`,
  });
  await answer.body.dump();
  return new URL(String(answer.headers.location));
}

export function countExchanges({ journal }: Sandbox): number {
  return journal.filter(({ endpoint, body }) => endpoint === 'token' && body.includes('authorization_code'))
    .length;
}

/** Logs in with a user who consents and pastes this. */
export async function logIn(
  { sandbox, file }: Pick<Platform, 'sandbox' | 'file'>,
  toPaste: (redirect: URL) => string = ({ href }) => `  ${href}  `,
  { decision, ...options }: Partial<AuthorizeOptions> & { readonly decision?: 'allow' | 'deny' } = {},
): Promise<string | undefined> {
  const { baseUrl } = sandbox;
  await using account = createAccount('sandbox', { local: true, baseUrl, credential: file });
  const input = new PassThrough();
  const showUrl = async (url: string) => void input.end(`${toPaste(await consent(url, decision))}\n`);
  const { signal } = new AbortController();
  const defaults = { scope: 'reporting:read', redirectUri: LOOPBACK, signal, showUrl, input };
  return await logInWithBrowser(account, { ...defaults, ...options });
}

/** Starts the login command. `url` is the consent screen's URL as soon as the command prints it. */
export function startLogin({ sandbox, file }: Platform) {
  const args = ['login', '--account', 'acme', '--local', '--base-url', sandbox.baseUrl, '--credential', file];
  const { child, ended } = startCommand(args, null);
  const { promise: url, resolve } = Promise.withResolvers<string>();
  createInterface(child.stdout).on('line', (line) => /^http/.test(line) && resolve(line));
  return { child, ended, url };
}
