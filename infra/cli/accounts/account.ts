import { createHash } from 'node:crypto';
import { readFile, realpath } from 'node:fs/promises';
import { createSecrets } from '../../../functions/aws/secrets.ts';
import type { Connection } from '../../../functions/platform/connection.ts';
import { safeAgent } from '../../../functions/platform/safe-agent.ts';
import { type CredentialStore, createCredentialStore } from '../../../functions/token/credential.ts';
import { underLease } from '../../../functions/token/lease.ts';
import { REPORTING, scopeOf } from '../../../functions/token/scope.ts';
import { CredentialUnusable } from '../../../functions/workflow/errors.ts';
import type { Log } from '../../../functions/workflow/step.ts';
import { openBucket } from '../../knowledge/bucket.ts';
import { configName, loadConfig } from '../../knowledge/config.ts';
import { stackName, targetRegion } from '../../knowledge/deployment.ts';
import { CommandFailed, explainStepError } from '../../knowledge/errors.ts';
import { commandFor } from '../../knowledge/next-command.ts';
import type { PlatformOptions } from '../../knowledge/platform.ts';
import { suggest } from '../../knowledge/request.ts';
import { replaceFile } from '../../local/secrets-manager.ts';

/** An account of the platform: a deployed one, or one with a credential file on this machine. */
export interface Account extends AsyncDisposable {
  readonly name: string;
  readonly platform: Connection;
  /** Do not print what is read from it. */
  readonly store: CredentialStore;
  /** Does something with the refresh token while no execution renews a token of the account. */
  readonly underLease: <T>(refresh: () => Promise<T>) => Promise<T>;
  /** The name of the secret or the file, for messages. */
  readonly place: string;
  /** The command that logs in to it. */
  readonly login: string;
  /** The next step if its credential is missing or cannot be used. */
  readonly todo: string;
}

export interface AccountOptions extends PlatformOptions {
  readonly local?: true;
}

// TCP and TLS take well under 1 s, and a person is waiting. Milliseconds.
const CONNECT_TIMEOUT = 5_000;

/** A command prints the result of a refresh and not how it went. */
export const SILENT: Log = { info() {}, warn() {}, error() {}, keep() {} };

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The faults of --account. */
export function accountFaults(name: string, { local }: AccountOptions): string[] {
  if (!NAME.test(name)) return [`--account ${name} is not a name: use a-z, 0-9, _ and -`];
  if (local) return [];
  const accounts = Object.keys(loadConfig().accounts);
  if (accounts.includes(name)) return [];
  return [`there is no account ${name} in ${configName()}${suggest(name, accounts)}`];
}

/** The scopes that the account's exports ask for. Nearly all need the scope of reports, as the checks do. */
export function neededScopes(account: string): string[] {
  const exports = loadConfig().exports.filter((entry) => entry.account === account);
  const scopes = exports.flatMap(({ kind = 'report', resource, advertiser_ids }) => {
    const request = { kind: String(kind), ...(typeof resource === 'string' && { resource }), advertiser_ids };
    return scopeOf(request)?.split(' ') ?? [];
  });
  return [...new Set([REPORTING, ...scopes])];
}

/** @param options without faults */
export async function createAccount(name: string, options: AccountOptions): Promise<Account> {
  const { local, baseUrl, credential } = options;
  if (local && baseUrl !== undefined && credential !== undefined) {
    const platform = createConnection(baseUrl, { allowLoopback: true });
    const login = commandFor(['login'], { account: name, local: true, 'base-url': baseUrl, credential });
    const todo = `Write {"client_id","client_secret"} to ${credential}.`;
    const store = createFileStore(credential);
    return { name, ...platform, store, underLease: (refresh) => refresh(), place: credential, login, todo };
  }
  const { base_url } = loadConfig();
  const stack = stackName();
  const store = createCredentialStore(createSecrets(targetRegion()), stack, name);
  const platform = createConnection(base_url, { allowLoopback: false });
  const place = `the secret ${stack}/${name}/credential`;
  const todo = `Store {"client_id","client_secret"}: ${commandFor(['secret', 'set', name])} < credential.json`;
  return {
    name,
    ...platform,
    store,
    underLease: underLeaseOf(name),
    place,
    login: commandFor(['login'], { account: name }),
    todo,
  };
}

function createConnection(
  baseUrl: string,
  hosts: { allowLoopback: boolean },
): Pick<Account, 'platform' | typeof Symbol.asyncDispose> {
  const dispatcher = safeAgent(hosts, { connectTimeout: CONNECT_TIMEOUT, pipelining: 0 });
  return { platform: { baseUrl, dispatcher }, [Symbol.asyncDispose]: () => dispatcher.destroy() };
}

function underLeaseOf(name: string): Account['underLease'] {
  return async (refresh) => {
    await using objects = await openBucket({ out: '' });
    return underLease(name, { objects, now: () => new Date(), log: SILENT }, refresh);
  };
}

/** A credential in a file that only its owner may read. Every write replaces the whole file. */
function createFileStore(file: string): CredentialStore {
  const read = async () => {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new CommandFailed(`${file} cannot be read (${error.code}).`, 'Give another --credential.');
    });
    return { text, version: createHash('sha256').update(text).digest('hex') };
  };
  return {
    read,
    write: async (text) => replaceFile(await realpath(file), text),
  };
}

/** Like {@link explainStepError}, and says of an unusable credential where it is. */
export function explainStoreError(error: unknown, { place, todo }: Pick<Account, 'place' | 'todo'>): unknown {
  if (!(error instanceof CredentialUnusable)) return explainStepError(error);
  const { faults } = error.facts as { faults?: readonly string[] };
  const happened = faults ? `cannot be used: ${faults.join('; ')}` : 'does not exist or has no value yet';
  return new CommandFailed(`${place} ${happened}.`, todo);
}
