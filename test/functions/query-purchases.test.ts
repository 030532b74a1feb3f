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
import { expectOneObject, openObjects, startSurroundings } from '../support/surroundings.ts';

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

/** A platform that answers in this way, and a bucket of this machine. */
async function start(respond: Respond, settings = {}) {
  const server = await listen((_, response) => respond(response));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { s3, createObject } = await openObjects(settings);
  const access = {
    ...{ log: keepLog().log, now: stoppedClock(AT).now, createObject },
    platform: () => platformAt(server.url),
    readToken: async () => ({ scheme: 'Bearer', value: 'token' }) as const,
  };
  const object = () => readFile(join(s3.directory, BUCKET, KEY)).catch(() => undefined);
  return { server, s3, access, object };
}

/** An answer of the platform with this body, whose length is known. */
function answering(body: string | Buffer, headers: IncomingHttpHeaders = {}): Respond {
  const length = String(Buffer.byteLength(body));
  return (response) => response.writeHead(200, { 'content-length': length, ...headers }).end(body);
}

function inChunks(body: string, headers: IncomingHttpHeaders = {}): Respond {
  return (response) => response.writeHead(200, { 'transfer-encoding': 'chunked', ...headers }).end(body);
}

/** An answer whose end is that of its connection. */
function closing(body: string, headers: IncomingHttpHeaders = {}): Respond {
  return (response) => {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
    response.writeHead(200, headers);
    response.write(body);
    response.end();
  };
}

/** The name of what it throws, where the bucket holds nothing then. */
async function expectNothing(respond: Respond, error: object): Promise<void> {
  const { access, object } = await start(respond);
  await expect(queryPurchases(state, access)).rejects.toMatchObject(error);
  expect(await object()).toBeUndefined();
}

describe('QueryPurchases', () => {
  it('asks once for the whole range with the options, and delivers the answer as it came (contract 2.4, 4.5)', async () => {
    const body = ' {"purchases":[12345678901234567890]}\n';
    const { access, server, object } = await start(
      answering(body, { 'content-type': 'application/json; charset=utf-8' }),
    );
    const token = { ...state.token, unproven: true };
    const asked = { ...state, request: { ...request, options: { currency: 'USD' } } };
    const caught = { Error: 'CopyFailed' };
    const saved = await queryPurchases({ ...asked, token, throttled: 2, caught }, access);
    expect(saved).toStrictEqual({
      ...asked,
      status: 'saved',
      object: {
        ...{ key: KEY, bytes: 38, crc32: base64Crc32(crc32(body)) },
        ...{ content_type: 'application/json; charset=utf-8', copied_at: AT },
      },
    });
    expect(String(await object())).toBe(body);
    expect(server.requests.map(({ method, path, body }) => [method, path, JSON.parse(body)])).toEqual([
      ['POST', '/reports/purchases', { currency: 'USD', advertiser_id, ...range }],
    ]);
  });

  it('takes an answer that does not say what it is for JSON', async () => {
    const { access, s3 } = await start(answering('[]'));
    const { object } = await queryPurchases(state, access);
    expect(object?.content_type).toBe('application/json');
    expect(s3.journal.map(({ operation }) => operation)).toEqual(['PutObject']);
  });

  it.each<[string, string, IncomingHttpHeaders]>([
    ['a text of any kind', 'a,b\n1,2\n', { 'content-type': 'text/csv' }],
    ['what only begins like a page', 'x', { 'content-type': 'text/html5' }],
    ['what has page in another place', 'x', { 'content-type': 'application/x; of=text/html' }],
    ['a value that is JSON without brackets', '"none"', { 'content-type': 'application/json' }],
    ['an open bracket in what is no JSON', '{', { 'content-type': 'text/csv' }],
    ['lines of JSON', '{}\n[]\n', { 'content-type': 'application/x-ndjson' }],
  ])('delivers %s, since the contract shows no shape', async (_, body, headers) => {
    for (const respond of [answering, inChunks]) {
      const { access, object } = await start(respond(body, headers));
      const saved = await queryPurchases(state, access);
      expect(saved.object?.content_type).toBe(headers['content-type']);
      expect(String(await object())).toBe(body);
    }
  });

  it('24: delivers gzip as it came, and says so', async () => {
    const body = gzipSync('{"purchases":[]}');
    const { access, object } = await start(answering(body, { 'content-encoding': 'gzip' }));
    const saved = await queryPurchases(state, access);
    expect(saved.object).toMatchObject({ content_type: 'application/json', content_encoding: 'gzip' });
    expect(await object()).toEqual(body);
  });
});

describe('QueryPurchases that does not deliver', () => {
  it('8: waits where it is throttled, and leaves everything else as it was', async () => {
    const { access, sandbox } = await startStep({ faults: ['purchases status=429 retry_after=30'] });
    const { s3, createObject } = await openObjects();
    const caught = { Error: 'CopyFailed' };
    const waiting = await queryPurchases({ ...state, caught, throttled: 1 }, { ...access, createObject });
    expect(waiting).toStrictEqual({ ...state, wait_seconds: 30, throttled: 2, throttled_in_all: 1 });
    expect([s3.journal, callsTo(sandbox, 'purchases').length]).toEqual([[], 1]);
  });

  it.each([
    ['1: a refused token', 'status=401', 'TokenRefused'],
    ['5: a query that is not valid', 'status=422', 'RequestRefused'],
    ['7: a platform that is down', 'status=500', 'PlatformUnavailable'],
    ['10: a lost answer, after which it may ask again', 'reset=after', 'PlatformUnavailable'],
  ])('leaves %s to the state machine', async (_, fault, name) => {
    const { access } = await startStep({ faults: [`purchases ${fault}`] });
    const { s3, createObject } = await openObjects();
    await expect(queryPurchases(state, { ...access, createObject })).rejects.toMatchObject({
      name,
      message: expect.stringContaining('when querying the purchases of 2026-01-01 to 2026-10-01'),
    });
    expect(s3.journal).toEqual([]);
  });

  it.each([
    ['text/html', 'text/html'],
    ['TEXT/HTML; charset=utf-8', 'text/html in capitals'],
  ])('11: does not take a page for people for an answer (%s)', async (type) => {
    await expectNothing(answering('<html>', { 'content-type': type }), {
      name: 'AnswerUnreadable',
      message: expect.stringContaining('The platform answered the purchase query with an HTML page.'),
      facts: { request_id: 'absent' },
    });
  });

  it.each<[string, Respond]>([
    ['of a length of 0', answering('')],
    ['in chunks', inChunks('')],
  ])('11: does not take an empty body for an answer, %s', async (_, respond) => {
    await expectNothing(respond, {
      name: 'AnswerUnreadable',
      message: expect.stringContaining('The platform answered the purchase query with an empty body.'),
      facts: { request_id: 'absent' },
    });
  });

  it.each([
    ['{"purchases":[1],', 'application/json'],
    ['[1', 'application/vnd.platform+JSON'],
    [' \n', 'application/json'],
    ['{}\n{"id":', 'application/x-ndjson'],
  ])('11: does not take %j for an answer, which is said to be whole (%s)', async (body, type) => {
    const message = expect.stringContaining('answered the purchase query with JSON that ends in its middle.');
    for (const respond of [answering, inChunks])
      await expectNothing(respond(body, { 'content-type': type }), { name: 'AnswerUnreadable', message });
  });

  it.each<[string, IncomingHttpHeaders, string]>([
    ['of a known length', { 'content-length': '100' }, 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'],
    ['in chunks', { 'transfer-encoding': 'chunked' }, 'HTTPParserError'],
  ])('17: does not deliver an answer that breaks off, %s', async (_, headers, code) => {
    const breaking: Respond = (response) => {
      response.writeHead(200, headers).write('{"purchases":[');
      setImmediate(() => response.destroy());
    };
    await expectNothing(breaking, {
      name: 'CopyFailed',
      message: expect.stringContaining('The answer to the purchase query broke off.'),
      facts: { code },
    });
  });

  it.each([
    ['closed JSON', '{"purchases":[1]}', 'application/json'],
    ['open JSON', '{"purchases":[1]', 'application/json'],
    ['lines', '{"id":1}\n', 'application/x-ndjson'],
    ['no JSON', 'a,b\n', 'text/csv'],
    ['nothing', '', 'application/json'],
  ])('17: does not deliver an answer with neither Content-Length nor chunks (%s)', async (_, body, type) => {
    const happened = 'The platform marks no end of the answer to the purchase query';
    const error = { name: 'CopyFailed', message: expect.stringContaining(happened) };
    await expectNothing(closing(body, { 'content-type': type }), error);
  });

  it.each([
    ['gzip that is none', 'gzip'],
    ['an encoding that cannot be checked', 'br'],
  ])('24: does not deliver %s', async (_, encoding) => {
    await expectNothing(answering('[]', { 'content-encoding': encoding }), { name: 'DownloadRefused' });
  });

  it('22: stops at an answer that is larger than the settings allow', async () => {
    const whole = await start(answering('[12345]'), { MAX_DOWNLOAD_BYTES: '7' });
    expect(await queryPurchases(state, whole.access)).toMatchObject({ object: { bytes: 7 } });
    const larger = await start(answering('[123456]'), { MAX_DOWNLOAD_BYTES: '7' });
    await expect(queryPurchases(state, larger.access)).rejects.toMatchObject({ name: 'DownloadRefused' });
    expect(larger.s3.journal).toEqual([]);
  });

  it('27: says what S3 refused', async () => {
    const { access, s3 } = await start(answering('[]'));
    s3.faults.push({ operation: 'PutObject', answer: 'AccessDenied' });
    await expect(queryPurchases(state, access)).rejects.toMatchObject({
      name: 'AccessRefused',
      facts: { permission: expect.stringContaining('s3:PutObject') },
    });
  });

  it('ends the connection of an answer that it does not read to the end, and gives up the object', async () => {
    let closed = 0;
    const endless: Respond = (response) => {
      response.once('close', () => {
        closed += 1;
      });
      response.writeHead(200, { 'content-type': 'text/html' }).write('<html>');
    };
    const { access } = await start(endless);
    const abort = vi.fn(async () => {});
    const createObject: CreateObject = (key, kind) => ({ ...access.createObject(key, kind), abort });
    await expect(queryPurchases(state, { ...access, createObject })).rejects.toThrow();
    expect(abort).toHaveBeenCalledOnce();
    // Much later it would end for want of more.
    await expect.poll(() => closed, { timeout: 5_000 }).toBe(1);
  });

  it('takes what nobody foresaw for a copy that broke off', async () => {
    const { access } = await start(answering('[]'));
    const failing = () => Promise.reject(new TypeError('of no code'));
    const createObject: CreateObject = (key, kind) => ({ ...access.createObject(key, kind), write: failing });
    await expect(queryPurchases(state, { ...access, createObject })).rejects.toMatchObject({
      name: 'CopyFailed',
      facts: { code: 'TypeError' },
    });
  });

  it('9: gives up after 14 min an answer that keeps coming', async () => {
    const total = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(total.signal);
    onTestFinished(() => timeout.mockRestore());
    const dripping: Respond = (response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(drip));
      setTimeout(() => total.abort(), 50);
    };
    await expectNothing(dripping, { name: 'CopyFailed', facts: { code: 'TOTAL_TIMEOUT' } });
    expect(timeout.mock.calls[0]).toEqual([14 * 60 * 1000]);
  });
});

describe('QueryPurchases as a function', () => {
  it('calls the platform with the very token that the state names, and writes into the bucket', async () => {
    const surroundings = await startSurroundings('QueryPurchases', 'reporting:read');
    const { lambda, window, sandbox } = surroundings;
    const input = JSON.parse(JSON.stringify({ ...window, request, window: range }));
    const saved = await lambda.call(handler, input);
    expect(saved).toMatchObject({ status: 'saved', token: { unproven: false }, object: { key: KEY } });
    const [call] = callsTo(sandbox, 'purchases');
    expect([call?.status, JSON.parse(call?.body ?? '')]).toEqual([200, { advertiser_id, ...range }]);
    expectOneObject(surroundings, KEY);
  });
});
