import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { scaledClock } from '../../infra/lab/local/clock.ts';
import type { SandboxOptions } from '../../infra/lab/sandbox/sandbox-options.ts';
import { type Sandbox, startSandbox } from '../../infra/lab/sandbox/start-sandbox.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const SPEED = 100;

/** A sandbox and the command that exports from it. The sandbox outlives the command. */
export interface CommandRun {
  readonly sandbox: Sandbox;
  /** `run --local --json` with its options. */
  readonly args: readonly string[];
  /** The folder of --out. */
  readonly out: string;
}

/**
 * @param fields of the request, in addition to the names and metrics
 * @param onEnd closes the sandbox and removes the folder at another time than the end of the test
 */
export async function startCommandRun(
  fields: Record<string, unknown>,
  options: SandboxOptions = {},
  onEnd: (end: () => Promise<void> | void) => void = onTestFinished,
): Promise<CommandRun> {
  const sandbox = await startSandbox({ now: scaledClock(SPEED).now, ...options });
  onEnd(() => sandbox[Symbol.asyncDispose]());
  const directory = temporaryDirectory(onEnd);
  const { clientId: client_id, clientSecret: client_secret, advertiserIds } = sandbox;
  const file = async (name: string, content: unknown) => {
    await writeFile(join(directory, name), JSON.stringify(content), { mode: 0o600 });
    return join(directory, name);
  };
  const advertiser_ids = advertiserIds.slice(0, 1);
  const request = { name: 'daily', account: 'sandbox', advertiser_ids, metrics: ['spend'], ...fields };
  const named = {
    '--base-url': sandbox.baseUrl,
    '--revision': sandbox.revision,
    '--credential': await file('credential.json', { client_id, client_secret }),
    '--input': await file('request.json', request),
    '--speed': String(SPEED),
    '--out': join(directory, 'out'),
  };
  const args = ['run', '--local', '--json', ...Object.entries(named).flat()];
  return { sandbox, args, out: join(directory, 'out') };
}
