import { describe, expect, test } from 'vitest';
import { answer, chunks, downloadFrom } from '../../support/download.ts';

const TEXT = '0123456789';
const ETAG = { ETag: '"one"' };
const whole = (sent = 10) => answer(200, { ...ETAG, 'Content-Length': '10' }, TEXT.slice(0, sent));
/** The bytes from 4 on. Tests change parts of the head. */
function rest(headers: Record<string, string> = {}, text = TEXT.slice(4)): string {
  const length = { 'Content-Length': String(text.length) };
  return answer(206, { ...ETAG, 'Content-Range': 'bytes 4-9/10', ...length, ...headers }, text);
}

describe('the rest of a file', () => {
  test('is requested by Range and If-Match, and appended', async () => {
    const { ended, text, begins, requests } = await downloadFrom([whole(4), rest()]);
    expect(ended).toBe(10);
    expect([text, begins.length]).toEqual([TEXT, 1]);
    const neutral = { connection: 'close', accept: '*/*', 'accept-encoding': 'identity' };
    expect(requests).toEqual([neutral, { ...neutral, range: 'bytes=4-', 'if-match': '"one"' }]);
  });

  test.each([
    ['another beginning', { 'Content-Range': 'bytes 5-9/10' }],
    ['another end', { 'Content-Range': 'bytes 4-8/10' }],
    ['another length', { 'Content-Range': 'bytes 4-10/11' }],
    ['another end and length', { 'Content-Range': 'bytes 4-9/11' }],
    ['no length', { 'Content-Range': 'bytes 4-9/*' }],
    ['another unit', { 'Content-Range': 'xbytes 4-9/10' }],
    ['something behind its range', { 'Content-Range': 'bytes 4-9/10x' }],
    ['no range', { 'Content-Range': '' }],
    ['another ETag', { ETag: '"two"' }],
    ['a weak ETag', { ETag: 'W/"one"' }],
    ['no ETag', { ETag: '' }],
    ['another encoding', { 'Content-Encoding': 'gzip' }],
    ['a body that is shorter than its range', { 'Content-Length': '5' }],
    ['a body that is longer than its range', { 'Content-Length': '7' }],
  ])('18: starts again if the answer has %s', async (_, headers) => {
    const { ended, text, begins, requests } = await downloadFrom([whole(4), rest(headers), whole()]);
    expect(ended).toBe(10);
    expect([text, begins.length]).toEqual([TEXT, 2]);
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', undefined]);
    expect(begins[1]).toMatchObject({ ignoresRanges: false });
  });

  test('18: starts again if a complete body is shorter than its range', async () => {
    const head = { ...ETAG, 'Content-Range': 'bytes 4-9/10', 'Transfer-Encoding': 'chunked' };
    const page = answer(206, head, '4\r\n<p/>\r\n0\r\n\r\n');
    const { ended, text, requests } = await downloadFrom([whole(4), page, whole()]);
    expect(ended).toBe(10);
    expect(text).toBe(TEXT);
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', undefined]);
  });

  test('18: starts again if chunks bring more than the range', async () => {
    const head = { ...ETAG, 'Content-Range': 'bytes 4-9/10', 'Transfer-Encoding': 'chunked' };
    const { ended, text } = await downloadFrom([whole(4), answer(206, head, chunks('456789x')), whole()]);
    expect([ended, text]).toEqual([10, TEXT]);
  });

  test.each([412, 416])('starts again after a %i', async (status) => {
    const refused = answer(status, { 'Content-Range': 'bytes */4', 'Content-Length': '0' });
    const { ended, requests } = await downloadFrom([whole(4), refused, whole()]);
    expect(ended).toBe(10);
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', undefined]);
  });

  test('18: starts again with the answer if the host ignores the range, and remembers that', async () => {
    const { ended, begins, requests } = await downloadFrom([whole(4), whole(5), whole(6), whole()]);
    expect(ended).toBe(10);
    expect(begins.map(({ ignoresRanges }) => ignoresRanges)).toEqual([false, true, true, true]);
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', 'bytes=5-', 'bytes=6-']);
  });

  test('is not requested by Range if no byte has arrived', async () => {
    const { ended, requests } = await downloadFrom([whole(0), whole()]);
    expect(ended).toBe(10);
    expect(requests.map(({ range }) => range)).toEqual([undefined, undefined]);
  });
});

describe('a chunked file', () => {
  const CHUNKED = { ...ETAG, 'Transfer-Encoding': 'chunked' };
  const cut = (text: string, headers: Record<string, string> = CHUNKED) =>
    answer(200, headers, chunks(text).slice(0, -'0\r\n\r\n'.length));
  const nothing = (total: number) =>
    answer(416, { 'Content-Range': `bytes */${total}`, 'Content-Length': '0' });

  test('is held to the length that its rest names', async () => {
    const { ended, text, requests } = await downloadFrom([
      cut(TEXT.slice(0, 4)),
      rest({ 'Content-Length': '6' }, '45'),
      rest({ 'Content-Range': 'bytes 6-9/10' }, '6789'),
    ]);
    expect([ended, text]).toEqual([10, TEXT]);
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', 'bytes=6-']);
  });

  test('without its last chunk is complete if nothing follows', async () => {
    const { ended, text, requests } = await downloadFrom([cut(TEXT), nothing(10)]);
    expect([ended, text, requests.length]).toEqual([10, TEXT, 2]);
  });

  test('without its last chunk starts again if the host says that it is longer', async () => {
    const { ended, requests } = await downloadFrom([cut(TEXT), nothing(11), whole()]);
    expect([ended, requests.length]).toEqual([10, 3]);
  });

  test('17: without its last chunk is not complete if it has no ETag', async () => {
    const { error, requests } = await downloadFrom([cut(TEXT, { 'Transfer-Encoding': 'chunked' })]);
    expect(error).toMatchObject({ name: 'CopyFailed' });
    expect(requests).toHaveLength(6);
  });
});

describe('a resumed file', () => {
  const file = {
    contentType: undefined,
    contentEncoding: undefined,
    etag: '"one"',
    bytes: 10,
    ignoresRanges: false,
  };

  test('is requested from its position on, with the ETag that is known', async () => {
    const { ended, begins, requests } = await downloadFrom([rest()], { from: { file, at: 4 } });
    expect([ended, begins, requests.length]).toEqual([10, [], 1]);
    expect(requests[0]).toMatchObject({ range: 'bytes=4-', 'if-match': '"one"' });
  });

  test('is not requested if all of it is there', async () => {
    const { ended, requests } = await downloadFrom([whole()], { from: { file, at: 10 } });
    expect([ended, requests]).toEqual([10, []]);
  });

  test('18: is requested from its beginning if it changed', async () => {
    const changed = answer(412, { 'Content-Length': '0' });
    const { text, begins, requests } = await downloadFrom([changed, whole()], { from: { file, at: 4 } });
    expect([text, begins.length]).toEqual([TEXT, 1]);
    expect(requests.map(({ range }) => range)).toEqual(['bytes=4-', undefined]);
  });
});
