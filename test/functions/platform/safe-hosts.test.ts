import dns, { type LookupAddress } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { expect, onTestFinished, test } from 'vitest';
import { safeAgent } from '../../../functions/platform/safe-agent.ts';
import { checkUrl, leaveOutNat64 } from '../../../functions/platform/safe-hosts.ts';
import { listen } from '../../support/listen.ts';

const deployed = { allowLoopback: false };
const local = { allowLoopback: true };

test.each([
  'https://storage.example.com/report.json?X-Amz-Signature=canary',
  'https://storage.example.com:8443/r',
  'https://8.8.8.8/r',
  'https://[2606:4700::1111]/r',
  'https://storage.example.com./r',
  'https://localhost.example.com/r',
  'https://notlocalhost/r',
])('%s is allowed', (url) => {
  expect(checkUrl(url, deployed).href).toBe(new URL(url).href);
});

test.each([
  // Another scheme, a user or a password.
  ...['report.json', 'http://storage.example.com/r', 'ftp://storage.example.com/r', 'file:///etc/passwd'],
  ...['https://user:pass@files.example/r', 'https://user@files.example/r', 'https://:pass@files.example/r'],
  // This machine, in each way to write it.
  ...['https://127.0.0.1/r', 'https://127.8.9.1/r', 'https://2130706433/r', 'https://0x7f.1/r'],
  ...['https://0177.0.0.1/r', 'https://127.1/r', 'https://127.0.0.1./r', 'https://0.0.0.0/r'],
  ...['https://localhost/r', 'https://LOCALHOST./r', 'https://a.localhost/r'],
  ...['https://[::1]/r', 'https://[::]/r', 'https://[::ffff:127.0.0.1]/r', 'https://[::7f00:1]/r'],
  // Private, shared and link-local addresses, also the addresses of metadata and credentials.
  ...['https://10.1.2.3/r', 'https://172.31.255.255/r', 'https://192.168.0.1/r', 'https://100.64.0.1/r'],
  ...['https://169.254.169.254/latest/meta-data', 'https://169.254.170.2/v2'],
  ...['https://[fe80::1]/r', 'https://[fd00:ec2::254]/r'],
  // Other special addresses, and IPv6 addresses that hold one of IPv4.
  ...['https://198.19.0.1/r', 'https://224.0.0.1/r', 'https://255.255.255.255/r'],
  ...['https://[ff02::1]/r', 'https://[2001:db8::1]/r', 'https://[2002:7f00:1::]/r', 'https://[2001::1]/r'],
  ...['https://[64:ff9b::10.0.0.1]/r', 'https://[64:ff9b:1::10.0.0.1]/r'],
  ...['https://[::ffff:169.254.169.254]/r', 'https://[::ffff:8.8.8.8]/r'],
])('21: %s is refused', (url) => {
  expect(() => checkUrl(url, deployed)).toThrow(expect.objectContaining({ name: 'DownloadRefused' }));
});

const LOCAL = ['http://127.0.0.1:1/r', 'http://[::1]:1/r', 'http://localhost:1/r', 'https://127.0.0.1/r'];
test.each(LOCAL)('a local run may use %s', (url) => {
  expect(checkUrl(url, local).href).toBe(url);
});

test.each([
  'http://8.8.8.8/r',
  'https://10.0.0.1/r',
  'https://169.254.169.254/r',
  'http://169.254.169.254/r',
  'http://[::ffff:127.0.0.1]/r',
  'http://user@127.0.0.1/r',
  'ftp://127.0.0.1/r',
  'ws://localhost/r',
])('not even a local run may use %s', (url) => {
  expect(() => checkUrl(url, local)).toThrow(expect.objectContaining({ name: 'DownloadRefused' }));
});

test.each([
  ['storage.example.com', true],
  ['b.s3.eu-west-1.amazonaws.com', true],
  ['amazonaws.com', false],
  ['evilamazonaws.com', false],
  ['storage.example.com.evil.example', false],
])('an allow-list admits its hosts, the subdomains of a star, and no look-alike: %s: %s', (host, isAdmitted) => {
  const policy = { ...deployed, allowedHosts: ['Storage.Example.COM\n', ' *.amazonaws.com '] };
  const check = () => checkUrl(`https://${host}/r`, policy);
  if (isAdmitted) expect(check().host).toBe(host);
  else expect(check).toThrow('not one of the allowed ones');
});

test.each([
  ['https://10.0.0.1:8443/canary?X-Amz-Signature=canary', 'https://10.0.0.1:8443'],
  ['https://user:canary@files.example/r#canary', 'https://files.example'],
  ['s3://bucket/canary?X-Amz-Signature=canary', 's3://bucket'],
  ['data:text/plain,canary', 'data:'],
])('the refusal of %s names %s, without the parts that may hold a signature', (url, name) => {
  expect(() => checkUrl(url, deployed)).toThrow(
    new RegExp(`^The address ${name} was refused: (?!.*canary)`, 's'),
  );
});

const LOOPBACK = ['http://127.0.0.1', 'http://localhost', 'http://[::1]', 'https://localhost'];
test.each(LOOPBACK)('21: the agent does not connect to a loopback address: %s', async (origin) => {
  await using server = await listen((_, response) => response.end('secret'));
  const request = requestFrom(`${origin}:${server.port}`, deployed);
  await expect(request).rejects.toMatchObject({ name: 'DownloadRefused' });
  expect(server.requests).toEqual([]);
});

test.each([
  ['https://10.0.0.1', 'The host 10.0.0.1 was refused: it is not a public address.'],
  ['http://8.8.8.8', 'The host 8.8.8.8 was refused: plain http is for a loopback address only.'],
  ['https://[::ffff:8.8.8.8]', 'The host ::ffff:808:808 was refused: it is not a public address.'],
])('21: the agent gives the reason for not connecting to %s', async (origin, happened) => {
  const refused = { name: 'DownloadRefused', message: `${happened}\n{}` };
  await expect(requestFrom(origin, local)).rejects.toMatchObject(refused);
});

test.each<[string, readonly string[] | Error, string]>([
  ['with a private second address', ['8.8.8.8', '10.0.0.1'], 'rebound.test was refused: it is not a public'],
  ['with a private first address', ['10.0.0.1', '8.8.8.8'], 'rebound.test was refused: it is not a public'],
  [
    'with nothing but an address of NAT64',
    ['64:ff9b::808:808'],
    'rebound.test was refused: it is not a public',
  ],
  ['of NAT64 whose own address is private', ['64:ff9b::a00:1', '10.0.0.1'], 'it is not a public address'],
  ['that is not found', new Error('no such name'), 'no such name'],
  ['without an address', [], 'no address'],
])('21: the agent does not connect to a name %s', async (_, resolved, reason) => {
  resolveTo(resolved);
  await expect(requestFrom('https://rebound.test', deployed)).rejects.toThrow(reason);
});

test('an address that DNS64 has made is left out beside another one, and stays if it is alone', () => {
  const addressesOf = (...all: string[]) =>
    leaveOutNat64(all.map((address) => ({ address }))).map(({ address }) => address);
  expect(addressesOf('64:ff9b::808:808', '8.8.8.8')).toEqual(['8.8.8.8']);
  expect(addressesOf('2600::1', '64:ff9b::808:808')).toEqual(['2600::1']);
  expect(addressesOf('64:ff9b::808:808')).toEqual(['64:ff9b::808:808']);
});

test('21: the agent connects to a name in a network with DNS64 by its own address', async () => {
  await using server = await listen((_, response) => response.end('of the platform'));
  resolveTo(['64:ff9b::7f00:1', '127.0.0.1']);
  await requestFrom(`http://dns64.test:${server.port}`, local);
  expect(server.requests).toHaveLength(1);
});

function requestFrom(origin: string, policy: typeof local): Promise<unknown> {
  const agent = safeAgent(policy);
  return agent.request({ origin, path: '/', method: 'GET' }).finally(() => agent.destroy());
}

/** Makes the system's resolver give these addresses, or this error, for every name. */
function resolveTo(resolved: readonly string[] | Error): void {
  const { lookup } = dns;
  onTestFinished(() => {
    dns.lookup = lookup;
    syncBuiltinESMExports();
  });
  type Callback = (error: Error | null, addresses?: readonly LookupAddress[]) => void;
  const answer = (_name: string, _options: object, callback: Callback) =>
    resolved instanceof Error
      ? callback(resolved)
      : callback(
          null,
          resolved.map((address) => ({ address, family: 4 })),
        );
  dns.lookup = answer as typeof dns.lookup;
  syncBuiltinESMExports();
}
