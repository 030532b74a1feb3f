import { createServer as createTlsServer } from 'node:https';
import type { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { isCertificateFault } from '../../../functions/platform/failures.ts';
import { getReport, postReport } from '../../../functions/platform/reports.ts';
import {
  AnswerLost,
  AnswerUnreadable,
  PlatformUnavailable,
  RequestRefused,
} from '../../../functions/workflow/errors.ts';
import { CERTIFICATE } from '../../support/certificate.ts';
import { type Answer, json, listen, listenTcp, startServer } from '../../support/listen.ts';
import { bearer, connecting, errorOf, platformAt } from '../../support/platform.ts';
import { windowOf } from '../../support/steps.ts';

const { request, window } = windowOf([]);

/** Calls that would leave a report behind: AnswerLost says that the platform may have received it. */
function create(platform: Parameters<typeof postReport>[0]) {
  return postReport(platform, bearer, request, window);
}

/** Sends a piece again and again, until the connection ends. */
function drip(stream: Pick<Writable, 'write' | 'on'>, piece: string): void {
  const timer = setInterval(() => stream.write(piece), 10);
  stream.on('close', () => clearInterval(timer));
}

const ID = { 'x-request-id': 'req-1' };
const truncated: Answer = (_seen, response) => {
  response.writeHead(201, { 'content-length': '100', ...ID });
  response.write('{"id":"r"}', () => response.destroy());
};
const begun: Answer = (_seen, response) => response.writeHead(200, ID).write('{"id":');
const dripping: Answer = (_seen, response) => drip(response.writeHead(200, ID), ' ');

test.each<[string, Answer, object, string]>([
  ['never answers', () => {}, { headers: 50, total: 20_000 }, 'UND_ERR_HEADERS_TIMEOUT'],
  ['stops within a body', begun, { idle: 50, total: 10_000 }, 'UND_ERR_BODY_TIMEOUT'],
  ['ends within a body', truncated, {}, 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'],
  ['closes the connection', (_, response) => response.destroy(), {}, 'UND_ERR_SOCKET'],
  ['sends a body of a byte at a time', dripping, { idle: 5_000, total: 200 }, 'TOTAL_TIMEOUT'],
])('9: a server that %s is given up, and may have received the request', async (_, answer, timeouts, code) => {
  await using server = await listen(answer);
  const error = await errorOf(AnswerLost, create(platformAt(server.url, { timeouts })));
  expect(error.facts).toMatchObject({ code, host: `127.0.0.1:${server.port}` });
  expect(error.facts.request_id).toBe(/HEADERS|SOCKET/.test(code) ? undefined : 'req-1');
  expect(server.requests).toHaveLength(1);
});

test('9: headers of a byte at a time end at the total', async () => {
  await using server = await listenTcp((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX-Slow: ');
    drip(socket, 'H');
  });
  const platform = platformAt(server.url, { timeouts: { headers: 5_000, total: 200 } });
  const error = await errorOf(AnswerLost, create(platform));
  expect(error.facts.code).toBe('TOTAL_TIMEOUT');
});

test('9: a TLS handshake that never ends is a connect timeout, and nothing was sent', async () => {
  await using server = await listenTcp(() => {});
  const platform = platformAt(server.url.replace('http:', 'https:'), {
    dispatcher: connecting(50),
    timeouts: { total: 8_000 },
  });
  const error = await errorOf(PlatformUnavailable, create(platform));
  expect(error.facts.code).toBe('UND_ERR_CONNECT_TIMEOUT');
});

test('32: a certificate that is not trusted is final, and says how to trust it', async () => {
  await using server = await startServer(createTlsServer(CERTIFICATE));
  const platform = platformAt(`https://127.0.0.1:${server.port}`);
  expect(await errorOf(RequestRefused, create(platform))).toMatchObject({
    happened: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    facts: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', host: `127.0.0.1:${server.port}` },
  });
});

test.each([
  ['CERT_HAS_EXPIRED', true],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', true],
  ['SELF_SIGNED_CERT_IN_CHAIN', true],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', true],
  ['ERR_TLS_CERT_ALTNAME_INVALID', true],
  ['HOSTNAME_MISMATCH', true],
  ['ERR_SSL_CA_MD_TOO_WEAK', true],
  ['ECONNREFUSED', false],
  ['ECONNRESET', false],
  ['EPROTO', false],
  ['UND_ERR_CONNECT_TIMEOUT', false],
])('32: the code %s is of a certificate: %s', (code, expected) => {
  expect(isCertificateFault(code)).toBe(expected);
});

test('a refused connection was not sent', async () => {
  const server = await listen(() => {});
  await server[Symbol.asyncDispose]();
  const error = await errorOf(PlatformUnavailable, create(platformAt(server.url)));
  expect(error.facts.code).toBe('ECONNREFUSED');
});

test('a redirect is refused, and its target gets no request', async () => {
  await using target = await listen((_seen, response) => json(response, 200, { id: 'r', status: 'READY' }));
  await using server = await listen((_seen, response) =>
    response.writeHead(307, { location: `${target.url}/reports/r` }).end(),
  );
  const error = await errorOf(RequestRefused, getReport(platformAt(server.url), bearer, 'r'));
  expect(error.happened).toContain('307');
  expect(error.happened).toContain('redirects are not followed');
  expect(target.requests).toEqual([]);
});

test('an endless answer is read only to the cap', async () => {
  let written = 0;
  await using server = await listen((_seen, response) => {
    const piece = Buffer.alloc(64 * 1024, 0x20);
    const more = () => {
      while (!response.destroyed && response.write(piece)) written += piece.length;
    };
    response.writeHead(200).on('drain', more);
    more();
  });
  const error = await errorOf(AnswerUnreadable, getReport(platformAt(server.url), bearer, 'r'));
  expect(error.message).toContain('larger');
  // The cap is 1 MiB; the rest is what sockets buffer on the way.
  expect(written).toBeLessThan(16 * 1024 * 1024);
});

const RECORD = '{"id":"r-1","status":"CREATED"}';
const CREATED = `HTTP/1.1 201 Created\r\nContent-Length: ${RECORD.length}\r\n\r\n${RECORD}`;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';

test.each([
  ['100 Continue', [CONTINUE + CREATED]],
  ['100 Continue with headers', [`HTTP/1.0 100 \r\nDate: x\r\n\r\n${CREATED}`]],
  ['100 Continue twice, in another packet', [CONTINUE + CONTINUE, CREATED]],
  ['early hints, then 100 Continue', [HINTS + CONTINUE, CREATED]],
  ['100 Continue in packets of a byte', [...CONTINUE, CREATED]],
  ['100 Continue that breaks off in its last byte', [CONTINUE.slice(0, -1), `\n${CREATED}`]],
])('69: %s, which nobody asked for, is skipped', async (_, packets) => {
  await using server = await listenTcp(async (socket) => {
    socket.setNoDelay();
    for (const packet of packets) {
      socket.write(packet);
      await setImmediate();
    }
  });
  expect(await create(platformAt(server.url))).toMatchObject({ id: 'r-1' });
});

test('69: a server that sends nothing but 100 Continue is given up', async () => {
  await using server = await listenTcp((socket) => drip(socket, CONTINUE));
  const error = await errorOf(AnswerLost, create(platformAt(server.url, { timeouts: { headers: 200 } })));
  expect(error.facts.code).toMatch('UND_ERR_HEADERS_TIMEOUT');
});

test.each<[string, string | Buffer, Record<string, string>]>([
  ['a byte order mark', `\ufeff${RECORD}`, {}],
  ['gzip', gzipSync(RECORD), { 'content-encoding': 'gzip' }],
  ['gzip without a label', gzipSync(RECORD), {}],
  ['gzip of a byte order mark', gzipSync(`\ufeff${RECORD}`), { 'content-encoding': 'x-gzip' }],
  ['a wrong Content-Encoding', RECORD, { 'content-encoding': 'gzip' }],
])('69: an answer with %s is read', async (_, body, headers) => {
  await using server = await listen((_seen, response) => response.writeHead(201, headers).end(body));
  expect(await create(platformAt(server.url))).toMatchObject({ id: 'r-1' });
});

test('69: a refusal in gzip is quoted', async () => {
  const body = gzipSync(JSON.stringify({ error: { type: 'validation', message: 'No such metric.' } }));
  await using server = await listen((_seen, response) => response.writeHead(422).end(body));
  const error = await errorOf(RequestRefused, create(platformAt(server.url)));
  expect(error.happened).toContain('No such metric');
});

test.each([
  ['cut gzip', gzipSync(RECORD).subarray(0, -9), 'gzip'],
  ['another coding', Buffer.from([0x0b, 0x00, 0x80, 0x5b, 0x5d, 0x03]), 'br'],
])('69: an answer in %s is unreadable, and its coding is named', async (_, body, coding) => {
  await using server = await listen((_seen, response) =>
    response.writeHead(201, { 'content-encoding': coding }).end(body),
  );
  const error = await errorOf(AnswerUnreadable, create(platformAt(server.url)));
  expect(error.happened).toContain(`content encoding ${coding}`);
});

test('22: gzip that is larger than the cap when it is decoded is refused', async () => {
  const body = gzipSync(Buffer.alloc(2 * 1024 * 1024, 0x20));
  await using server = await listen((_seen, response) => response.writeHead(200).end(body));
  const error = await errorOf(AnswerUnreadable, getReport(platformAt(server.url), bearer, 'r'));
  expect(error.message).toContain('larger');
});

test('69: a creation is waited for 90 s, any other call 60 s and 30 s until its headers', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  const headers: unknown[] = [];
  const dispatcher = connecting(5_000).compose((dispatch) => (options, handler) => {
    headers.push(options.headersTimeout);
    return dispatch(options, handler);
  });
  await using server = await listen(({ method }, response) =>
    json(response, method === 'POST' ? 201 : 200, { id: 'r', status: 'CREATED' }),
  );
  await create(platformAt(server.url, { dispatcher }));
  await getReport(platformAt(server.url, { dispatcher }), bearer, 'r');
  const totals = timeout.mock.calls.map(([milliseconds]) => milliseconds);
  expect({ headers, totals }).toEqual({ headers: [90_000, 30_000], totals: [90_000, 60_000] });
});
