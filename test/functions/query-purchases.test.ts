import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { crc32, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { base64Crc32 } from '../../functions/copy/crc32.ts';
import type { CreateObject } from '../../functions/copy/new-object.ts';
import { handler, queryPurchases } from '../../functions/query-purchases.ts';
import type { PurchasesRequest } from '../../functions/workflow/request/request.ts';
import type { PurchasesWindow } from '../../functions/workflow/states.ts';
import { callsTo } from '../support/journal.ts';
import { listen } from '../support/listen.ts';
import { platformAt } from '../support/platform.ts';
import { BUCKET } from '../support/s3.ts';
import { keepLog, startStep, stoppedClock, windowOf } from '../support/steps.ts';
import { expectOneObject, startBucket, startSurroundings } from '../support/surroundings.ts';

const KEY = 'exports/account=acme/export=all/start_date=2026-01-01/end_date=2026-10-01/purchases.json';
const AT = '2026-11-21T06:00:00.000Z';
const advertiser_id = '5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01';
const range = { start_date: '2026-01-01', end_date: '2026-10-01' };
const request: PurchasesRequest = {
  ...{ name: 'all', account: 'acme', kind: 'purchases', ...range, advertiser_id },
  ...{ options: {}, max_parallel: 1 },
};
const state: PurchasesWindow = { ...windowOf([]), request, window: range };

type Respond = (response: ServerResponse) => unknown;

/** A platform that answers like this, and a local bucket. */
async function start(respond: Respond, settings = {}) {
  const server = await listen((_, response) => respond(response));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { s3, createObject } = await startBucket(settings);
  const access = {
    ...{ log: keepLog().log, now: stoppedClock(AT).now, createObject },
    platform: () => platformAt(server.url),
    readToken: async () => ({ scheme: 'Bearer', value: 'token' }) as const,
  };
  const readObject = () => readFile(join(s3.directory, BUCKET, KEY)).catch(() => undefined);
  return { server, s3, access, readObject };
}

function withLength(body: string | Buffer, headers: IncomingHttpHeaders = {}): Respond {
  const length = String(Buffer.byteLength(body));
  return (response) => response.writeHead(200, { 'content-length': length, ...headers }).end(body);
}

function inChunks(body: string, headers: IncomingHttpHeaders = {}): Respond {
  return (response) => response.writeHead(200, { 'transfer-encoding': 'chunked', ...headers }).end(body);
}

/** An answer with neither a length nor chunks: it ends with its connection. */
function unframed(body: string, headers: IncomingHttpHeaders = {}): Respond {
  return (response) => {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
    response.writeHead(200, headers);
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
    const before = { ...state, request: { ...request, options: { currency: 'USD' } } };
    const token = { ...state.token, unproven: true };
    const caught = { Error: 'CopyFailed' };
    const saved = await queryPurchases({ ...before, token, throttled: 2, caught }, access);
    const crc = base64Crc32(crc32(body));
    expect(saved).toStrictEqual({
      ...before,
      status: 'curated',
      object: { key: KEY, bytes: 38, crc32: crc, content_type, rows: 1, copied_at: AT },
    });
    expect(String(await readObject())).toBe(body);
    expect(server.requests.map(({ method, path, body }) => [method, path, JSON.parse(body)])).toEqual([
      ['POST', '/reports/purchases', { currency: 'USD', advertiser_id, ...range }],
    ]);
  });

  it.each([
    ['an array', '[{},{}]', 2],
    ["an object's only array", '{"next":null,"data":[{},{},{}]}', 3],
    ['lines', '{"id":1}\n{"id":2}\n', 2],
    ['neither', '{"data":[1],"more":[2]}', undefined],
  ])('counts the rows of %s', async (_, body, rows) => {
    const { access } = await start(withLength(body, { 'content-type': 'application/json' }));
    const { object } = await queryPurchases(state, access);
    expect(object?.rows).toBe(rows);
  });

  it('stores an answer without a content type as JSON', async () => {
    const { access, s3 } = await start(withLength('[]'));
    const { object } = await queryPurchases(state, access);
    expect(object?.content_type).toBe('application/json');
    expect(s3.journal.map(({ operation }) => operation)).toEqual(['PutObject']);
  });

  it.each([
    ['a,b\n1,2\n', 'text/csv'],
    ['x', 'text/html5'],
    ['x', 'application/x; of=text/html'],
    ['"none"', 'application/json'],
    ['{', 'text/csv'],
    ['{}\n[]\n', 'application/x-ndjson'],
  ])('stores %j as %s, because the contract shows no shape', async (body, type) => {
    for (const respond of [withLength, inChunks]) {
      const { access, readObject } = await start(respond(body, { 'content-type': type }));
      expect((await queryPurchases(state, access)).object?.content_type).toBe(type);
      expect(String(await readObject())).toBe(body);
    }
  });

  it('24: stores gzip unchanged, with its encoding', async () => {
    const body = gzipSync('{"purchases":[]}');
    const { access, readObject } = await start(withLength(body, { 'content-encoding': 'gzip' }));
    const { object } = await queryPurchases(state, access);
    expect(object).toMatchObject({ content_type: 'application/json', content_encoding: 'gzip' });
    expect(await readObject()).toEqual(body);
  });
});

describe('QueryPurchases that fails', () => {
  it('8: waits after a 429 and changes nothing else', async () => {
    const { access, sandbox } = await startStep({ faults: ['purchases status=429 retry_after=30'] });
    const { s3, createObject } = await startBucket();
    const caught = { Error: 'CopyFailed' };
    const waiting = await queryPurchases({ ...state, caught, throttled: 1 }, { ...access, createObject });
    expect(waiting).toStrictEqual({ ...state, wait_seconds: 30, throttled: 2, throttled_in_all: 1 });
    expect([s3.journal, callsTo(sandbox, 'purchases').length]).toEqual([[], 1]);
  });

  it.each([
    ['1: a refused token', 'status=401', 'TokenRefused'],
    ['5: an invalid query', 'status=422', 'RequestRefused'],
    ['7: a 500', 'status=500', 'PlatformUnavailable'],
    ['10: a lost answer, which may be repeated', 'reset=after', 'PlatformUnavailable'],
  ])('%s (%s) throws %s', async (_, fault, name) => {
    const { access } = await startStep({ faults: [`purchases ${fault}`] });
    const { s3, createObject } = await startBucket();
    const message = expect.stringContaining('when querying the purchases of 2026-01-01 to 2026-10-01');
    const querying = queryPurchases(state, { ...access, createObject });
    await expect(querying).rejects.toMatchObject({ name, message });
    expect(s3.journal).toEqual([]);
  });

  it.each<[string, Respond]>([
    ['an HTML page', withLength('<html>', { 'content-type': 'text/html' })],
    ['an HTML page', withLength('<html>', { 'content-type': 'TEXT/HTML; charset=utf-8' })],
    ['an empty body', withLength('')],
    ['an empty body', inChunks('')],
    ...[
      ['{"purchases":[1],', 'application/json'],
      ['{"purchases":[{"id":1}', 'application/json'],
      ['[1', 'application/vnd.platform+JSON'],
      [' \n', 'application/json'],
      ['{}\n{"id":', 'application/x-ndjson'],
    ].flatMap(([body = '', type]): [string, Respond][] =>
      [withLength, inChunks].map((respond) => [
        'JSON that ends in its middle',
        respond(body, { 'content-type': type }),
      ]),
    ),
  ])('11: refuses %s (%#)', async (what, respond) => {
    const happened = `The platform answered the purchase query with ${what}.`;
    await expectNothingStored(respond, 'AnswerUnreadable', happened, { request_id: 'absent' });
  });

  it.each<[IncomingHttpHeaders, string]>([
    [{ 'content-length': '100' }, 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'],
    [{ 'transfer-encoding': 'chunked' }, 'HTTPParserError'],
  ])('17: stores no answer that breaks off (%j)', async (headers, code) => {
    const breaking: Respond = (response) => {
      response.writeHead(200, headers).write('{"purchases":[');
      setImmediate(() => response.destroy());
    };
    const happened = 'The answer to the purchase query broke off.';
    await expectNothingStored(breaking, 'CopyFailed', happened, { code });
  });

  it.each([
    ['{"purchases":[1]}', 'application/json'],
    ['{"purchases":[1]', 'application/json'],
    ['{"id":1}\n', 'application/x-ndjson'],
    ['a,b\n', 'text/csv'],
    ['', 'application/json'],
  ])('17: refuses an answer with neither Content-Length nor chunks: %j', async (body, type) => {
    const happened = 'The platform marks the end of its answer to the purchase query neither';
    await expectNothingStored(unframed(body, { 'content-type': type }), 'CopyFailed', happened);
  });

  it.each(['gzip', 'br'])('24: refuses an answer that is not encoded as %s says', async (encoding) => {
    await expectNothingStored(withLength('[]', { 'content-encoding': encoding }), 'DownloadRefused');
  });

  it('22: refuses an answer that is larger than the settings allow', async () => {
    const whole = await start(withLength('[12345]'), { MAX_DOWNLOAD_BYTES: '7' });
    expect(await queryPurchases(state, whole.access)).toMatchObject({ object: { bytes: 7 } });
    const larger = await start(withLength('[123456]'), { MAX_DOWNLOAD_BYTES: '7' });
    await expect(queryPurchases(state, larger.access)).rejects.toMatchObject({ name: 'DownloadRefused' });
    expect(larger.s3.journal).toEqual([]);
  });

  it('27: names the permission that S3 refused', async () => {
    const { access, s3 } = await start(withLength('[]'));
    s3.faults.push({ operation: 'PutObject', answer: 'AccessDenied' });
    const facts = { permission: expect.stringContaining('s3:PutObject') };
    await expect(queryPurchases(state, access)).rejects.toMatchObject({ name: 'AccessRefused', facts });
  });

  it('closes the connection of an answer that it does not read to the end, and aborts the object', async () => {
    const onClose = vi.fn();
    const endless: Respond = (response) => {
      response.once('close', onClose);
      response.writeHead(200, { 'content-type': 'text/html' }).write('<html>');
    };
    const { access } = await start(endless);
    const abort = vi.fn(async () => {});
    const createObject: CreateObject = (key, kind) => ({ ...access.createObject(key, kind), abort });
    await expect(queryPurchases(state, { ...access, createObject })).rejects.toThrow();
    expect(abort).toHaveBeenCalledOnce();
    // The idle timeout would close it much later.
    await expect.poll(() => onClose.mock.calls.length, { timeout: 5_000 }).toBe(1);
  });

  it('reports an unexpected error as CopyFailed', async () => {
    const { access } = await start(withLength('[]'));
    const write = () => Promise.reject(new TypeError('without a code'));
    const createObject: CreateObject = (key, kind) => ({ ...access.createObject(key, kind), write });
    const querying = queryPurchases(state, { ...access, createObject });
    await expect(querying).rejects.toMatchObject({ name: 'CopyFailed', facts: { code: 'TypeError' } });
  });

  it('9: gives up an answer that takes longer than 14 min', async () => {
    const total = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(total.signal);
    onTestFinished(() => timeout.mockRestore());
    const dripping: Respond = (response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
      setTimeout(() => total.abort(), 50);
    };
    await expectNothingStored(dripping, 'CopyFailed', '', { code: 'TOTAL_TIMEOUT' });
    expect(timeout.mock.calls[0]).toEqual([14 * 60 * 1000]);
  });
});

it('the handler of QueryPurchases uses the token that the state names, and writes to the bucket', async () => {
  const surroundings = await startSurroundings('QueryPurchases', 'reporting:read');
  const { lambda, window, sandbox } = surroundings;
  const input = JSON.parse(JSON.stringify({ ...window, request, window: range }));
  const saved = await lambda.call(handler, input);
  expect(saved).toMatchObject({ status: 'curated', token: { unproven: false }, object: { key: KEY } });
  const [call] = callsTo(sandbox, 'purchases');
  expect([call?.status, JSON.parse(call?.body ?? '')]).toEqual([200, { advertiser_id, ...range }]);
  expectOneObject(surroundings, KEY);
});
