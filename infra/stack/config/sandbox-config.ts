import { platformName, type RequestTarget } from '../../../functions/decisions/request-hash.ts';

/**
 * The `base_url` of a config whose platform is a sandbox that is deployed beside it, the name of its only
 * account, and what its requests' hashes say: nobody knows the sandbox's address before the deployment.
 */
export const SANDBOX = 'sandbox';

interface PlatformOfConfig {
  readonly base_url: string;
  readonly revision: string;
}

/** What a run of the config asks. */
export function targetOfConfig({ base_url, revision }: PlatformOfConfig): RequestTarget {
  return { platform: base_url === SANDBOX ? SANDBOX : platformName(base_url), revision };
}

/**
 * The faults of a config that is deployed with the sandbox. Another account has a credential of a platform,
 * which the functions would send to the sandbox. A key would stay when the stacks are removed.
 *
 * @param config not parsed yet
 */
export function sandboxFaults(config: unknown): string[] {
  const { base_url, accounts, kms_key } = Object(config) as Readonly<Record<string, unknown>>;
  const others = Object.keys(Object(accounts)).filter((name) => name !== SANDBOX);
  return [
    ...(base_url === SANDBOX ? [] : [`base_url: must be "${SANDBOX}" where the sandbox is deployed`]),
    ...others.map((name) => `accounts.${name}: the sandbox has only the account ${SANDBOX}`),
    ...(kms_key === undefined
      ? []
      : ['kms_key: cannot be combined with the sandbox, whose removal keeps nothing']),
  ];
}
