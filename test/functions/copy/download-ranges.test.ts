import { describe, expect, test } from 'vitest';
import { type Beginning, NotTheSame } from '../../../functions/copy/download.ts';
import { answer, downloadFrom } from '../../support/download.ts';

const TEXT = '0123456789';
const ETAG = { ETag: '"one"' };
const file = {
  ...{ contentType: undefined, contentEncoding: undefined, etag: '"one"', bytes: 10 },
  ignoresRanges: false,
};

const whole = (sent = 10) => answer(200, { ...ETAG, 'Content-Length': '10' }, TEXT.slice(0, sent));
/** A file whose length nobody says. */
const untold = (sent = 10, headers: Record<string, string> = ETAG) =>
  answer(200, headers, TEXT.slice(0, sent));
const unavailable = answer(503, { 'Content-Length': '0' });

/** The bytes from 4 on, with a head of which something may be other. */
function rest(headers: Record<string, string> = {}, text = TEXT.slice(4)): string {
  const length = { 'Content-Length': String(text.length) };
  return answer(206, { ...ETAG, 'Content-Range': 'bytes 4-9/10', ...length, ...headers }, text);
}

describe('the rest of a file', () => {
  test('is asked for by its range and its ETag, and put behind what is there', async () => {
    const { ended, text, begins, requests } = await downloadFrom([whole(4), rest()]);
    expect(ended).toEqual({ bytes: 10, fetchedTwice: 0 });
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
  ])('18: is begun again where the answer has %s', async (_, headers) => {
    const { ended, text, begins, requests } = await downloadFrom([whole(4), rest(headers), whole()]);
    expect(ended).toEqual({ bytes: 10, fetchedTwice: 4 });
    expect([text, begins.length]).toEqual([TEXT, 2]);
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', undefined]);
    expect(begins[1]).toMatchObject({ ignoresRanges: false });
  });

  test('18: is begun again where a body that says where it ends is shorter than its range', async () => {
    const head = { ...ETAG, 'Content-Range': 'bytes 4-9/10', 'Transfer-Encoding': 'chunked' };
    const page = answer(206, head, '4\r\n<p/>\r\n0\r\n\r\n');
    const { ended, text, requests } = await downloadFrom([whole(4), page, whole()]);
    expect(ended).toEqual({ bytes: 10, fetchedTwice: 8 });
    expect(text).toBe(TEXT);
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', undefined]);
  });

  test.each([412, 416])('is begun again after a %i', async (status) => {
    const refused = answer(status, { 'Content-Range': 'bytes */4', 'Content-Length': '0' });
    const { ended, requests } = await downloadFrom([whole(4), refused, whole()]);
    expect(ended).toEqual({ bytes: 10, fetchedTwice: 4 });
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', undefined]);
  });

  test('18: is begun again with the answer where all of the file comes, and that is remembered', async () => {
    const { ended, begins, requests } = await downloadFrom([whole(4), whole(5), whole(6), whole()]);
    expect(ended).toEqual({ bytes: 10, fetchedTwice: 15 });
    expect(begins.map(({ ignoresRanges }) => ignoresRanges)).toEqual([false, true, true, true]);
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', 'bytes=5-', 'bytes=6-']);
  });

  test('that nothing came of is asked for as a file', async () => {
    const { ended, requests } = await downloadFrom([whole(0), whole()]);
    expect(ended).toEqual({ bytes: 10, fetchedTwice: 0 });
    expect(requests.map(({ range }) => range)).toEqual([undefined, undefined]);
  });
});

describe('a file whose length nobody says', () => {
  test.each([
    ['with an ETag has its rest asked for', ETAG, ['bytes=4-'], 0],
    ['without one is begun again', {}, [undefined], 4],
  ])('%s where its own shape is not whole', async (_, headers, ranges, fetchedTwice) => {
    const closed = async () => false;
    const last = fetchedTwice === 0 ? rest() : whole();
    const { ended, requests } = await downloadFrom([untold(4, headers), last], { receiver: { closed } });
    expect(ended).toEqual({ bytes: 10, fetchedTwice });
    expect(requests.map(({ range }) => range)).toEqual([undefined, ...ranges]);
  });

  test('ends where its own shape is whole', async () => {
    const { ended, requests } = await downloadFrom([untold()], { receiver: { closed: async () => true } });
    expect(ended).toEqual({ bytes: 10, fetchedTwice: 0 });
    expect(requests).toHaveLength(1);
  });

  test('ends where nothing follows what came', async () => {
    const nothing = answer(416, { 'Content-Range': 'bytes */10', 'Content-Length': '0' });
    const { ended, requests, text } = await downloadFrom([untold(), nothing]);
    expect(ended).toEqual({ bytes: 10, fetchedTwice: 0 });
    expect([requests.length, text]).toEqual([2, TEXT]);
  });

  test.each([
    [
      'says that the file is longer',
      answer(416, { 'Content-Range': 'bytes */11', 'Content-Length': '0' }),
      10,
    ],
    ['says that the file is longer, having begun', answer(416, { 'Content-Range': 'xbytes */10' }), 10],
    ['is none', answer(503, { 'Content-Range': 'bytes */10', 'Content-Length': '0' }), 0],
  ])('does not end where the answer to its rest %s', async (_, second, fetchedTwice) => {
    const nothing = answer(416, { 'Content-Range': 'bytes */10', 'Content-Length': '0' });
    const last = fetchedTwice === 0 ? nothing : whole();
    const { ended, requests } = await downloadFrom([untold(), second, last]);
    expect(ended).toEqual({ bytes: 10, fetchedTwice });
    expect(requests).toHaveLength(3);
  });

  test('is held to the length that its rest names', async () => {
    const { ended, requests } = await downloadFrom(
      [untold(4), rest({ 'Content-Length': '6' }, '45'), rest({ 'Content-Range': 'bytes 6-9/10' }, '6789')],
      { receiver: { closed: async () => false } },
    );
    expect(ended).toEqual({ bytes: 10, fetchedTwice: 0 });
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', 'bytes=6-']);
  });
});

describe('a range of a file', () => {
  const from = (at: number, to: number | undefined): Beginning => ({ file, at, to });
  const range = (text: string, head: Record<string, string> = {}) =>
    answer(
      206,
      { ...ETAG, 'Content-Range': 'bytes 2-5/10', 'Content-Length': String(text.length), ...head },
      text,
    );

  test.each([
    ['to its end', 4, undefined, 'bytes=4-', rest()],
    ['from the first byte', 0, 4, 'bytes=0-3', range('0123', { 'Content-Range': 'bytes 0-3/10' })],
    ['in its middle', 2, 6, 'bytes=2-5', range('2345')],
  ])('%s is asked for by the ETag that is known', async (_, at, to, asked, given) => {
    const { ended, begins, requests } = await downloadFrom([given], { from: from(at, to) });
    expect(ended).toEqual({ bytes: to ?? 10, fetchedTwice: 0 });
    expect([begins, requests.length]).toEqual([[], 1]);
    expect(requests[0]).toMatchObject({ range: asked, 'if-match': '"one"' });
  });

  test('from the first byte to the end is the file', async () => {
    const { requests, begins } = await downloadFrom([whole()], { from: from(0, undefined) });
    expect(requests.map(({ range }) => range)).toEqual([undefined]);
    expect(begins).toHaveLength(1);
  });

  test.each([
    [6, 6],
    [10, undefined],
  ])('of which all is there (from %s to %s) is not asked for', async (at, to) => {
    const { ended, requests } = await downloadFrom([whole()], { from: from(at, to) });
    expect([ended, requests]).toEqual([{ bytes: at, fetchedTwice: 0 }, []]);
  });

  test('that breaks off goes on', async () => {
    const answers = [
      range('23', { 'Content-Length': '4' }),
      unavailable,
      range('45', { 'Content-Range': 'bytes 4-5/10' }),
    ];
    const { ended, text, requests } = await downloadFrom(answers, { from: from(2, 6) });
    expect(ended).toEqual({ bytes: 6, fetchedTwice: 0 });
    expect(text).toBe('2345');
    expect(requests.map(({ range }) => range)).toEqual(['bytes=2-5', 'bytes=4-5', 'bytes=4-5']);
  });

  test.each([
    ['is of another file', range('2345', { ETag: '"two"' })],
    ['says that it is', answer(412, { 'Content-Length': '0' })],
    ['says that there is none', answer(416, { 'Content-Range': 'bytes */2', 'Content-Length': '0' })],
    ['is all of the file', whole()],
    ['is longer than was asked for', range('23456')],
  ])('is given up where the answer %s', async (_, given) => {
    const { error, requests } = await downloadFrom([given], { from: from(2, 6) });
    expect(error).toBeInstanceOf(NotTheSame);
    expect(requests).toHaveLength(1);
  });
});
