import { BlockList, isIP } from 'node:net';
import { DownloadRefused } from '../workflow/errors.ts';

/** The hosts that may be connected to. */
export interface HostPolicy {
  /** Allows loopback addresses, and plain http to them. For local runs only. */
  readonly allowLoopback: boolean;
  /** `storage.example.com` or `*.example.com`. Default: any public host. */
  readonly allowedHosts?: readonly string[];
}

// The special-purpose registries of IANA (RFC 6890): private, shared (CGNAT), link-local and with it the
// metadata address 169.254.169.254, documentation, benchmarking, multicast, reserved.
const SPECIAL = blockList(
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
);

// A resolver with DNS64 adds such an address to those of a name that has IPv4 addresses only (RFC 6147).
const NAT64 = blockList('64:ff9b::/96');

// Every public IPv6 address is in this block. Unique local ones and forms of IPv4 are not.
const GLOBAL_UNICAST = blockList('2000::/3');

/**
 * Checks a URL as far as possible without a lookup. `safeAgent` checks the addresses when it connects.
 *
 * @returns the parsed URL
 * @throws DownloadRefused with the reason and the URL's origin
 */
export function checkUrl(url: string, policy: HostPolicy): URL {
  if (!URL.canParse(url)) throw new DownloadRefused('The address is not a URL.');
  const parsed = new URL(url);
  const fault = faultOf(parsed, policy);
  if (fault === undefined) return parsed;
  // Leaves out the path and the query, which may hold a signature.
  const { protocol, host } = parsed;
  const origin = host === '' ? protocol : `${protocol}//${host}`;
  throw new DownloadRefused(`The address ${origin} was refused: ${fault}.`);
}

function faultOf(url: URL, { allowLoopback, allowedHosts }: HostPolicy): string | undefined {
  const host = bareHost(url.hostname);
  if (url.protocol !== 'https:' && !(allowLoopback && url.protocol === 'http:')) return 'it is not https';
  if (url.username !== '' || url.password !== '') return 'it has a user or password in it';
  if (/(^|\.)localhost$/.test(host) && !allowLoopback) return 'it names this machine';
  if (allowedHosts && !allowedHosts.some((allowed) => matches(host, allowed))) {
    return 'its host is not one of the allowed ones';
  }
  return isIP(host) === 0 ? undefined : addressFault(host, url.protocol, allowLoopback);
}

/** The reason not to connect to an IP address, if any. Plain http never leaves this machine. */
export function addressFault(address: string, protocol: string, allowLoopback: boolean): string | undefined {
  // IPv4-mapped addresses are refused.
  if (/^(127\.[\d.]+|::1)$/.test(address)) return allowLoopback ? undefined : 'it is a loopback address';
  if (protocol !== 'https:') return 'plain http is for a loopback address only';
  const isUsable = isIP(address) === 4 || contains(GLOBAL_UNICAST, address);
  return isUsable && !contains(SPECIAL, address) ? undefined : 'it is not a public address';
}

/** Leaves out the addresses that a resolver with DNS64 has made from the IPv4 addresses beside them. */
export function leaveOutNat64<T extends { readonly address: string }>(addresses: readonly T[]): T[] {
  const others = addresses.filter(({ address }) => isIP(address) === 4 || !contains(NAT64, address));
  return others.length > 0 ? others : [...addresses];
}

/** A host name as it is compared: in lower case, without brackets and without a dot at its end. */
export function bareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

function matches(host: string, allowed: string): boolean {
  const name = allowed.trim().toLowerCase();
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
}

function contains(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address));
}

function blockList(...subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = '', bits] = subnet.split('/');
    list.addSubnet(network, Number(bits), familyOf(network));
  }
  return list;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
