import { expect, test } from 'vitest';
import { send, startDownload } from './client.ts';

const HOUR = 3600;

test('the URL is valid for 24 hours, then it is 403 in XML (contract 2.3)', async () => {
  const { url, pass } = await startDownload();
  pass(24 * HOUR - 1);
  expect((await send('GET', url)).status).toBe(200);
  pass(1);
  const { status, headers, text } = await send('GET', url);
  expect({ status, type: headers['content-type'] }).toEqual({ status: 403, type: 'application/xml' });
  expect(text).toContain('<Code>AccessDenied</Code><Message>Request has expired</Message>');
});

test('a changed URL, and HEAD with a URL signed for GET, are 403', async () => {
  const { url } = await startDownload();
  for (const changed of [`${url}&expires=9999999999999`, url.replace(/\?.*/, '')]) {
    const { status, text } = await send('GET', changed);
    expect({ changed, status }).toEqual({ changed, status: 403 });
    expect(text).toContain('SignatureDoesNotMatch');
  }
  expect((await send('HEAD', url)).status).toBe(403);
});

test('the storage host refuses the headers of the platform', async () => {
  const { url } = await startDownload();
  for (const name of ['authorization', 'x-api-key', 'x-service-revision']) {
    const { status, text } = await send('GET', url, { headers: { [name]: 'Bearer x' } });
    expect({ name, status }).toEqual({ name, status: 400 });
    expect(text).toContain('<Code>InvalidArgument</Code>');
  }
});

test('If-Match is accepted with the ETag of the file and is 412 with another', async () => {
  const { url, sandbox } = await startDownload();
  const statusOf = async (etag: string) =>
    (await send('GET', url, { headers: { range: 'bytes=10-', 'if-match': etag } })).status;
  expect(await statusOf(String(sandbox.reports()[0]?.file.etag))).toBe(206);
  expect(await statusOf('"x"')).toBe(412);
});

test.each([
  ['bytes=10-', 10],
  ['bytes=1-5', 1, 6],
  ['bytes=0-0', 0, 1],
  ['bytes=10-99999999', 10],
  ['bytes=-7', -7],
  ['bytes=-99999999', 0],
])('the range %s is a 206 with its bytes, as on S3', async (range, start, end?: number) => {
  const { url } = await startDownload();
  const whole = Buffer.from((await send('GET', url)).text);
  const part = whole.subarray(start, end);
  const first = whole.length - whole.subarray(start).length;
  const { status, headers, text } = await send('GET', url, { headers: { range } });
  expect({ status, text, range: headers['content-range'], length: headers['content-length'] }).toEqual({
    status: 206,
    text: String(part),
    range: `bytes ${first}-${first + part.length - 1}/${whole.length}`,
    length: String(part.length),
  });
});

test.each([
  ['bytes=5-1', 200],
  ['bytes=1-2,4-5', 200],
  ['bytes=-', 200],
  ['lines=1-5', 200],
  ['bytes=-0', 416],
  ['bytes=99999999-', 416],
])('the range %s is a %i, as on S3', async (range, expected) => {
  const { url } = await startDownload();
  const { status, headers } = await send('GET', url, { headers: { range } });
  expect({ status, range: headers['content-range'] }).toEqual({ status: expected, range: undefined });
});
