import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CreateObject, NewObject } from '../../functions/copy/new-object.ts';
import { handler, exportList as run } from '../../functions/export-list.ts';
import type { ListRequest } from '../../functions/workflow/request/request.ts';
import type { ListWindow } from '../../functions/workflow/states.ts';
import { ACCOUNT } from '../../infra/local/s3/server.ts';
import type { Sandbox } from '../../infra/local/sandbox/sandbox.ts';
import { callsTo } from '../support/journal.ts';
import { json, listen, type Seen } from '../support/listen.ts';
import { platformAt } from '../support/platform.ts';
import { BUCKET } from '../support/s3.ts';
import { keepLog, startStep, stoppedClock, windowOf } from '../support/steps.ts';
import { expectOneObject, openObjects, startSurroundings } from '../support/surroundings.ts';

const KEY = 'exports/account=acme/export=all/start_date=2026-11-21/end_date=2026-11-22/campaigns.ndjson';
const AT = '2026-11-21T06:00:00.000Z';
const request: ListRequest = {
  ...{ name: 'all', account: 'acme', kind: 'list', resource: 'campaigns', limit: 5000, filters: {} },
  ...{ start_date: '2026-11-21', end_date: '2026-11-22', max_parallel: 1 },
};
const { start_date, end_date } = request;
const state: ListWindow = { ...windowOf([]), request, window: { start_date, end_date } };

type Access = Omit<Parameters<typeof run>[1], 'millisecondsLeft'>;

/** @param minutes that are left of the call, each time that it is asked for */
function exportList(window: ListWindow, access: Access, minutes: Iterator<number> = [].values()) {
  return run(window, { ...access, millisecondsLeft: () => 60_000 * (minutes.next().value ?? 15) });
}

function asking(fields: Partial<ListRequest>): ListWindow {
  return { ...state, request: { ...request, ...fields } };
}

/** A bucket that keeps what is done to it; nothing of it is written anywhere. */
function openKept() {
  const done: string[] = [];
  const createObject: CreateObject = (key, { contentType }) => {
    done.push(`open ${key} ${contentType}`);
    let bytes = 0;
    const object: NewObject = {
      async write(chunk) {
        bytes += chunk.length;
        done.push(String(chunk));
      },
      async end() {
        done.push('end');
        return { key, bytes, crc32: 'AAAAAA==', content_type: contentType };
      },
      abort: async () => void done.push('abort'),
    };
    return object;
  };
  return { done, createObject };
}

/** A platform whose pages these are, and a bucket that keeps what is done to it. */
async function startPages(pages: (seen: Seen, at: number) => unknown) {
  const server = await listen((seen, response) => {
    const page = pages(seen, server.requests.length - 1);
    if (typeof page === 'string') response.writeHead(200).end(page);
    else if (page === undefined) json(response, 500, { error: { type: 'internal_error', request_id: 'q' } });
    else json(response, 200, page);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { done, createObject } = openKept();
  const access = {
    ...{ log: keepLog().log, now: stoppedClock(AT).now, createObject },
    platform: () => platformAt(server.url),
    readToken: async () => ({ scheme: 'Bearer', value: 'token' }) as const,
  };
  return { server, done, access };
}

function queriesTo(sandbox: Sandbox) {
  return callsTo(sandbox, 'list').map(({ query }) => Object.fromEntries(new URLSearchParams(query)));
}

describe('ExportList', () => {
  it('writes every page to one object, an item a line, and says what is at its key', async () => {
    const { access, sandbox } = await startStep({ lists: { campaigns: { count: 5 } } });
    const { s3, createObject } = await openObjects();
    const caught = { Error: 'CopyFailed' };
    const token = { ...state.token, unproven: true };
    const asked = { ...asking({ limit: 2 }), token, throttled: 3, caught };
    const saved = await exportList(asked, { ...access, createObject });
    const bytes = await readFile(join(s3.directory, BUCKET, KEY));
    expect(saved).toStrictEqual({
      ...asking({ limit: 2 }),
      warnings: [expect.stringMatching(/^the list came in pages of 2 without a bound on created_at: /)],
      status: 'saved',
      object: {
        ...{ key: KEY, bytes: bytes.length, crc32: expect.stringMatching(/^[\w+/]{6}==$/) },
        ...{ content_type: 'application/x-ndjson', rows: 5, repeated_items: 0, copied_at: AT },
      },
    });
    const items = String(bytes).trimEnd().split('\n');
    expect(items.map((line) => JSON.parse(line).name)).toEqual(
      [5, 4, 3, 2, 1].map((at) => `campaigns ${at}`),
    );
    expect(queriesTo(sandbox)).toEqual(['0', '2', '4'].map((offset) => ({ limit: '2', offset })));
  });

  it('asks for what the request filters, and finds the items where it says (contract 4.6, 8)', async () => {
    const { access, done, server } = await startPages(() => ({ a: [], b: { c: [{ id: 1 }] } }));
    const filters = { created_at_lte: '2026-11-21T00:00:00Z' };
    await exportList(asking({ filters, items: 'b.c', resource: 'audiences' }), access);
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/audiences?created_at_lte=2026-11-21T00%3A00%3A00Z&limit=5000&offset=0',
      '/audiences?created_at_lte=2026-11-21T00%3A00%3A00Z&limit=5000&offset=1',
    ]);
    const key = KEY.replace('campaigns', 'audiences');
    expect(done).toEqual([`open ${key} application/x-ndjson`, '{"id":1}\n', 'end']);
  });

  it.each<[string, Partial<ListRequest>, number]>([
    ['pages that nothing bounds', { limit: 2 }, 1],
    ['pages that another filter bounds', { limit: 2, filters: { status: 'active' } }, 1],
    ['pages of what was created by then', { limit: 2, filters: { 'created_at[lt]': '2026-11-21' } }, 0],
    ['a full page and an empty one', { limit: 3 }, 1],
    ['one page', { limit: 4 }, 0],
  ])('says that it may not be one snapshot, of %s (contract 8)', async (_, asked, warnings) => {
    const items = [{ id: 1 }, { id: 2 }, { id: 3 }];
    const { access } = await startPages(({ path }) => {
      const { searchParams } = new URL(path, 'http://x');
      const offset = Number(searchParams.get('offset'));
      return items.slice(offset, offset + Number(searchParams.get('limit')));
    });
    expect((await exportList(asking(asked), access)).warnings).toHaveLength(warnings);
  });

  it.each<[string, number[][], number]>([
    ['pages shorter than was asked for', [[1, 2], [3, 4], [5]], 1],
    ['a short page and another one of what it had', [[1, 2], [2]], 1],
    ['a full page in which an item comes twice', [[1, 2, 3, 3, 4], []], 1],
    ['a short page in which one does', [[1, 2, 2], []], 0],
    ['no items', [[]], 0],
  ])('says so where a server gives %s', async (_, pages, warnings) => {
    const { access } = await startPages((_seen, at) => pages[at]?.map((id) => ({ id })));
    expect((await exportList(asking({ limit: 5 }), access)).warnings).toHaveLength(warnings);
  });

  it('writes once what comes again on a later page, by its id, and counts it', async () => {
    const pages = [[{ id: 1 }, { id: 2, v: 'old' }], [{ id: 2, v: 'new' }, { id: 3 }], []];
    const { access, done } = await startPages((_, at) => pages[at]);
    const { object } = await exportList(asking({ limit: 2 }), access);
    expect(done.slice(1)).toEqual(['{"id":1}\n{"id":2,"v":"old"}\n', '{"id":3}\n', 'end']);
    expect(object).toMatchObject({ rows: 3, repeated_items: 1 });
  });

  it('tells ids apart by all of their digits, and a number from a text', async () => {
    const ids = ['12345678901234567890', '12345678901234567891', '"1"', '1', '12345678901234567890'];
    const lines = ids.map((id) => `{"id":${id}}`);
    const { access, done } = await startPages(() => `[${lines.join(',')}]`);
    const { object } = await exportList(state, access);
    expect(done[1]).toBe(`${lines.slice(0, 4).join('\n')}\n`);
    expect(object).toMatchObject({ rows: 4, repeated_items: 1 });
  });

  it('writes each time what has no id', async () => {
    const lines = [
      '{"a":1}',
      '{"a":1}',
      '{"id":null}',
      '{"id":null}',
      'null',
      'null',
      '"x"',
      '"x"',
      '7',
      '7',
    ];
    const { access, done } = await startPages(() => `[${lines.join(',')}]`);
    const { object } = await exportList(state, access);
    expect(done[1]).toBe(`${lines.join('\n')}\n`);
    expect(object).toMatchObject({ rows: 10, repeated_items: 0 });
  });

  it.each([
    [500, [500]],
    [501, [500, 1]],
    [1000, [500, 500]],
  ])('makes of %i items no more than 500 into text at once', async (count, batches) => {
    const items = Array.from({ length: count }, (_, id) => ({ id }));
    const { access, done } = await startPages(() => items);
    await exportList(state, access);
    const writes = done.slice(1, -1);
    expect(writes.map((text) => text.split('\n').length - 1)).toEqual(batches);
    expect(writes.join('')).toBe(items.map(({ id }) => `{"id":${id}}\n`).join(''));
  });

  it('23: makes an empty object of an empty list', async () => {
    const { access } = await startPages(() => []);
    const { s3, createObject } = await openObjects();
    const { object } = await exportList(state, { ...access, createObject });
    expect(object).toMatchObject({ bytes: 0, crc32: 'AAAAAA==', rows: 0, repeated_items: 0 });
    expect(await readFile(join(s3.directory, BUCKET, KEY), 'utf8')).toBe('');
  });
});

describe('ExportList that does not come to its end', () => {
  it('8: waits where it is throttled on any page, leaves nothing, and begins again', async () => {
    const faults = ['list nth=2 status=429 retry_after=30'];
    const { access, sandbox } = await startStep({ lists: { campaigns: { count: 5 } }, faults });
    const { done, createObject } = openKept();
    const caught = { Error: 'CopyFailed' };
    const asked = asking({ limit: 2 });
    const dependencies = { ...access, createObject };
    const waiting = await exportList({ ...asked, caught, throttled: 1 }, dependencies);
    expect(waiting).toStrictEqual({ ...asked, wait_seconds: 30, throttled: 2, throttled_in_all: 1 });
    expect([done.includes('end'), done.at(-1)]).toEqual([false, 'abort']);
    expect(await exportList(asked, dependencies)).toMatchObject({ status: 'saved', object: { rows: 5 } });
    expect(queriesTo(sandbox).map(({ offset }) => offset)).toEqual(['0', '2', '0', '2', '4']);
  });

  it.each([
    ['1: a refused token', 'status=401', 'TokenRefused'],
    ['4: a scope that is missing', 'status=403', 'RequestRefused'],
    ['7: a platform that is down', 'status=500', 'PlatformUnavailable'],
    ['10: a lost answer', 'reset=after', 'PlatformUnavailable'],
    ['11: a page for people', 'body="<html>"', 'AnswerUnreadable'],
  ])('leaves %s to the state machine, and gives up the object', async (_, fault, name) => {
    const faults = [`list nth=2 ${fault}`];
    const { access } = await startStep({ lists: { campaigns: { count: 5 } }, faults });
    const { done, createObject } = openKept();
    const exporting = exportList(asking({ limit: 2 }), { ...access, createObject });
    await expect(exporting).rejects.toMatchObject({
      name,
      message: expect.stringContaining('when listing campaigns'),
    });
    expect([done.includes('end'), done.at(-1)]).toEqual([false, 'abort']);
  });

  it('7: leaves no part of an object in the bucket where a later page fails', async () => {
    const large = Array.from({ length: 90 }, (_, id) => ({ id, text: 'x'.repeat(100_000) }));
    const { access } = await startPages((_, at) => (at === 0 ? large : undefined));
    const { s3, createObject } = await openObjects({ MAX_DOWNLOAD_BYTES: '100000000' });
    const exporting = exportList(asking({ limit: 90 }), { ...access, createObject });
    await expect(exporting).rejects.toMatchObject({
      name: 'PlatformUnavailable',
      facts: { request_id: 'q' },
    });
    const [first, ...others] = s3.journal.map(({ operation }) => operation);
    expect([first, others.at(-1)]).toEqual(['CreateMultipartUpload', 'AbortMultipartUpload']);
    const listing = new ListMultipartUploadsCommand({ Bucket: BUCKET, ExpectedBucketOwner: ACCOUNT });
    expect((await s3.client.send(listing)).Uploads ?? []).toEqual([]);
    await expect(readFile(join(s3.directory, BUCKET, KEY))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('22: stops at a list that is larger than the settings allow, and takes one that is as large', async () => {
    const { access } = await startPages(() => [{ id: 1 }]);
    const { createObject } = await openObjects({ MAX_DOWNLOAD_BYTES: '9' });
    expect(await exportList(state, { ...access, createObject })).toMatchObject({ object: { bytes: 9 } });
    const { createObject: openSmaller, s3 } = await openObjects({ MAX_DOWNLOAD_BYTES: '8' });
    const exporting = exportList(state, { ...access, createObject: openSmaller });
    await expect(exporting).rejects.toMatchObject({
      name: 'DownloadRefused',
      message: expect.stringContaining(`${KEY} is larger than max_download_bytes (8) allows`),
    });
    expect(s3.journal).toEqual([]);
  });

  it('22: stops at a list that takes longer than one call while there is time to say so', async () => {
    const { access, done, server } = await startPages((_, at) => (at < 9 ? [{ id: at }] : []));
    const exporting = exportList(asking({ limit: 1 }), access, [14, 8, 2, 1.9].values());
    await expect(exporting).rejects.toMatchObject({ name: 'DownloadRefused', facts: { items: 4 } });
    expect(server.requests).toHaveLength(4);
    expect([done.includes('end'), done.at(-1)]).toEqual([false, 'abort']);
  });

  it('27: says what S3 refused', async () => {
    const { access } = await startPages(() => [{ id: 1 }]);
    const { s3, createObject } = await openObjects();
    s3.faults.push({ operation: 'PutObject', answer: 'AccessDenied' });
    await expect(exportList(state, { ...access, createObject })).rejects.toMatchObject({
      name: 'AccessRefused',
    });
  });

  it('gives up an object that cannot be ended', async () => {
    const { access } = await startPages(() => [{ id: 1 }]);
    const { done, createObject } = openKept();
    const failing: CreateObject = (key, kind) => ({
      ...createObject(key, kind),
      end: () => Promise.reject(new Error('S3 is away')),
    });
    await expect(exportList(state, { ...access, createObject: failing })).rejects.toThrow('S3 is away');
    expect(done.at(-1)).toBe('abort');
  });
});

describe('ExportList as a function', () => {
  it('calls the platform with the very token that the state names, and writes into the bucket', async () => {
    const surroundings = await startSurroundings('ExportList', 'campaigns:read');
    const { lambda, window, sandbox } = surroundings;
    const input = JSON.parse(JSON.stringify({ ...window, request, window: { start_date, end_date } }));
    const saved = await lambda.call(handler, input);
    expect(saved).toMatchObject({
      status: 'saved',
      token: { unproven: false },
      object: { key: KEY, rows: 57 },
    });
    expect(callsTo(sandbox, 'list').map(({ status }) => status)).toEqual([200, 200]);
    expect(callsTo(sandbox, 'list')[0]?.headers).toMatchObject({ 'x-service-revision': sandbox.revision });
    expectOneObject(surroundings, KEY, 2);
  });
});
