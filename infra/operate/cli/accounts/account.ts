import { readFile, realpath } from 'node:fs/promises';
import { createSecrets } from '../../../../functions/aws/secrets.ts';
import { SCOPES } from '../../../../functions/contract.ts';
import { TOKEN_SECONDS } from '../../../../functions/decisions/waits.ts';
import type { Connection } from '../../../../functions/platform/connection.ts';
import { safeAgent } from '../../../../functions/platform/safe-agent.ts';
import { type CredentialStore, createCredentialStore } from '../../../../functions/token/credential.ts';
import { underLease } from '../../../../functions/token/lease.ts';
import { scopeOf } from '../../../../functions/token/scope.ts';
import { CredentialUnusable } from '../../../../functions/workflow/errors.ts';
import type { Log } from '../../../../functions/workflow/step.ts';
import { replaceFile } from '../../../lab/local/secrets-manager.ts';
import { commandFor } from '../../days/next-command.ts';
import { openBucket } from '../../place/bucket.ts';
import { configName, loadConfig } from '../../place/config.ts';
import { stackName, targetRegion } from '../../place/deployment.ts';
import { CommandFailed, explainStepError } from '../../place/errors.ts';
import type { PlatformOptions } from '../../place/platform.ts';
import { suggest } from '../../place/request.ts';

/** An account of the platform: a deployed one, or one with a credential file on this machine. */
export type Account = ReturnType<typeof createAccount>;

export interface AccountOptions extends PlatformOptions {
  readonly local?: true;
}

// TCP and TLS take well under 1 s, and a person is waiting. Milliseconds.
const CONNECT_TIMEOUT = 5_000;

/** A command prints the result of a refresh and not how it went. */
export const SILENT: Log = { info() {}, warn() {}, error() {}, keep() {} };

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The faults of an account's name. Quotes no name with other characters: it may be a credential. */
export function accountFaults(name: string, { local }: AccountOptions): string[] {
  if (!NAME.test(name)) return ['the account must be a name: a-z, 0-9, _ and -'];
  const accounts = Object.keys(loadConfig().accounts);
  if (local || accounts.includes(name)) return [];
  return [`there is no account ${name} in ${configName()}${suggest(name, accounts)}`];
}

/** The scopes that the account's exports ask for. Nearly all need the scope of reports, as the checks do. */
export function neededScopes(account: string): string[] {
  const exports = loadConfig().exports.filter((entry) => entry.account === account);
  const scopes = exports.flatMap(({ kind = 'report', resource, advertiser_ids }) => {
    const request = { kind: String(kind), resource: String(resource), advertiser_ids };
    return scopeOf(request)?.split(' ') ?? [];
  });
  return [...new Set([...(SCOPES.reports?.split(' ') ?? []), ...scopes])];
}

/**
 * @param options without faults
 * @param platformUrl default: of the options, or else of the config
 */
export function createAccount(
  name: string,
  { local, baseUrl, credential }: AccountOptions,
  platformUrl = baseUrl ?? loadConfig().base_url,
) {
  const hosts = { allowLoopback: local === true };
  const dispatcher = safeAgent(hosts, { connectTimeout: CONNECT_TIMEOUT, pipelining: 0 });
  // A token request ends before the lease under which it may be sent.
  const timeouts = { total: TOKEN_SECONDS * 1000 };
  const platform: Connection = { baseUrl: platformUrl, dispatcher, timeouts };
  return {
    name,
    platform,
    ...(credential === undefined ? openSecret(name) : openFile(credential)),
    /** The command that logs in to it. */
    login: commandFor(['login'], { account: name, local, 'base-url': baseUrl, credential }),
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}

/** The credential of an account. Do not print what is read from it. */
interface Stored {
  readonly store: CredentialStore;
  /** Uses or stores the refresh token while no execution renews a token of the account. */
  readonly underLease: <T>(act: () => Promise<T>) => Promise<T>;
  /** The name of the secret or the file, for messages. */
  readonly place: string;
  /** The next step if it is missing or cannot be used. */
  readonly todo: string;
}

function openSecret(account: string): Stored {
  const stack = stackName();
  return {
    store: createCredentialStore(createSecrets(targetRegion()), stack, account),
    async underLease(act) {
      await using objects = await openBucket({ out: '' });
      const access = { objects, now: () => new Date(), log: SILENT, asksAnyway: true };
      return underLease(account, access, act);
    },
    place: `the secret ${stack}/${account}/credential`,
    todo: `Store {"client_id","client_secret"}: ${commandFor(['secret', 'set', account])} < credential.json`,
  };
}

/** A file that only its owner may read. Every write replaces the whole file. */
function openFile(file: string): Stored {
  const read = async () => {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new CommandFailed(`${file} cannot be read (${error.code}).`, 'Give another --credential.');
    });
    return { text, version: '' };
  };
  return {
    store: { read, write: async (text) => replaceFile(await realpath(file), text) },
    underLease: (act) => act(),
    place: file,
    todo: `Write {"client_id","client_secret"} to ${file}.`,
  };
}

/** Like {@link explainStepError}, and says of an unusable credential where it is. */
export function explainStoreError(error: unknown, { place, todo }: Pick<Account, 'place' | 'todo'>): unknown {
  if (!(error instanceof CredentialUnusable)) return explainStepError(error);
  const { faults } = error.facts as { faults?: readonly string[] };
  const happened = faults ? `cannot be used: ${faults.join('; ')}` : 'does not exist or has no value yet';
  return new CommandFailed(`${place} ${happened}.`, todo);
}
