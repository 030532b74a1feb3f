import { crc32, gzipSync } from 'node:zlib';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { makeCertificate } from '../../support/certificate.ts';
import {
  copyOnce,
  expectDelivered,
  expectNothing,
  jsonOf,
  KEY,
  PART,
  startCopying,
} from '../../support/copying.ts';

const { body } = jsonOf(20 * PART + 17);

const FRAMINGS = ['length', 'chunked'] as const;

test.each(FRAMINGS)('a file framed by %s arrives byte for byte', async (framing) => {
  const outcome = await copyOnce({ body, framing });
  expectDelivered(outcome, body);
  expect(outcome.copied).toMatchObject({ key: KEY, content_type: 'application/json' });
  expect(outcome.host.requests).toHaveLength(1);
});

test('a file arrives byte for byte over TLS', async () => {
  const outcome = await copyOnce({ body, certificate: makeCertificate() });
  expectDelivered(outcome, body);
});

test('17: a file framed by neither Content-Length nor chunks is refused, although all of it came', async () => {
  const outcome = await copyOnce({ body, framing: 'close' });
  expectNothing(outcome, 'CopyFailed');
  expect(String(outcome.error)).toContain('marks the end of the file neither');
});

test.each([
  0,
  1,
  PART - 1,
  PART,
  PART + 1,
  2 * PART,
  3 * PART,
])('a file of about %i bytes arrives', async (bytes) => {
  const file = jsonOf(Math.max(bytes, 100)).body;
  const outcome = await copyOnce({ body: file });
  expectDelivered(outcome, file);
  const puts = outcome.s3.journal.map(({ operation }) => operation);
  expect(puts.includes('PutObject')).toBe(file.length < PART);
});

test.each([
  '[]',
  '\ufeff [ ]\n',
  '{"a":1}\n{"a":2}\n',
  '{"data":[1,2,3]}',
])('%j is delivered', async (text) => {
  const outcome = await copyOnce({ body: Buffer.from(text) });
  expectDelivered(outcome, Buffer.from(text));
});

test('a file without a content type has the one of its format', async () => {
  const outcome = await copyOnce({ body, headers: { 'Content-Type': '' } });
  expect(outcome.copied?.content_type).toBe('application/json');
});

test.each([
  '',
  ' ',
  'hello',
  '<html></html>',
  '[1,2',
  '[1}',
  '[]x',
  '{"a":"b',
  '\ufeff\ufeff[]',
])('23: %j is refused because it is not JSON', async (text) => {
  const outcome = await copyOnce({ body: Buffer.from(text) });
  expectNothing(outcome, 'DownloadRefused');
});

test.each([
  'text/html',
  'Text/HTML; charset=utf-8',
])('23: a web page (%s) is refused in any format', async (type) => {
  for (const format of ['CSV', 'JSON']) {
    const outcome = await copyOnce(
      { body: Buffer.from('[]'), headers: { 'Content-Type': type } },
      { format },
    );
    expectNothing(outcome, 'DownloadRefused');
  }
});

test('23: an empty CSV file is refused', async () => {
  expectNothing(await copyOnce({ body: Buffer.alloc(0) }, { format: 'CSV' }), 'DownloadRefused');
});

test('a format that is not JSON is stored as it comes', async () => {
  const outcome = await copyOnce({ body: Buffer.from('a,b\n1,2\n') }, { format: 'CSV' });
  expectDelivered(outcome, Buffer.from('a,b\n1,2\n'));
});

test('only neutral headers go to the storage host', async () => {
  const { host } = await copyOnce({ body });
  const { host: _, ...headers } = host.requests[0]?.headers ?? {};
  expect(headers).toEqual({ accept: '*/*', 'accept-encoding': 'identity', connection: 'close' });
});

test.each([
  [1, 'length'],
  [3, 'length'],
  [20, 'length'],
  [1, 'chunked'],
  [3, 'chunked'],
  [20, 'chunked'],
] as const)('16: after %i resets in mid-body (%s), the download is resumed by Range', async (breaks, framing) => {
  const turns = Array.from({ length: breaks }, (_, at) => ({
    after: 10_000 + 1_234 * at,
    by: 'reset' as const,
  }));
  const outcome = await copyOnce({ body, framing, turns });
  expectDelivered(outcome, body);
  expect(outcome.host.requests).toHaveLength(breaks + 1);
  expect(outcome.host.requests[1]?.headers).toMatchObject({
    'if-match': '"one"',
    range: expect.stringMatching(/^bytes=\d+-$/),
  });
});

test.each(FRAMINGS)('17: a body cut short (%s) is resumed where it was cut', async (framing) => {
  const outcome = await copyOnce({ body, framing, turns: [{ after: 3 * PART + 5, by: 'close' }] });
  expectDelivered(outcome, body);
  expect(outcome.host.requests).toHaveLength(2);
  expect(outcome.host.requests[1]?.range).toMatch(/^bytes=[1-9]/);
});

test.each(FRAMINGS)('17: a body that is always cut short (%s) is never visible', async (framing) => {
  const turns = Array.from({ length: 100 }, () => ({ after: 3 * PART + 5, by: 'close' as const }));
  const outcome = await copyOnce({ body, framing, etag: null, turns });
  expectNothing(outcome, 'CopyFailed');
});

test('9: a body that stalls is resumed', async () => {
  const turns = [{ after: 5 * PART, by: 'stall' as const }];
  const outcome = await copyOnce({ body, turns }, { source: { timeouts: { idle: 300 } } });
  expectDelivered(outcome, body);
  expect(outcome.host.requests).toHaveLength(2);
  expect(outcome.host.requests[1]?.range).toMatch(/^bytes=[1-9]/);
});

test('9: a body that brings a byte at a time is resumed', async () => {
  const turns = [{ after: 5 * PART, by: 'trickle' as const }];
  const outcome = await copyOnce({ body, turns }, { source: { timeouts: { idle: 300 } } });
  expectDelivered(outcome, body);
  expect(outcome.host.requests).toHaveLength(2);
  expect(outcome.host.requests[1]?.range).toMatch(/^bytes=[1-9]/);
});

test.each([
  ['a weak ETag', { etag: 'W/"one"' }],
  ['no ETag', { etag: null }],
  ['a server that ignores Range', { ranges: false }],
])('18: with %s the copy starts again, and never mixes versions', async (_, options) => {
  const turns = [3, 5, 1].map((parts) => ({ after: parts * PART + 7, by: 'reset' as const }));
  const outcome = await copyOnce({ body, ...options, turns });
  expectDelivered(outcome, body);
  expect(outcome.host.sent()).toBeGreaterThan(body.length);
});

test('18: a file that changed between two ranges is copied from its beginning', async () => {
  const changed = jsonOf(9 * PART).body;
  const other = { body: changed, etag: '"two"' };
  const turns = [{ after: 4 * PART + 9, by: 'reset' as const }, other, other];
  const outcome = await copyOnce({ body, turns });
  expectDelivered(outcome, changed);
});

test.each([
  ['ETag', Buffer.from(body.toString().replaceAll('2026', '2027')), '"two"'],
  ['length', jsonOf(9 * PART).body, '"one"'],
])('18: the copy notices by the %s that a host ignores If-Match', async (_, changed, etag) => {
  const other = { body: changed, etag, ignoresIfMatch: true };
  const turns = [{ after: 4 * PART + 9, by: 'reset' as const }, other, other];
  expectDelivered(await copyOnce({ body, turns }), changed);
});

test.each([
  ['403 XML', 403, 'UrlExpired'],
  ['404', 404, 'CopyFailed'],
  ['500', 500, 'CopyFailed'],
  ['503', 503, 'CopyFailed'],
  ['a redirect', 302, 'DownloadRefused'],
])('19, 20, 21: %s has status %i and becomes %s', async (_, status, name) => {
  const outcome = await copyOnce({ body, turns: [{ status, headers: { location: 'http://127.0.0.1:1/' } }] });
  expectNothing(outcome, name);
  expect(outcome.host.requests).toHaveLength(1);
});

test('20: a download is resumed after a 503 between two ranges', async () => {
  const outcome = await copyOnce({
    body,
    turns: [{ after: 5 * PART, by: 'reset' }, { status: 503 }, { status: 503 }],
  });
  expectDelivered(outcome, body);
});

test.each(FRAMINGS)('22: a body over the cap (%s) is stopped', async (framing) => {
  const outcome = await copyOnce({ body, framing }, { source: { maxBytes: 4 * PART } });
  expectNothing(outcome, 'DownloadRefused');
});

test('24: gzip is stored as it came, labeled', async () => {
  const packed = gzipSync(body, { level: 0 });
  const headers = { 'Content-Encoding': 'gzip' };
  await using copying = await startCopying({
    body: packed,
    headers,
    turns: [{ after: 3 * PART, by: 'reset' }],
  });
  const outcome = await copying.copy();
  expectDelivered(outcome, packed);
  expect(outcome.copied).toMatchObject({ content_encoding: 'gzip' });
  const { bucket: Bucket, key: Key, expectedBucketOwner: ExpectedBucketOwner } = copying.destination;
  const stored = await copying.s3.client.send(new HeadObjectCommand({ Bucket, Key, ExpectedBucketOwner }));
  expect(stored).toMatchObject({ ContentEncoding: 'gzip', ContentType: outcome.copied?.content_type });
});

test.each([
  ['gzip that is none', 'gzip', body],
  ['gzip cut short', 'gzip', gzipSync(body, { level: 0 }).subarray(0, -20)],
  ['gzip of HTML', 'gzip', gzipSync('<html></html>')],
  ['an unknown encoding', 'rot13', body],
])('24: %s is refused', async (_, encoding, bytes) => {
  const outcome = await copyOnce({ body: bytes, headers: { 'Content-Encoding': encoding } });
  expectNothing(outcome, 'DownloadRefused');
});

test('24: gzip with a wrong checksum at its end is refused', async () => {
  const packed = gzipSync(body, { level: 0 });
  packed.writeUInt32LE(crc32('another'), packed.length - 8);
  const headers = { 'Content-Encoding': 'gzip' };
  const turns = [{ after: packed.length - 8, by: 'close' } as const];
  expectNothing(await copyOnce({ body: packed, headers, turns }), 'DownloadRefused');
});

test("no message names the URL's query", async () => {
  for (const status of [302, 403, 404, 500]) {
    const { error } = await copyOnce({ body, turns: [{ status }] });
    expect(String(error)).not.toContain('canary');
  }
});

test('a host that refuses the connection fails the copy, so that the state machine retries with a fresh URL', async () => {
  await using copying = await startCopying({ body });
  await copying.host[Symbol.asyncDispose]();
  const outcome = await copying.copy();
  expectNothing(outcome, 'CopyFailed');
  expect(String(outcome.error)).toContain('did not answer (ECONNREFUSED)');
});
