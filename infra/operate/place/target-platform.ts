import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { platformName, type RequestTarget } from '../../../functions/decisions/request-hash.ts';
import { parseJson } from '../../../functions/workflow/json.ts';
import { EXAMPLE_REVISION } from '../../lab/sandbox/sandbox-options.ts';
import { SANDBOX, targetOfConfig } from '../../stack/config/sandbox-config.ts';
import { readDeployment, requireOutput } from './deployment.ts';
import { loadConfig } from './load-config.ts';

/** In the folder of local runs: the platform of the last one. The credential is a path only. */
const FILE = 'platform.json';

/** Without --base-url, a run of this machine exports from a sandbox. */
export function targetOfPlatform({ baseUrl, revision = EXAMPLE_REVISION }: PlatformOptions): RequestTarget {
  return { platform: platformName(baseUrl ?? 'http://127.0.0.1'), revision };
}

interface PlaceOfRuns {
  readonly local?: true | undefined;
  /** The folder of local runs. */
  readonly out: string;
}

/** The platform of a folder's last run, which its next one goes to, or else the config's. */
export async function readTarget({ local, out }: PlaceOfRuns): Promise<RequestTarget> {
  return local ? targetOfPlatform(await lastPlatform(out)) : targetOfConfig(loadConfig());
}

/** The address of the config's platform. That of a deployed sandbox is an output of the stack. */
export async function readPlatformUrl(): Promise<string> {
  const { base_url } = loadConfig();
  return base_url === SANDBOX ? requireOutput(await readDeployment(), 'sandboxUrl') : base_url;
}

/**
 * The faults of a command that stores a credential in the stack: the sandbox has made that of its account.
 */
export function storeFaults(): string[] {
  if (loadConfig().base_url !== SANDBOX) return [];
  return [`the credential of the account ${SANDBOX} comes with the sandbox, and cannot be replaced`];
}

/** The platform of a folder's last run: a sandbox, if there was none. */
export async function lastPlatform(out: string): Promise<PlatformOptions> {
  const { baseUrl, credential, revision } = Object(
    parseJson(await readFile(join(out, FILE), 'utf8').catch(() => '')),
  );
  return URL.canParse(baseUrl) ? { baseUrl, credential, revision } : {};
}

export async function keepPlatform(out: string, options: PlatformOptions): Promise<void> {
  const draft = join(out, `${FILE}.draft`);
  await writeFile(draft, `${JSON.stringify(options, Object.keys(PLATFORM_FLAGS), 2)}\n`);
  await rename(draft, join(out, FILE));
}

export const PLATFORM_FLAGS = {
  baseUrl: '--base-url',
  credential: '--credential',
  revision: '--revision',
};

/** Names a platform and a credential file instead of the deployed ones. */
export type PlatformOptions = { readonly [name in keyof typeof PLATFORM_FLAGS]?: string };

const ACCOUNT_PLACEHOLDER = '{account}';

/** The credential file of an account: `{account}` in --credential stands for its name. */
export function credentialFile(credential: string, account: string): string {
  return credential.replaceAll(ACCOUNT_PLACEHOLDER, account);
}
