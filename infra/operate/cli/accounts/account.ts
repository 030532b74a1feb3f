import { SCOPES } from '../../../../functions/contract.ts';
import { TOKEN_SECONDS } from '../../../../functions/decisions/waits.ts';
import type { Connection } from '../../../../functions/platform/connection.ts';
import { safeAgent } from '../../../../functions/platform/safe-agent.ts';
import { scopeOf } from '../../../../functions/token/scope.ts';
import { CredentialUnusable } from '../../../../functions/workflow/errors.ts';
import { commandFor } from '../../days/next-command.ts';
import { suggest } from '../../place/check-request.ts';
import { CommandFailed, explainStepError } from '../../place/errors.ts';
import { configName, loadConfig } from '../../place/load-config.ts';
import type { PlatformOptions } from '../../place/target-platform.ts';
import { openFile, openSecret } from './stored-credential.ts';

/** An account of the platform: a deployed one, or one with a credential file on this machine. */
export type AccountAccess = ReturnType<typeof createAccount>;

export interface AccountOptions extends PlatformOptions {
  readonly local?: true;
}

// TCP and TLS take well under 1 s, and a person is waiting. Milliseconds.
const CONNECT_TIMEOUT = 5_000;

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The faults of an account's name. Quotes no name with other characters: it may be a credential. */
export function accountNameFaults(name: string, { local }: AccountOptions): string[] {
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

/** Like {@link explainStepError}, and says of an unusable credential where it is. */
export function explainStoreError(
  error: unknown,
  { place, todo }: Pick<AccountAccess, 'place' | 'todo'>,
): unknown {
  if (!(error instanceof CredentialUnusable)) return explainStepError(error);
  const { faults } = error.facts as { faults?: readonly string[] };
  const happened = faults ? `cannot be used: ${faults.join('; ')}` : 'does not exist or has no value yet';
  return new CommandFailed(`${place} ${happened}.`, todo);
}
