import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { expect, test } from 'vitest';
import { send, startClient, startDownload } from './client.ts';

const SIZE = 300_000;

/** Creates a READY report of SIZE bytes. The faults affect its download. */
function download(...faults: string[]) {
  return startDownload({ report: { bytes: SIZE }, faults: faults.map((fault) => `storage ${fault}`) });
}

/** Reads until the body ends, the connection breaks, or `enough` bytes have arrived. */
async function readUntilBroken(url: string, enough = Infinity) {
  const { headers, body } = await request(url);
  const pieces: Buffer[] = [];
  let broken = false;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      if (Buffer.concat(pieces).length >= enough) break;
    }
  } catch {
    broken = true;
  }
  return { headers, bytes: Buffer.concat(pieces), broken };
}

test('reset_after resets the connection after that many bytes', async () => {
  const { url, sandbox } = await download('reset_after=100000');
  const { bytes, broken, headers } = await readUntilBroken(url);
  expect({ broken, length: headers['content-length'] }).toEqual({ broken: true, length: String(SIZE) });
  expect(bytes.length).toBeLessThanOrEqual(100_000);
  expect(sandbox.journal.at(-1)?.bytes).toBe(100_000);
});

test.each([
  ['length', { 'content-length': String(SIZE) }, true],
  ['chunked', { 'transfer-encoding': 'chunked' }, true],
  ['close', { connection: 'close' }, false],
])('cut_after with framing=%s sends that many bytes and closes the connection', async (framing, framed, noticed) => {
  const { url } = await download(`cut_after=1000 framing=${framing}`);
  const { headers, bytes, broken } = await readUntilBroken(url);
  expect(headers).toMatchObject(framed);
  expect({ length: bytes.length, broken }).toEqual({ length: 1000, broken: noticed });
});

test.each(['chunked', 'close'])('framing=%s sends the whole file without its length', async (framing) => {
  const { url } = await download(`framing=${framing}`);
  const { headers, bytes, broken } = await readUntilBroken(url);
  expect(headers).not.toHaveProperty('content-length');
  expect({ length: bytes.length, broken }).toEqual({ length: SIZE, broken: false });
});

test('stall_after sends that many bytes and keeps the connection open', async () => {
  const { url, sandbox } = await download('stall_after=1000');
  const { bytes } = await readUntilBroken(url, 1000);
  expect(bytes).toHaveLength(1000);
  expect(sandbox.journal.at(-1)?.bytes).toBe(1000);
});

test('changed replaces the file with another one of the same length', async () => {
  const { url } = await download('nth=2 changed');
  const [before, after, later] = [await send('GET', url), await send('GET', url), await send('GET', url)];
  expect(after.bytes).toHaveLength(SIZE);
  expect(after.bytes.equals(before.bytes)).toBe(false);
  expect(after.headers.etag).not.toBe(before.headers.etag);
  expect(later.bytes.equals(after.bytes)).toBe(true);
  const stale = { range: 'bytes=10-', 'if-match': before.headers.etag ?? '' };
  expect((await send('GET', url, { headers: stale })).status).toBe(412);
});

test('the ETag can be weak or missing', async () => {
  const { url } = await download('etag=weak', 'nth=2 etag=none');
  expect((await send('GET', url)).headers.etag).toMatch(/^W\/"/);
  expect((await send('GET', url)).headers).not.toHaveProperty('etag');
});

test('ignore_range answers a range with 200 and the whole file', async () => {
  const { url } = await download('ignore_range');
  const { status, bytes } = await send('GET', url, { headers: { range: 'bytes=10-' } });
  expect({ status, length: bytes.length }).toEqual({ status: 200, length: SIZE });
});

test.each([
  ['status=403', { status: 403, text: expect.stringContaining('<Code>AccessDenied</Code>') }],
  ['status=404', { status: 404, text: expect.stringContaining('<Code>NoSuchKey</Code>') }],
  ['status=500', { status: 500, text: expect.stringContaining('<Code>InternalError</Code>') }],
  ['status=503', { status: 503, text: expect.stringContaining('<Code>SlowDown</Code>') }],
  [
    'status=302 header.location=http://127.0.0.1:9/',
    { status: 302, headers: { location: 'http://127.0.0.1:9/' } },
  ],
  ['body=', { status: 200, text: '' }],
  ['body="not JSON"', { status: 200, text: 'not JSON' }],
])('%s changes the response', async (fault, reply) => {
  const { url } = await download(fault);
  expect(await send('GET', url)).toMatchObject(reply);
});

test('gzip=right can be decoded, gzip=wrong cannot', async () => {
  const { url, sandbox, id } = await download('gzip=right', 'nth=2 gzip=wrong');
  const right = await send('GET', url);
  expect(right.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(right.bytes)).toHaveLength(sandbox.expected(id).length);
  const wrong = await send('GET', url);
  expect(wrong.headers['content-encoding']).toBe('gzip');
  expect(() => gunzipSync(wrong.bytes)).toThrow();
});

test('endless continues after the length of the file', async () => {
  const { url } = await download('endless');
  expect((await readUntilBroken(url, 3 * SIZE)).bytes.length).toBeGreaterThanOrEqual(3 * SIZE);
});

test('reset=before resets the connection before the response', async () => {
  const { url } = await download('reset=before');
  await expect(send('GET', url)).rejects.toThrow();
});

test('report=N affects only the download of that report', async () => {
  const { ready, sandbox } = await startClient();
  sandbox.faults.add('storage report=2 status=404');
  const [first, second] = [await ready(), await ready()];
  expect((await send('GET', second.url)).status).toBe(404);
  expect((await send('GET', first.url)).status).toBe(200);
});
