import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { download, RemainderRefused } from '../../../functions/copy/download.ts';
import { safeAgent } from '../../../functions/platform/safe-agent.ts';
import { DownloadRefused } from '../../../functions/workflow/errors.ts';
import { CERTIFICATE } from '../../support/certificate.ts';
import { answer, chunks, downloadFrom } from '../../support/download.ts';
import { errorOf } from '../../support/platform.ts';
import { startStorageHost } from '../../support/storage-host.ts';

// Raw answers, because a real server does not send most of these.

const ETAG = { ETag: '"one"' };
const CHUNKED = { ...ETAG, 'Transfer-Encoding': 'chunked' };
const OK = answer(200, { ...ETAG, 'Content-Length': '5' }, 'whole');

/** An answer with this file. */
function fileOf(
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): (socket: Socket) => void {
  const head = { ...ETAG, 'Content-Length': String(Buffer.byteLength(body)), ...headers };
  return (socket) => {
    socket.write(answer(200, head));
    socket.end(body);
  };
}

const NEUTRAL = { connection: 'close', accept: '*/*', 'accept-encoding': 'identity' };

describe('a whole file', () => {
  test('is requested with neutral headers, and described as the host describes it', async () => {
    const head = { ...ETAG, 'Content-Type': 'text/csv', 'Content-Length': '2' };
    const { error, file, text, headers } = await downloadFrom(answer(200, head, '[]'));
    expect({ error, text }).toEqual({ error: undefined, text: '[]' });
    expect(headers).toEqual(NEUTRAL);
    expect(file).toEqual({ content_type: 'text/csv', content_encoding: undefined, etag: '"one"', bytes: 2 });
  });

  test('without a content type and with the encoding "identity" has neither', async () => {
    const { file } = await downloadFrom(
      answer(200, { ...CHUNKED, 'Content-Encoding': 'identity' }, chunks('x')),
    );
    expect(file).toEqual({
      content_type: 'application/octet-stream',
      content_encoding: undefined,
      etag: '"one"',
      bytes: undefined,
    });
  });

  const UNSTORABLE = ['', 'text/csv; x=\xe4', `text/csv; x=${'y'.repeat(3000)}`];
  test.each(
    UNSTORABLE,
  )('with a content type that S3 cannot store, such as "%s", has a neutral one', async (type) => {
    const head = { ...ETAG, 'Content-Type': type, 'Content-Length': '1' };
    const { file } = await downloadFrom(answer(200, head, 'x'));
    expect(file?.content_type).toBe('application/octet-stream');
  });

  test.each([
    ['"one"', '"one"'],
    ['W/"one"', undefined],
    ['one', undefined],
    ['"o\x80e"', undefined],
    ['"a", "b"', undefined],
  ])('with the ETag %s has the strong ETag %s', async (header, etag) => {
    const { file } = await downloadFrom(answer(200, { ETag: header, 'Content-Length': '1' }, 'x'));
    expect(file?.etag).toBe(etag);
  });

  test.each([
    ['Content-Length', OK],
    ['chunks', answer(200, CHUNKED, '2\r\nwh\r\n003;x="y"\r\nole\r\n0\r\n\r\n')],
    ['chunks and a trailer', answer(200, CHUNKED, '5\r\nwhole\r\n0\r\nExpires: 0\r\n\r\n')],
    ['Content-Length, after early hints', `HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n${OK}`],
    ['Content-Length, after 100 Continue', `HTTP/1.1 100 Continue\r\n\r\n${OK}`],
    ['Content-Length, before further bytes', `${OK}more`],
  ])('framed by %s is complete', async (_, bytes) => {
    const { error, text } = await downloadFrom(bytes);
    expect({ error, text }).toEqual({ error: undefined, text: 'whole' });
  });

  test.each([
    ['framed by nothing', answer(200, ETAG, 'whole')],
    ['framed by nothing, over HTTP/1.0', answer(200, ETAG, 'whole').replace('1.1', '1.0')],
    ['framed by gzip without chunks', answer(200, { 'Transfer-Encoding': 'gzip' }, 'whole')],
    ['without a status', 'SSH-2.0-x\r\n\r\n'],
    ['over HTTP/2', 'HTTP/2 200\r\n\r\n'],
    ['that switches protocols', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['with a header without a colon', 'HTTP/1.1 200 OK\r\nx\r\n\r\n'],
    ['with two lengths', answer(200, { 'Content-Length': '1', 'content-length': '2' }, 'xy')],
    ['with a length and a sign', answer(200, { 'Content-Length': '+1' }, 'x')],
    ['with a length and chunks', answer(200, { ...CHUNKED, 'Content-Length': '5' }, chunks('whole'))],
    ['whose head is too long', answer(200, { x: 'y'.repeat(100_000), 'Content-Length': '0' })],
    ['whose head breaks off', 'HTTP/1.1 200 OK\r\nContent-Le'],
  ])('17: %s is refused before its first byte', async (_, bytes) => {
    const refused = await downloadFrom(bytes);
    expect(refused).toMatchObject({ error: { name: 'CopyFailed' }, file: undefined });
  });

  test.each([
    ['is cut short', answer(200, { 'Content-Length': '9' }, 'whole')],
    ['is cut after a chunk', answer(200, CHUNKED, '5\r\nwhole\r\n')],
    ['is cut in a chunk', answer(200, CHUNKED, '9\r\nwhole')],
    ['is cut in the trailer', answer(200, CHUNKED, '5\r\nwhole\r\n0\r\n')],
    ['has a chunk without a size', answer(200, CHUNKED, '5\r\nwhole\r\n\r\nx\r\n')],
    ['has a chunk that is longer than its size', answer(200, CHUNKED, '4\r\nwhole\r\n0\r\n\r\n')],
  ])('17: that %s is not complete', async (_, bytes) => {
    expect((await downloadFrom(bytes)).error).toMatchObject({ name: 'CopyFailed' });
  });

  test.each([
    ['23: is empty', answer(200, { ...ETAG, 'Content-Length': '0' })],
    ['23: is empty and comes in chunks', answer(200, CHUNKED, '0\r\n\r\n')],
    ['23: is a web page', fileOf('\ufeff\n<!DOCTYPE HTML><title>Sign in</title>')],
    ['23: is a web page behind a comment', fileOf('<?xml version="1.0"?><!-- a\nb --><html>')],
    ['23: is a web page in gzip', fileOf(gzipSync('<html><body>Sign in'), { 'Content-Encoding': 'gzip' })],
    ['23: is an error in XML', fileOf('<?xml version="1.0"?>\n<Error><Code>SlowDown</Code></Error>')],
    ['24: is encoded as zstd', fileOf(zstdCompressSync('[]'), { 'Content-Encoding': 'zstd' })],
    ['24: is encoded as br', fileOf(brotliCompressSync('[]'), { 'Content-Encoding': 'gzip, br' })],
    ['24: is encoded as deflate', fileOf(deflateSync('[]'), { 'Content-Encoding': 'Deflate' })],
  ])('%s is refused for good', async (_, bytes) => {
    const { error, file } = await downloadFrom(bytes);
    expect(error).toMatchObject({ name: 'DownloadRefused' });
    expect(file).toBeUndefined();
  });

  const WRONG = [
    'UTF-8',
    'none',
    'identity',
    'aws-chunked',
    'gzip',
    'x-gzip',
    'deflate',
    'br',
    'UTF-16LE',
    '',
  ];
  test.each(WRONG)('24: of plain text with the Content-Encoding "%s" is plain', async (label) => {
    for (const text of ['[]', 'date,spend\n2026-10-01,é\n', '"<html>"'])
      expect(await downloadFrom(fileOf(text, { 'Content-Encoding': label }))).toMatchObject({
        error: undefined,
        file: { content_encoding: undefined },
        text,
      });
  });

  test.each([
    undefined,
    'UTF-8',
    'none',
    'identity',
    ' GZip ',
    'x-gzip',
    'br',
    'aws-chunked, gzip',
  ])('24: of gzip with the Content-Encoding "%s" is labeled gzip', async (label) => {
    const head = label === undefined ? {} : { 'Content-Encoding': label };
    const { error, file } = await downloadFrom(fileOf(gzipSync('[]'), head));
    expect({ error, file }).toMatchObject({ error: undefined, file: { content_encoding: 'gzip' } });
  });

  test('24: labeled as a web page, but with rows, is taken with a neutral content type', async () => {
    const { error, file, text } = await downloadFrom(
      fileOf('a,b\n1,2\n', { 'Content-Type': 'Text/HTML;x=y' }),
    );
    expect({ error, file, text }).toMatchObject({
      error: undefined,
      file: { content_type: 'application/octet-stream' },
      text: 'a,b\n1,2\n',
    });
  });

  test('24: that comes in pieces is judged by its first bytes, and is written whole', async () => {
    const text = JSON.stringify(Array.from({ length: 1_000 }, (_, campaign) => ({ campaign })));
    const {
      error,
      file,
      text: written,
    } = await downloadFrom(async (socket) => {
      socket.write(answer(200, { ...CHUNKED, 'Content-Encoding': 'br' }));
      for (const piece of [text.slice(0, 1), text.slice(1, 3), text.slice(3)]) {
        socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
        await setImmediate();
      }
      socket.end('0\r\n\r\n');
    });
    expect({ error, file, written }).toMatchObject({
      error: undefined,
      file: { content_encoding: undefined },
      written: text,
    });
  });
});

test.each([
  ...[401, 403, 410].map((status) => [status, 'UrlExpired'] as const),
  ...[300, 302, 399].map((status) => [status, 'DownloadRefused'] as const),
  ...[204, 206, 299, 400, 404, 412, 416, 500, 503].map((status) => [status, 'CopyFailed'] as const),
])('19, 20, 21: an answer of %i becomes %s', async (status, name) => {
  const { error, file } = await downloadFrom(answer(status, { 'Content-Length': '0' }));
  expect({ error, file }).toMatchObject({ error: { name, facts: { status } }, file: undefined });
  expect(String(error)).not.toContain('canary');
  // A person cannot do what the workflow does next.
  if (status > 399)
    expect(String(error)).toMatch(new RegExp(`(answered|no longer serves the URL) \\(?${status}\\)?\\.\n`));
});

test('67: the time for which a busy host asks to wait is a fact', async () => {
  for (const status of [429, 503]) {
    const { error } = await downloadFrom(answer(status, { 'Content-Length': '0', 'Retry-After': '120' }));
    expect(error).toMatchObject({ name: 'CopyFailed', facts: { status, retry_after: 120 } });
  }
});

test('a reset before the headers becomes CopyFailed with its code', async () => {
  const { error } = await downloadFrom((socket) => socket.resetAndDestroy());
  expect(error).toMatchObject({ name: 'CopyFailed', message: expect.stringContaining('(ECONNRESET).\n') });
});

test('32: a certificate of the storage host that is not trusted is final', async () => {
  await using host = await startStorageHost({ body: Buffer.from('[]'), certificate: CERTIFICATE });
  const dispatcher = safeAgent({ allowLoopback: true });
  const { signal } = new AbortController();
  const error = await errorOf(
    DownloadRefused,
    download({ url: host.url, dispatcher }, undefined, vi.fn(), signal),
  );
  await dispatcher.destroy();
  expect(error.facts).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  expect(String(error)).not.toContain('canary');
});

describe('the rest of a file', () => {
  const stored = { stored_bytes: 4, etag: '"one"' };
  const rest = (headers: Record<string, string> = {}, text = '456789') =>
    answer(
      206,
      { ...ETAG, 'Content-Range': 'bytes 4-9/10', 'Content-Length': String(text.length), ...headers },
      text,
    );
  const inChunks = (text: string) =>
    answer(206, { ...CHUNKED, 'Content-Range': 'bytes 4-9/10' }, chunks(text));

  test('is requested by Range and If-Match', async () => {
    for (const bytes of [rest(), inChunks('456789')]) {
      const { error, text, headers } = await downloadFrom(bytes, { stored });
      expect({ error, text }).toEqual({ error: undefined, text: '456789' });
      expect(headers).toEqual({ ...NEUTRAL, range: 'bytes=4-', 'if-match': '"one"' });
    }
  });

  test.each([
    ['is the whole file', answer(200, { ...ETAG, 'Content-Length': '10' }, '0123456789')],
    ['is a 412', answer(412, { 'Content-Length': '0' })],
    ['is a 416', answer(416, { 'Content-Range': 'bytes */4', 'Content-Length': '0' })],
    ['has another beginning', rest({ 'Content-Range': 'bytes 5-9/10' })],
    ['has another end', rest({ 'Content-Range': 'bytes 4-8/10' })],
    ['has another length', rest({ 'Content-Range': 'bytes 4-10/11' })],
    ['has another end and length', rest({ 'Content-Range': 'bytes 4-9/11' })],
    ['has no length', rest({ 'Content-Range': 'bytes 4-9/*' })],
    ['has another unit', rest({ 'Content-Range': 'xbytes 4-9/10' })],
    ['has something behind its range', rest({ 'Content-Range': 'bytes 4-9/10x' })],
    ['has no range', rest({ 'Content-Range': '' })],
    ['has another ETag', rest({ ETag: '"two"' })],
    ['has a weak ETag', rest({ ETag: 'W/"one"' })],
    ['has no ETag', rest({ ETag: '' })],
    ['has a body shorter than its range', rest({ 'Content-Length': '5' }, '45678')],
    ['has a body longer than its range', rest({ 'Content-Length': '7' }, '456789x')],
    ['brings fewer chunks than its range', inChunks('45678')],
    ['brings more chunks than its range', inChunks('456789x')],
  ])('18: starts again if the answer %s', async (_, bytes) => {
    expect((await downloadFrom(bytes, { stored })).error).toBeInstanceOf(RemainderRefused);
  });

  test.each([
    ['has no framing', answer(206, { ...ETAG, 'Content-Range': 'bytes 4-9/10' }, '456789'), 'CopyFailed'],
    ['breaks off', rest({ 'Content-Length': '6' }, '45'), 'CopyFailed'],
    ['is a 503', answer(503, { 'Content-Length': '0' }), 'CopyFailed'],
    ['is a 403', answer(403, { 'Content-Length': '0' }), 'UrlExpired'],
  ])('16, 19, 20: may be requested again if the answer %s', async (_, bytes, name) => {
    const { error } = await downloadFrom(bytes, { stored });
    expect(error).toMatchObject({ name });
    expect(error).not.toBeInstanceOf(RemainderRefused);
  });
});

describe('9: a host that', () => {
  const stall = (socket: Socket) => socket.write(answer(200, { 'Content-Length': '9' }, 'wh'));

  test.each([
    ['sends no headers', () => {}, 'UND_ERR_HEADERS_TIMEOUT'],
    ['stalls in the body', stall, 'UND_ERR_BODY_TIMEOUT'],
  ])('%s in time is given up', async (_, go, code) => {
    const { error } = await downloadFrom(go, { timeouts: { headers: 60, idle: 60 } });
    expect(error).toMatchObject({ name: 'CopyFailed', message: expect.stringContaining(code) });
  });

  test('waits for the receiver is not slow', async () => {
    const written = Promise.withResolvers<void>();
    const timer = setInterval(() => {}, 20);
    setTimeout(written.resolve, 150);
    const { error } = await downloadFrom(OK, { timeouts: { idle: 20 }, write: () => written.promise });
    clearInterval(timer);
    expect(error).toBeUndefined();
  });
});

test('an error of the receiver ends the download', async () => {
  for (const fail of [
    () => Promise.reject(new Error('S3')),
    () => {
      throw new Error('S3');
    },
  ]) {
    const { error } = await downloadFrom(OK, { write: fail });
    expect(error).toMatchObject({ message: 'S3' });
  }
});

test('the download ends when the time is up', async () => {
  const stopping = new AbortController();
  const write = () => stopping.abort() as undefined;
  for (const conditions of [{ write, signal: stopping.signal }, { signal: AbortSignal.abort() }])
    expect((await downloadFrom(OK, conditions)).error).toMatchObject({ name: 'CopyFailed' });
});
