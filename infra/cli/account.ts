import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Connection } from '../../functions/platform/connection.ts';
import { safeAgent } from '../../functions/platform/safe-hosts.ts';
import {
  type CredentialStore,
  createDeployedCredentialStore,
  createFileCredentialStore,
} from './credential-store.ts';
import { readDeployedPlace } from './deployed.ts';
import { loadConfig, type PlatformOptions } from './options.ts';

/** An account of the platform, deployed or with a credential file on this machine. */
export interface Account extends AsyncDisposable {
  readonly name: string;
  readonly platform: Connection;
  readonly store: CredentialStore;
}

export interface AccountOptions extends PlatformOptions {
  readonly local?: true;
}

// TCP and TLS take well under 1 s, and a person is waiting. Milliseconds.
const CONNECT_TIMEOUT = 5_000;

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The faults of --account. */
export function accountFaults(name: string, { local }: AccountOptions): string[] {
  if (!NAME.test(name)) return [`--account ${name} is not a name: use a-z, 0-9, _ and -`];
  if (local) return [];
  const { accounts } = loadConfig();
  return accounts.includes(name) ? [] : [`the config has no account ${name} (it has ${accounts.join(', ')})`];
}

/** @param options without faults */
export async function createAccount(name: string, options: AccountOptions): Promise<Account> {
  const { local, baseUrl, credential } = options;
  if (local && baseUrl !== undefined && credential !== undefined) {
    const platform = createConnection(baseUrl, { allowLoopback: true });
    const dispose = () => platform.dispatcher.destroy();
    return { name, platform, store: createFileCredentialStore(credential), [Symbol.asyncDispose]: dispose };
  }
  const { base_url, stack } = loadConfig();
  const { region } = await readDeployedPlace();
  const client = new SecretsManagerClient({ ...(region && { region }) });
  const platform = createConnection(base_url, { allowLoopback: false });
  return {
    ...{ name, platform },
    store: createDeployedCredentialStore(client, `${stack}/${name}/credential`),
    async [Symbol.asyncDispose]() {
      client.destroy();
      await platform.dispatcher.destroy();
    },
  };
}

function createConnection(baseUrl: string, hosts: { allowLoopback: boolean }): Connection {
  return { baseUrl, dispatcher: safeAgent(hosts, { connectTimeout: CONNECT_TIMEOUT, pipelining: 0 }) };
}
