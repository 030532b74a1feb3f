import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { send, visit } from './visitor.ts';

const HOUR = 3600;

test('2.3: the URL gives the report without any header, with its length and a strong ETag', async () => {
  const { ready, sandbox } = await visit();
  const { id, url } = await ready();
  const { status, headers, bytes } = await send('GET', url);
  const expected = sandbox.expected(id);
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': String(expected.length),
    'accept-ranges': 'bytes',
    etag: expect.stringMatching(/^"[0-9a-f]{32}"$/),
  });
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(expected.sha256());
  expect(JSON.parse(bytes.toString())).toHaveLength(expected.rows);
});

test('2.3: the URL is valid for 24 hours after its generation, and 403 XML from then on', async () => {
  const { ready, pass } = await visit();
  const { url } = await ready();
  pass(24 * HOUR - 1);
  expect((await send('GET', url)).status).toBe(200);
  pass(1);
  const { status, headers, text } = await send('GET', url);
  expect({ status, type: headers['content-type'] }).toEqual({ status: 403, type: 'application/xml' });
  expect(text).toContain('<Code>AccessDenied</Code><Message>Request has expired</Message>');
});

test('4.4: a GET of the report gives a URL that is valid again', async () => {
  const { ready, call, pass } = await visit();
  const { id } = await ready();
  pass(25 * HOUR);
  const { json } = await call('GET', `/reports/${id}`);
  expect((await send('GET', String(json.download_url))).status).toBe(200);
});

test.each([
  ['a later expiry', (url: string) => url.replace(/expires=\d+/, 'expires=9999999999999')],
  ['another path', (url: string) => url.replace('.json', '.csv')],
  ['another signature', (url: string) => url.replace(/signature=\w+/, 'signature=sbx_sig_x')],
  ['no query', (url: string) => url.replace(/\?.*/, '')],
])('a URL with %s is 403', async (_, forge) => {
  const { ready } = await visit();
  const { url } = await ready();
  const { status, text } = await send('GET', forge(url));
  expect(status).toBe(403);
  expect(text).toContain('SignatureDoesNotMatch');
});

test.each([
  'authorization',
  'x-api-key',
  'x-service-revision',
])('the storage host refuses the header %s', async (name) => {
  const { ready } = await visit();
  const { url } = await ready();
  const { status, text } = await send('GET', url, { headers: { [name]: 'Bearer x' } });
  expect(status).toBe(400);
  expect(text).toContain('<Code>InvalidArgument</Code>');
});

test('a URL signed for GET refuses HEAD', async () => {
  const { ready } = await visit();
  const { url } = await ready();
  expect((await send('HEAD', url)).status).toBe(403);
});

test.each([
  ['bytes=0-0', 0, 1],
  ['bytes=100-299', 100, 300],
  ['bytes=100-', 100, undefined],
  ['bytes=-50', -50, undefined],
])('a Range of %s is 206 with those bytes', async (range, start, end) => {
  const { ready, sandbox } = await visit();
  const { id, url } = await ready();
  const whole = (await send('GET', url)).bytes;
  const { status, headers, bytes } = await send('GET', url, { headers: { range } });
  const part = whole.subarray(start, end);
  const first = start < 0 ? whole.length + start : start;
  expect(status).toBe(206);
  expect(headers['content-range']).toBe(
    `bytes ${first}-${first + part.length - 1}/${sandbox.expected(id).length}`,
  );
  expect(bytes.equals(part)).toBe(true);
});

test('a Range past the end is 416 with the length', async () => {
  const { ready, sandbox } = await visit();
  const { id, url } = await ready();
  const { length } = sandbox.expected(id);
  const { status, headers } = await send('GET', url, { headers: { range: `bytes=${length}-` } });
  expect({ status, range: headers['content-range'] }).toEqual({ status: 416, range: `bytes */${length}` });
});

test('If-Match with the ETag goes on; with another it is 412', async () => {
  const { ready, sandbox } = await visit();
  const { id, url } = await ready();
  const { etag } = sandbox.expected(id);
  const headers = { range: 'bytes=10-' };
  expect((await send('GET', url, { headers: { ...headers, 'if-match': etag } })).status).toBe(206);
  expect((await send('GET', url, { headers: { ...headers, 'if-match': '"x"' } })).status).toBe(412);
});

test.each([
  ['0 rows', { rows: 0 }, '[]'],
  ['1 row', { rows: 1 }, expect.stringMatching(/^\[\n\{[^\n]+\}\n\]$/)],
])('a report of %s', async (_, report, text) => {
  const { ready } = await visit({ report });
  expect((await send('GET', (await ready()).url)).text).toEqual(text);
});

test('the size can be worked out from the request', async () => {
  const { ready } = await visit({
    report: { bytes: ({ metrics }, ordinal) => metrics.length * 1000 + ordinal },
  });
  expect((await send('GET', (await ready()).url)).bytes).toHaveLength(2001);
  expect((await send('GET', (await ready({ metrics: ['spend'] })).url)).bytes).toHaveLength(1002);
});

test('a large file waits for its reader instead of piling up', async () => {
  const { ready, sandbox } = await visit({ report: { bytes: 500e6 } });
  const { url } = await ready();
  const stop = new AbortController();
  const response = await fetch(url, { signal: stop.signal });
  await response.body?.getReader().read();
  const line = sandbox.journal.at(-1);
  // The sockets' buffers fill up; then no more is generated, however long the reader takes.
  let sent = -1;
  while (sent !== line?.bytes) {
    sent = line?.bytes ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(sent).toBeLessThan(50e6);
  stop.abort();
});

test('the journal tells the report, the range and the bytes of a download', async () => {
  const { ready, sandbox } = await visit();
  const { id, url } = await ready();
  await send('GET', url, { headers: { range: 'bytes=5-14' } });
  expect(sandbox.journal.at(-1)).toMatchObject({
    host: 'storage',
    endpoint: 'storage',
    status: 206,
    reportId: id,
    headers: { range: 'bytes=5-14' },
    bytes: 10,
  });
});
