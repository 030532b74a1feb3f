import { describe, expect, test } from 'vitest';
import { CopyFailed, DownloadRefused, UrlExpired } from '../../../functions/workflow/errors.ts';
import { type Answer, answer, downloadFrom, RESET } from '../../support/download.ts';

const KiB = 1024;
const ETAG = { ETag: '"one"' };

/** A whole file of this many bytes, or only the first `sent` of them. */
function whole(bytes: number, sent = bytes, headers: Record<string, string> = ETAG): string {
  return answer(200, { ...headers, 'Content-Length': String(bytes) }, 'x'.repeat(sent));
}

/** The rest of the file from `at` on, or only the first `sent` bytes of the rest. */
function rest(bytes: number, at: number, sent = bytes - at): string {
  const head = { 'Content-Range': `bytes ${at}-${bytes - 1}/${bytes}`, 'Content-Length': String(bytes - at) };
  return answer(206, { ...ETAG, ...head }, 'x'.repeat(sent));
}

/** A file whose responses break off after these bytes each; the last one sends the rest. */
function pieces(bytes: number, sizes: readonly number[]): Answer[] {
  let at = 0;
  const answers = sizes.map((size, index) => {
    const piece = index === 0 ? whole(bytes, size) : rest(bytes, at, size);
    at += size;
    return piece;
  });
  return [...answers, rest(bytes, at)];
}

const times = (count: number, size: number) => Array.from({ length: count }, () => size);

describe('a file', () => {
  test('is requested once, with neutral headers, and described as the host describes it', async () => {
    const { ended, begins, text, requests } = await downloadFrom([
      whole(10, 10, { ...ETAG, 'Content-Type': 'text/csv' }),
    ]);
    expect(ended).toBe(10);
    expect(text).toBe('x'.repeat(10));
    expect(begins).toEqual([
      {
        ...{ contentType: 'text/csv', contentEncoding: undefined, etag: '"one"', bytes: 10 },
        ignoresRanges: false,
      },
    ]);
    expect(requests).toEqual([{ connection: 'close', accept: '*/*', 'accept-encoding': 'identity' }]);
  });

  test.each<[string | undefined, string | undefined]>([
    ['"one"', '"one"'],
    ['W/"one"', undefined],
    ['one', undefined],
    ['"o\x80e"', undefined],
    ['"a", "b"', undefined],
    [undefined, undefined],
  ])('with the ETag %s has the strong ETag %s', async (given, etag) => {
    const { begins } = await downloadFrom([whole(1, 1, given === undefined ? {} : { ETag: given })]);
    expect(begins).toMatchObject([{ etag }]);
  });

  test.each([
    ['gzip', 'gzip'],
    [' GZip ', 'gzip'],
    ['x-gzip', 'gzip'],
    ['x-gzip2', 'x-gzip2'],
    ['2x-gzip', '2x-gzip'],
    ['identity', undefined],
    ['', undefined],
  ])('with the content encoding %j has the encoding %s', async (given, contentEncoding) => {
    const { begins } = await downloadFrom([whole(1, 1, { 'Content-Encoding': given })]);
    expect(begins).toMatchObject([{ contentEncoding }]);
  });

  const chunked = (text: string) =>
    answer(
      200,
      { ...ETAG, 'Transfer-Encoding': 'chunked' },
      `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
    );

  test.each([
    ['is as large as is allowed', whole(10), 10, undefined],
    ['says that it is larger', whole(11), 0, { name: 'DownloadRefused', facts: { max: 10 } }],
    [
      'is larger and does not say so',
      chunked('x'.repeat(11)),
      1,
      { name: 'DownloadRefused', facts: { max: 10 } },
    ],
    ['is as large as is allowed and does not say so', chunked('x'.repeat(10)), 10, undefined],
  ])('that %s', async (_, text, begun, refused) => {
    const { error, begins, requests } = await downloadFrom([text], { source: { maxBytes: 10 } });
    expect(requests).toHaveLength(1);
    expect(begins).toHaveLength(Math.min(begun, 1));
    if (refused) expect(error).toMatchObject(refused);
    else expect(error).toBeUndefined();
  });
});

describe('a first answer', () => {
  test.each([
    ...[401, 403, 410].map((status) => [status, UrlExpired] as const),
    ...[300, 302, 399].map((status) => [status, DownloadRefused] as const),
    ...[204, 206, 299, 400, 404, 412, 416, 500, 503].map((status) => [status, CopyFailed] as const),
  ])('of %i fails the download after one request', async (status, failure) => {
    const { error, begins, requests } = await downloadFrom([answer(status, { 'Content-Length': '0' })]);
    expect(error).toBeInstanceOf(failure);
    expect(error).toMatchObject({ facts: { status } });
    expect(String(error)).not.toContain('canary');
    expect([begins, requests.length]).toEqual([[], 1]);
  });

  test('that never arrives fails the download after one request', async () => {
    const { error, requests } = await downloadFrom([RESET]);
    expect(error).toMatchObject({ name: 'CopyFailed', message: expect.stringContaining('(ECONNRESET)') });
    expect(requests).toHaveLength(1);
  });
});

describe('a body that breaks off', () => {
  test.each([
    ['39 times, with a KiB each', pieces(41 * KiB, times(39, KiB)), 40, undefined],
    ['40 times, with a KiB each', pieces(41 * KiB, times(40, KiB)), 40, 40 * KiB],
    ['5 times, with less than a KiB each', pieces(41 * KiB, times(5, KiB - 1)), 6, undefined],
    ['6 times, with less than a KiB each', pieces(41 * KiB, times(6, KiB - 1)), 6, 6 * (KiB - 1)],
    [
      'with a KiB now and then',
      pieces(41 * KiB, [...times(5, 1), KiB, ...times(4, 1), KiB, ...times(4, 1)]),
      16,
      undefined,
    ],
    ['5 times after the last KiB', pieces(41 * KiB, [...times(5, 1), KiB, ...times(5, 1)]), 11, KiB + 10],
  ])('%s', async (_, answers, asked, came) => {
    const { ended, error, requests, text } = await downloadFrom(answers);
    expect(requests).toHaveLength(asked);
    if (came === undefined) {
      expect(ended).toBe(41 * KiB);
      expect(text).toHaveLength(41 * KiB);
    } else expect(error).toMatchObject({ name: 'CopyFailed', facts: { bytes: came, of: 41 * KiB } });
  });

  test.each([
    ['4 times after a KiB', times(4, KiB), 5, true],
    ['5 times after a KiB', times(5, KiB), 5, false],
    ['5 times before a KiB', times(5, KiB - 1), 6, true],
  ])('%s, starts again if it has no ETag', async (_, sizes, asked, delivered) => {
    const answers = [...sizes.map((size) => whole(41 * KiB, size, {})), whole(41 * KiB, 41 * KiB, {})];
    const { ended, error, requests, begins } = await downloadFrom(answers);
    expect(requests.map(({ range }) => range)).toEqual(Array.from({ length: asked }));
    expect(begins).toHaveLength(asked);
    if (delivered) expect(ended).toBe(41 * KiB);
    else expect(error).toMatchObject({ name: 'CopyFailed', facts: { bytes: 0, of: 41 * KiB } });
  });

  test('is resumed after a 503 and after a reset', async () => {
    const none = answer(503, { 'Content-Length': '0' });
    const { ended, requests } = await downloadFrom([whole(10, 4), none, RESET, rest(10, 4)]);
    expect(ended).toBe(10);
    expect(requests.map(({ range }) => range)).toEqual([undefined, 'bytes=4-', 'bytes=4-', 'bytes=4-']);
  });

  test('ends with the reason of the signal when the time is up', async () => {
    const stopping = new AbortController();
    const reason = new Error('no time');
    const write = () => {
      stopping.abort(reason);
      return undefined;
    };
    const { error, requests } = await downloadFrom([whole(10, 4), rest(10, 4)], {
      ...{ write, signal: stopping.signal },
    });
    expect([error, requests.length]).toEqual([reason, 1]);
  });
});

describe('an error of the receiver', () => {
  const thrown = (code: string | undefined) => Object.assign(new Error('thrown'), { code });

  test.each([
    [undefined],
    ['ERR_INVALID_ARG_TYPE'],
    ['ERR_STREAM_DESTROYED'],
  ])('as a programming error (%s) ends the download', async (code) => {
    const error = thrown(code);
    const write = () => {
      throw error;
    };
    const outcome = await downloadFrom([whole(10)], { write });
    expect(outcome.error).toBe(error);
    expect(outcome.requests).toHaveLength(1);
  });

  test.each([
    'EPIPE',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'PERR_1',
  ])('with a code of the network (%s) is a break', async (code) => {
    let calls = 0;
    const write = () => {
      if (calls++ === 0) throw thrown(code);
      return undefined;
    };
    const outcome = await downloadFrom([whole(10, 4), rest(10, 4)], { write });
    expect(outcome.ended).toBe(10);
  });
});
