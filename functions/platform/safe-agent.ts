import { lookup as resolve } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { DownloadRefused } from '../workflow/errors.ts';
import { skipInterimAnswers } from './interim.ts';
import { addressFault, bareHost, type HostPolicy, leaveOutNat64 } from './safe-hosts.ts';

/**
 * A dispatcher that refuses the same addresses as `checkUrl`. It checks every address of a name when it
 * connects, so a name cannot be public when checked and private when used. It follows no redirect, and speaks
 * HTTP/1.1 only, because undici's timeouts do not apply to HTTP/2.
 */
export function safeAgent(
  policy: Pick<HostPolicy, 'allowLoopback'>,
  { connectTimeout, ...options }: Omit<Agent.Options, 'connect'> = {},
): Agent {
  const timeout = connectTimeout === undefined ? {} : { timeout: connectTimeout };
  return new Agent({ allowH2: false, ...options, connect: safeConnector(policy, timeout) });
}

function safeConnector(
  { allowLoopback }: Pick<HostPolicy, 'allowLoopback'>,
  options: { readonly timeout?: number },
): buildConnector.connector {
  const connectors = new Map(
    ['https:', 'http:'].map((protocol) => {
      const lookup = checkedLookup((address) => addressFault(address, protocol, allowLoopback));
      return [protocol, buildConnector({ ...options, allowH2: false, lookup })] as const;
    }),
  );
  return (target, callback) => {
    const host = bareHost(target.hostname);
    // A literal address is not looked up, so it is checked here.
    const fault = isIP(host) === 0 ? undefined : addressFault(host, target.protocol, allowLoopback);
    const connector = connectors.get(target.protocol);
    const connected = (...[error, socket]: Parameters<buildConnector.Callback>) => {
      if (error) return callback(error, null);
      skipInterimAnswers(socket);
      callback(null, socket);
    };
    if (fault === undefined && connector) connector(target, connected);
    else callback(refusedHost(host, fault ?? 'its protocol is unknown'), null);
  };
}

function checkedLookup(faultOfAddress: (address: string) => string | undefined): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, resolved) => {
      const addresses = leaveOutNat64(resolved ?? []);
      const [first] = addresses;
      if (error || first === undefined) return callback(error ?? new Error('no address'), '');
      const fault = addresses
        .map(({ address }) => faultOfAddress(address))
        .find((reason) => reason !== undefined);
      if (fault !== undefined) return callback(refusedHost(hostname, fault), '');
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}

function refusedHost(host: string, fault: string): DownloadRefused {
  return new DownloadRefused(`The host ${host} was refused: ${fault}.`);
}
