import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, crc32, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { base64Crc32 } from '../../functions/aws/s3.ts';
import { queryPurchases } from '../../functions/query-purchases.ts';
import type { PurchasesRequest } from '../../functions/workflow/request/request.ts';
import type { PurchasesWindow } from '../../functions/workflow/states.ts';
import { startBucket } from '../support/lambda.ts';
import { listen } from '../support/listen.ts';
import { accessTo } from '../support/platform.ts';
import { NORMALIZED_PURCHASES } from '../support/requests.ts';
import { BUCKET } from '../support/s3.ts';
import { windowOf } from '../support/steps.ts';

const KEY = 'exports/account=acme/export=all/start_date=2026-01-01/end_date=2026-10-01/purchases.json';
const AT = '2026-11-21T06:00:00.000Z';
const request: PurchasesRequest = { ...NORMALIZED_PURCHASES, name: 'all' };
const { advertiser_id, start_date, end_date } = request;
const range = { start_date, end_date };
const state: PurchasesWindow = { ...windowOf([]), request, window: range };

const ID = { 'x-request-id': 'req-1' };

type Respond = (response: ServerResponse) => unknown;

/** A platform that answers like this, and a local bucket. */
async function start(respond: Respond, settings = {}) {
  const server = await listen((_, response) => respond(response));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { s3, writeObject } = await startBucket(settings);
  const access = { ...accessTo(server.url), writeObject };
  const readObject = () => readFile(join(s3.directory, BUCKET, KEY)).catch(() => undefined);
  return { server, s3, access, readObject };
}

function withLength(body: string | Buffer, headers: IncomingHttpHeaders = {}): Respond {
  const length = String(Buffer.byteLength(body));
  return (response) => response.writeHead(200, { 'content-length': length, ...headers }).end(body);
}

/** An answer with neither a length nor chunks: it ends with its connection. */
function unframed(body: string): Respond {
  return (response) => {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(body);
    response.end();
  };
}

/** Expects this error and no object in the bucket. */
async function expectNothingStored(respond: Respond, name: string, happened = '', facts: object = {}) {
  const { access, readObject } = await start(respond);
  const error = { name, message: expect.stringContaining(happened), facts };
  await expect(queryPurchases(state, access)).rejects.toMatchObject(error);
  expect(await readObject()).toBeUndefined();
}

describe('QueryPurchases', () => {
  it('queries the whole range once, with the options, and stores the answer unchanged (contract 2.4, 4.5)', async () => {
    const body = ' {"purchases":[12345678901234567890]}\n';
    const content_type = 'application/json; charset=utf-8';
    const { access, server, readObject } = await start(withLength(body, { 'content-type': content_type }));
    const before = { ...state, request: { ...request, options: { currency: 'USD', start_date: 'x' } } };
    const token = { ...state.token, unproven: true };
    const caught = { Error: 'CopyFailed' };
    const waits: unknown[] = [];
    const { dispatcher, ...connection } = access.platform();
    const watched = dispatcher.compose((dispatch) => (options, handler) => {
      waits.push(options.headersTimeout);
      return dispatch(options, handler);
    });
    const platform = () => ({ ...connection, dispatcher: watched });
    const saved = await queryPurchases({ ...before, token, throttled: 2, caught }, { ...access, platform });
    // The platform computes before it sends the headers.
    expect(waits).toEqual([14 * 60 * 1000]);
    const crc = base64Crc32(crc32(body));
    expect(saved).toStrictEqual({
      ...before,
      status: 'curated',
      object: { key: KEY, bytes: 38, crc32: crc, content_type, rows: undefined, copied_at: AT },
    });
    expect(String(await readObject())).toBe(body);
    expect(server.requests.map(({ method, path, body }) => [method, path, JSON.parse(body)])).toEqual([
      ['POST', '/reports/purchases', { currency: 'USD', advertiser_id, ...range }],
    ]);
  });

  it.each([
    ['[{},{}]', 'application/json', 2],
    ['{"data":[1]}', 'application/json', undefined],
    ['{"id":1}\n{"id":2}\n', 'application/json', undefined],
    ['a,b\n1,2\n', 'text/csv', undefined],
    ['x', 'text/html5', undefined],
    ['[]', undefined, 0],
  ])('stores %j with the type %s, because the contract shows no shape: rows %s', async (body, type, rows) => {
    const { access, readObject } = await start(withLength(body, type ? { 'content-type': type } : {}));
    const { object } = await queryPurchases(state, access);
    expect(object).toMatchObject({ content_type: type ?? 'application/json', rows });
    expect(String(await readObject())).toBe(body);
  });
});

it.each([
  ['plain', '[{}]', 'UTF-8'],
  ['plain', '[{}]', 'gzip'],
  ['compressed', gzipSync('[{}]'), 'gzip'],
  ['compressed', gzipSync('[{}]'), undefined],
])('24: QueryPurchases stores the text of a %s answer, whatever its Content-Encoding', async (_, body, label) => {
  const headers = { 'content-type': 'text/html', ...(label && { 'content-encoding': label }) };
  const { access, readObject } = await start(withLength(body, headers));
  await queryPurchases(state, access);
  expect(String(await readObject())).toBe('[{}]');
});

describe('QueryPurchases that fails', () => {
  it.each<[string, Respond]>([
    ['an HTML page', withLength('<html>', { 'content-type': 'text/html', ...ID })],
    ['an empty body', withLength('', ID)],
    ['an HTML page', withLength('\n<!DOCTYPE html>', { 'content-type': 'application/json', ...ID })],
    [
      'JSON that ends in its middle',
      withLength('{"purchases":[1],', { 'content-type': 'application/json', ...ID }),
    ],
  ])('11: refuses %s', async (what, respond) => {
    await expectNothingStored(respond, 'AnswerUnreadable', `${what}.`, { request_id: 'req-1' });
  });

  it.each([
    202, 204, 206,
  ])('11: refuses an answer %i, because it may not be whole (contract 4.5)', async (status) => {
    const answer: Respond = (response) => response.writeHead(status, ID).end();
    const happened = `the status ${status} instead of 200 or 201`;
    await expectNothingStored(answer, 'AnswerUnreadable', happened, { status, request_id: 'req-1' });
  });

  it('17: stores no answer that breaks off', async () => {
    const breaking: Respond = (response) => {
      response.writeHead(200, { 'content-length': '100', ...ID }).write('{"purchases":[');
      setImmediate(() => response.destroy());
    };
    const happened = 'when querying the purchases of 2026-01-01 to 2026-09-30';
    const code = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
    await expectNothingStored(breaking, 'PlatformUnavailable', happened, { code, request_id: 'req-1' });
  });

  it('17: refuses an answer with neither Content-Length nor chunks', async () => {
    const happened = 'a body with neither Content-Length nor chunks';
    await expectNothingStored(unframed('{"purchases":[1]}'), 'AnswerUnreadable', happened);
  });

  it('24: refuses an answer that is encoded as br, and gzip that is cut', async () => {
    for (const [encoding, body] of [
      ['br', brotliCompressSync('[]')],
      ['gzip', gzipSync('[]').subarray(0, -9)],
    ] as const) {
      const answer = withLength(body, { 'content-encoding': encoding });
      await expectNothingStored(answer, 'DownloadRefused', `encoded as ${encoding}`);
    }
  });

  it('22: refuses an answer larger than 64 MiB, and reads no more of it', async () => {
    const endless: Respond = (response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 ** 2, ' ')));
      };
      response.writeHead(200).on('drain', more);
      more();
    };
    await expectNothingStored(endless, 'DownloadRefused', 'Query the purchases of shorter ranges.');
  });

  it('9: gives up an answer that takes longer than 14 min', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
    const { access } = await start((response) => void response.writeHead(200).write(' '));
    const facts = { code: 'TOTAL_TIMEOUT' };
    await expect(queryPurchases(state, access)).rejects.toMatchObject({ name: 'PlatformUnavailable', facts });
    expect(timeout.mock.calls[0]).toEqual([14 * 60 * 1000]);
  });
});
