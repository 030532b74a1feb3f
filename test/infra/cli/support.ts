import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { request } from 'undici';
import { onTestFinished } from 'vitest';
import { openTarget } from '../../../infra/cli/credential/target.ts';
import { type LoggedIn, type LoginOptions, login } from '../../../infra/cli/login/login.ts';
import { type Sandbox, startSandbox } from '../../../infra/local/sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../infra/local/sandbox/settings.ts';

/** A sandbox, and a file with its credential, in a folder of its own. */
export async function createPlatformAccess(options: SandboxOptions = {}) {
  const sandbox = await startSandbox(options);
  const directory = await mkdtemp(join(tmpdir(), 'login-'));
  const file = join(directory, 'credential.json');
  const { clientId: client_id, clientSecret: client_secret } = sandbox;
  await writeFile(file, JSON.stringify({ client_id, client_secret, note: 'kept' }));
  onTestFinished(async () => {
    await sandbox.close();
    await rm(directory, { recursive: true, force: true });
  });
  const stored = async () => JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
  return { sandbox, directory, file, stored };
}

/** What a browser shows in the end. */
export interface Shown {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A GET as a browser sends it; no redirect is followed. */
export async function get(url: string, headers: Record<string, string> = {}): Promise<Shown> {
  const answer = await request(url, { headers });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

/** Opens the consent screen and presses a button of it: the address that the browser is then sent to. */
export async function consent(url: string, decision: 'allow' | 'deny' = 'allow'): Promise<URL> {
  const page = await get(url);
  const id = page.text.match(/name="consent" value="([^"]+)"/)?.[1] ?? '';
  const { origin, pathname } = new URL(url);
  const answer = await request(origin + pathname, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ consent: id, decision }).toString(),
  });
  await answer.body.dump();
  // Consent that was given before is not asked for again.
  return new URL(String(answer.headers.location ?? page.headers.location));
}

/** Code exchanges that the platform saw. */
export function exchanges({ journal }: Sandbox): number {
  return journal.filter(({ endpoint, body }) => endpoint === 'token' && body.includes('authorization_code'))
    .length;
}

/** A login whose person does what `visit` does with the consent URL, as in a browser. */
export async function logIn(
  { sandbox, file }: { sandbox: Sandbox; file: string },
  visit: (url: string) => Promise<unknown>,
  options: Partial<LoginOptions> & { signal?: AbortSignal; now?: () => Date } = {},
): Promise<LoggedIn> {
  const { signal = new AbortController().signal, now, ...rest } = options;
  const account = { local: true, baseUrl: sandbox.baseUrl, credential: file } as const;
  await using target = await openTarget('sandbox', account);
  const visited: Promise<unknown>[] = [];
  const start = async (url: string) => void visited.push(visit(url));
  try {
    const person = { visit: start, signal, ...(now && { now }) };
    return await login(target, { scope: 'reporting:read', ...rest }, person);
  } finally {
    await Promise.all(visited);
  }
}

/** A remote shell's standard input, into which one line is pasted. */
export function pasted(): { input: PassThrough; paste(line: string): void } {
  const input = new PassThrough();
  return { input, paste: (line) => void input.end(`${line}\n`) };
}

/** `login` for the account of a platform that {@link createPlatformAccess} has opened. */
export function loginTo({ sandbox, file }: { sandbox: Sandbox; file: string }): string[] {
  const { baseUrl } = sandbox;
  return ['login', '--account', 'acme', '--local', '--base-url', baseUrl, '--credential', file];
}
