import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Connection } from '../../../functions/platform/connection.ts';
import { safeAgent } from '../../../functions/platform/safe-hosts.ts';
import { configHere } from '../configured.ts';
import { deployedIn } from '../deployed-outputs.ts';
import { credentialFaults, urlFaults } from '../local-options.ts';
import { credentialInFile } from './in-file.ts';
import { credentialInSecretsManager } from './in-secrets-manager.ts';
import type { CredentialStore } from './store.ts';

/** How a command names the platform and the secret of an account: the deployed ones, or on this machine. */
export interface TargetOptions {
  readonly local?: true;
  readonly baseUrl?: string;
  readonly credential?: string;
}

/** One account: the platform it is with, and its credential secret. */
export interface Target extends AsyncDisposable {
  readonly account: string;
  readonly platform: Connection;
  readonly store: CredentialStore;
}

// TCP and TLS take well under 1 s; a person is waiting. Milliseconds.
const CONNECT_TIMEOUT = 5_000;

const ACCOUNT = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Everything that is wrong with the options; nothing is asked of anybody. */
export async function targetFaults(account: string | undefined, options: TargetOptions): Promise<string[]> {
  const { local, baseUrl, credential } = options;
  const name =
    account === undefined || ACCOUNT.test(account)
      ? []
      : [`--account ${account} is not a name: a-z, 0-9, _ and -`];
  if (!local) {
    const alone = { '--base-url': baseUrl, '--credential': credential };
    const misplaced = Object.entries(alone).filter(([, value]) => value !== undefined);
    const only = misplaced.map(([flag]) => `${flag} can only be used with --local`);
    return [...name, ...only, ...(name.length === 0 ? accountFaults(account) : [])];
  }
  return [
    ...name,
    ...(baseUrl === undefined ? ['--local needs --base-url'] : urlFaults(baseUrl)),
    ...(credential === undefined ? ['--local needs --credential'] : await credentialFaults(credential)),
  ];
}

function accountFaults(account: string | undefined): string[] {
  const { accounts } = configHere();
  if (account === undefined || accounts.includes(account)) return [];
  return [`the config has no account ${account} (it has ${accounts.join(', ')})`];
}

/** @param options in which {@link targetFaults} found nothing */
export async function openTarget(account: string, options: TargetOptions): Promise<Target> {
  const { local, baseUrl, credential } = options;
  if (local && baseUrl !== undefined && credential !== undefined) {
    return target(account, baseUrl, { allowLoopback: true }, credentialInFile(credential));
  }
  const { base_url, stack } = configHere();
  const { region } = await deployedIn();
  const client = new SecretsManagerClient({ ...(region && { region }) });
  const store = credentialInSecretsManager(client, `${stack}/${account}/credential`);
  return target(account, base_url, { allowLoopback: false }, store, () => client.destroy());
}

function target(
  account: string,
  baseUrl: string,
  hosts: { allowLoopback: boolean },
  store: CredentialStore,
  close = () => {},
): Target {
  const dispatcher = safeAgent(hosts, { connectTimeout: CONNECT_TIMEOUT, pipelining: 0 });
  return {
    account,
    store,
    platform: { baseUrl, dispatcher },
    async [Symbol.asyncDispose]() {
      close();
      await dispatcher.destroy();
    },
  };
}
