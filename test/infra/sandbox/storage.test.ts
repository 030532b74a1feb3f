import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { send, startClient, startDownload } from './client.ts';

const HOUR = 3600;

test('the URL serves the report without any header, with its length and a strong ETag (contract 2.3)', async () => {
  const { id, url, sandbox } = await startDownload();
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

test('the URL is valid for 24 hours, then it is 403 in XML (contract 2.3)', async () => {
  const { url, pass } = await startDownload();
  pass(24 * HOUR - 1);
  expect((await send('GET', url)).status).toBe(200);
  pass(1);
  const { status, headers, text } = await send('GET', url);
  expect({ status, type: headers['content-type'] }).toEqual({ status: 403, type: 'application/xml' });
  expect(text).toContain('<Code>AccessDenied</Code><Message>Request has expired</Message>');
});

test('a GET of the report returns a valid URL after the last one has expired (contract 4.4)', async () => {
  const { id, poll, pass } = await startDownload();
  pass(25 * HOUR);
  const { json } = await poll(id);
  expect((await send('GET', String(json.download_url))).status).toBe(200);
});

test('a changed URL, and HEAD with a URL signed for GET, are 403', async () => {
  const { url } = await startDownload();
  const changed = [
    url.replace(/expires=\d+/, 'expires=9999999999999'),
    url.replace('.json', '.csv'),
    url.replace(/signature=\w+/, 'signature=sbx_sig_x'),
    url.replace(/\?.*/, ''),
  ];
  for (const each of changed) {
    const { status, text } = await send('GET', each);
    expect([each, status]).toEqual([each, 403]);
    expect(text).toContain('SignatureDoesNotMatch');
  }
  expect((await send('HEAD', url)).status).toBe(403);
});

test('the storage host refuses the headers of the platform', async () => {
  const { url } = await startDownload();
  for (const name of ['authorization', 'x-api-key', 'x-service-revision']) {
    const { status, text } = await send('GET', url, { headers: { [name]: 'Bearer x' } });
    expect([name, status]).toEqual([name, 400]);
    expect(text).toContain('<Code>InvalidArgument</Code>');
  }
});

test.each([
  ['bytes=0-0', 0, 1],
  ['bytes=100-299', 100, 300],
  ['bytes=100-', 100, undefined],
  ['bytes=-50', -50, undefined],
])('the range %s is 206 with those bytes', async (range, start, end) => {
  const { id, url, sandbox } = await startDownload();
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

test('a range after the end is 416 with the length', async () => {
  const { id, url, sandbox } = await startDownload();
  const { length } = sandbox.expected(id);
  const { status, headers } = await send('GET', url, { headers: { range: `bytes=${length}-` } });
  expect({ status, range: headers['content-range'] }).toEqual({ status: 416, range: `bytes */${length}` });
});

test('If-Match is accepted with the ETag of the file and is 412 with another', async () => {
  const { id, url, sandbox } = await startDownload();
  const { etag } = sandbox.expected(id);
  const headers = { range: 'bytes=10-' };
  expect((await send('GET', url, { headers: { ...headers, 'if-match': etag } })).status).toBe(206);
  expect((await send('GET', url, { headers: { ...headers, 'if-match': '"x"' } })).status).toBe(412);
});

test.each([
  ['0 rows', { rows: 0 }, '[]'],
  ['1 row', { rows: 1 }, expect.stringMatching(/^\[\n\{[^\n]+\}\n\]$/)],
])('a report of %s has the text', async (_, report, text) => {
  const { url } = await startDownload({ report });
  expect((await send('GET', url)).text).toEqual(text);
});

test('the size may depend on the request and the ordinal', async () => {
  const { ready } = await startClient({
    report: { bytes: ({ metrics }, ordinal) => metrics.length * 1000 + ordinal },
  });
  expect((await send('GET', (await ready()).url)).bytes).toHaveLength(2001);
  expect((await send('GET', (await ready({ metrics: ['spend'] })).url)).bytes).toHaveLength(1002);
});

test('a large file is generated only as fast as the client reads it', async () => {
  const { url, sandbox } = await startDownload({ report: { bytes: 500e6 } });
  const stop = new AbortController();
  const response = await fetch(url, { signal: stop.signal });
  await response.body?.getReader().read();
  const line = sandbox.journal.at(-1);
  // Waits until the buffers of the sockets are full.
  let sent = -1;
  while (sent !== line?.bytes) {
    sent = line?.bytes ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(sent).toBeLessThan(50e6);
  stop.abort();
});

test('the journal has the report, the range and the bytes of a download', async () => {
  const { id, url, sandbox } = await startDownload();
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
