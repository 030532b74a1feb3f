import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { WriteObject } from '../../functions/copy/object-writer.ts';
import { exportList as run } from '../../functions/export-list.ts';
import type { ListRequest } from '../../functions/workflow/request/request.ts';
import type { AuthorizedWindow, ListWindow, SavedWindow } from '../../functions/workflow/states.ts';
import type { Sandbox } from '../../infra/lab/sandbox/start-sandbox.ts';
import { callsTo } from '../support/journal.ts';
import { startBucket } from '../support/lambda.ts';
import { json, listen, type Seen } from '../support/listen.ts';
import { accessTo } from '../support/platform.ts';
import { NORMALIZED_LIST } from '../support/requests.ts';
import { BUCKET } from '../support/s3.ts';
import { keepObjects, startStep, windowOf } from '../support/steps.ts';

const KEY = 'exports/account=acme/export=all/start_date=2026-11-21/end_date=2026-11-22/campaigns.ndjson';
const AT = '2026-11-21T06:00:00.000Z';
const { start_date, end_date } = NORMALIZED_LIST;
const request: ListRequest = { ...NORMALIZED_LIST, name: 'all' };
const state: ListWindow = { ...windowOf([]), request, window: { start_date, end_date } };

type Access = Omit<Parameters<typeof run>[1], 'millisecondsLeft'>;

/** @param minutes that are left of the call, each time that the step asks */
function exportList(window: ListWindow, access: Access, minutes: Iterator<number> = [].values()) {
  return run(window, { ...access, millisecondsLeft: () => 60_000 * (minutes.next().value ?? 15) });
}

function stateOf(fields: Partial<ListRequest>): ListWindow {
  return { ...state, request: { ...request, ...fields } };
}

/** An object that only records what is written. */
function recordObject() {
  const done: string[] = [];
  const writeObject: WriteObject = async (key, { content_type }, fill) => {
    done.length = 0;
    let bytes = 0;
    const write = async (chunk: Buffer) => {
      bytes += chunk.length;
      done.push(String(chunk));
    };
    const rows = await fill(write);
    done.push('end');
    return { key, bytes, crc32: 'AAAAAA==', content_type, rows };
  };
  return { done, writeObject };
}

/** A platform that answers with these pages (500 instead of undefined), and an object that records. */
async function startPages(pages: (seen: Seen, index: number) => unknown) {
  const server = await listen((seen, response) => {
    const page = pages(seen, server.requests.length - 1);
    if (typeof page === 'string') response.writeHead(200).end(page);
    else if (typeof page === 'number') json(response, page, { error: { type: 'any', request_id: 'q' } });
    else if (page === undefined) json(response, 500, { error: { type: 'internal_error', request_id: 'q' } });
    else json(response, 200, page);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { done, writeObject } = recordObject();
  const { objects, store } = keepObjects();
  return { server, done, objects, access: { ...accessTo(server.url), store, writeObject } };
}

function queriesTo(sandbox: Sandbox) {
  return callsTo(sandbox, 'list').map(({ query }) => Object.fromEntries(new URLSearchParams(query)));
}

describe('ExportList', () => {
  it('writes every page to one object, one item per line', async () => {
    const { access, sandbox } = await startStep();
    const { s3, writeObject } = await startBucket();
    const token = { ...state.token, unproven: true };
    const before = { ...stateOf({ limit: 25 }), token, throttled: 3, caught: { Error: 'CopyFailed' } };
    const saved = await exportList(before, { ...access, writeObject });
    const bytes = await readFile(join(s3.directory, BUCKET, KEY));
    expect(saved).toStrictEqual({
      ...stateOf({ limit: 25 }),
      warnings: [expect.stringMatching(/^the list came in 3 pages without a bound on created_at: /)],
      status: 'saved',
      object: {
        key: KEY,
        bytes: bytes.length,
        crc32: expect.stringMatching(/^[\w+/]{6}==$/),
        content_type: 'application/x-ndjson',
        rows: 57,
        copied_at: AT,
      },
    });
    const lines = String(bytes).trimEnd().split('\n');
    const items = lines.map((line) => JSON.parse(line));
    expect(new Set(items.map(({ id }) => id)).size).toBe(57);
    // The sandbox lists the newest item first.
    const created = items.map(({ created_at }) => created_at);
    expect(created).toEqual(created.toSorted().reverse());
    expect(queriesTo(sandbox)).toEqual(['0', '25', '50', '57'].map((offset) => ({ limit: '25', offset })));
  });

  const bounded = { filters: { 'created_at[lt]': '2026-11-21' } };
  it.each<[string, number, Partial<ListRequest>, number[][]]>([
    ['pages with another filter', 1, { limit: 2, filters: { status: 'active' } }, [[1, 2], [3], []]],
    ['pages with a bound on created_at', 0, { limit: 2, ...bounded }, [[1, 2], [3], []]],
    ['one page', 0, { limit: 3 }, [[1, 2, 3], []]],
    ['no items', 0, { limit: 5 }, [[]]],
  ])('warns that %s may not be one snapshot: %i warnings (contract 8)', async (_, count, fields, pages) => {
    const { access } = await startPages((_seen, index) => pages[index]?.map((id) => ({ id })));
    expect((await exportList(stateOf(fields), access)).warnings).toHaveLength(count);
  });

  it('writes an item that comes again on a later page once, by its id', async () => {
    const pages = [[{ id: 1 }, { id: 2, v: 'old' }], [{ id: 2, v: 'new' }, { id: 3 }], []];
    const { access, done } = await startPages((_, index) => pages[index]);
    const { object } = await exportList(stateOf({ limit: 2 }), access);
    expect(done).toEqual(['{"id":1}\n', '{"id":2,"v":"old"}\n', '{"id":3}\n', 'end']);
    expect(object).toMatchObject({ rows: 3 });
  });

  const withIds = (...ids: string[]) => ids.map((id) => `{"id":${id}}`);
  const twice = (...items: string[]) => items.flatMap((item) => [item, item]);
  it.each([
    [
      'ids by all of their digits, and a number from a text',
      withIds('12345678901234567890', '12345678901234567891', '"1"', '1', '12345678901234567890'),
      1,
    ],
    ['items without an id, even if they are equal', twice('{"a":1}', '{"id":null}', 'null', '"x"', '7'), 0],
  ])('tells apart %s', async (_, lines, repeated) => {
    const { access, done } = await startPages(() => `[${lines.join(',')}]`);
    const { object } = await exportList(state, access);
    const rows = lines.length - repeated;
    expect(done.slice(0, -1)).toEqual(lines.slice(0, rows).map((line) => `${line}\n`));
    expect(object).toMatchObject({ rows });
  });

  it('23: writes an empty object for an empty list', async () => {
    const { access } = await startPages(() => []);
    const { s3, writeObject } = await startBucket();
    const { object } = await exportList(state, { ...access, writeObject });
    expect(object).toMatchObject({ bytes: 0, crc32: 'AAAAAA==', rows: 0 });
    expect(await readFile(join(s3.directory, BUCKET, KEY), 'utf8')).toBe('');
  });
});

/** Calls the step until the list is saved, at most so often, as the state machine does. */
async function exportInCalls(window: ListWindow, access: Access, calls: number) {
  const states: (AuthorizedWindow | SavedWindow)[] = [window];
  while (states.length <= calls && states.at(-1)?.status !== 'saved') {
    const before = states.at(-1) as ListWindow;
    states.push(await exportList(before, access).catch((error: unknown) => ({ ...before, error })));
  }
  return states.slice(1);
}

describe('ExportList that is interrupted', () => {
  const item = (id: number) => ({ id });
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => `{"id":${from + at}}\n`).join('');
  const offsetsOf = (server: { requests: readonly Seen[] }) =>
    server.requests.map(({ path }) => Number(new URL(path, 'http://x').searchParams.get('offset')));

  it.each([
    ['8: a 429', 429],
    ['5: a 401', 401],
    ['9: a 500', 500],
    ['a refusal in the middle of the list', 404],
  ])('stores its pages at %s, and goes on behind them', async (_, status) => {
    // A refusal is asked for again at once.
    const times = status === 404 ? 2 : 1;
    const { access, server, done, objects } = await startPages((seen, index) => {
      const offset = Number(new URL(seen.path, 'http://x').searchParams.get('offset'));
      if (index >= 2 && index < 2 + times) return status;
      return [offset, offset + 1].filter((id) => id < 7).map(item);
    });
    const [interrupted, saved] = await exportInCalls(stateOf({ limit: 2 }), access, 2);
    expect(interrupted).toMatchObject({
      status: 'planned',
      wait_seconds: 10,
      throttled_in_all: 1,
      list: { objects: 1, is_complete: false, progress: { offset: 4, pages: 2 } },
    });
    expect(Object.fromEntries(objects)).toEqual({ '_pages/test-execution/000000.ndjson': lines(0, 4) });
    expect(saved).toMatchObject({ status: 'saved', object: { rows: 7 } });
    expect(saved).not.toHaveProperty('list');
    expect(done.join('')).toBe(`${lines(0, 7)}end`);
    expect(offsetsOf(server).filter((offset) => offset === 0)).toHaveLength(1);
  });

  it('waits as long as a 429 says, and counts all of them', async () => {
    const server = await listen((seen, response) => {
      const offset = Number(new URL(seen.path, 'http://x').searchParams.get('offset'));
      if (server.requests.length % 2 === 0) json(response, 429, {}, { 'retry-after': '60' });
      else json(response, 200, offset < 600 ? [{ id: offset }, { id: offset + 1 }] : []);
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const { done, writeObject } = recordObject();
    const access = { ...accessTo(server.url), store: keepObjects().store, writeObject };
    const states = await exportInCalls(stateOf({ limit: 2 }), access, 121);
    expect(states[0]).toMatchObject({ wait_seconds: 60, throttled: 1 });
    expect(states[119]).toMatchObject({ throttled: 1, throttled_in_all: 120, list: { objects: 120 } });
    expect(states[120]).toMatchObject({
      error: {
        name: 'RateLimited',
        happened: expect.stringMatching(/121 times\. .* read 242 items in 121 pages/),
      },
    });
    expect(done).toEqual([]);
  });

  it('22: goes on in another call if one call is too short, also to write what it has read', async () => {
    const { access, done, server } = await startPages((_, index) => (index < 5 ? [item(index)] : []));
    const list = stateOf({ limit: 1 });
    const first = await exportList(list, access, [14, 8, 3].values());
    expect(first).toMatchObject({ wait_seconds: 10, list: { progress: { offset: 3 } } });
    expect(first).not.toHaveProperty('throttled_in_all');
    const second = await exportList(first as ListWindow, access, [14, 8, 3].values());
    expect(second).toMatchObject({ list: { objects: 2, is_complete: true } });
    expect(server.requests).toHaveLength(6);
    expect(await exportList(second as ListWindow, access)).toMatchObject({ object: { rows: 5 } });
    expect(done.join('')).toBe(`${lines(0, 5)}end`);
    expect(server.requests).toHaveLength(6);
  });

  it('28: a call that is killed is repeated from where it began', async () => {
    const { access, done } = await startPages((seen, index) => {
      const offset = Number(new URL(seen.path, 'http://x').searchParams.get('offset'));
      return index === 2 ? 429 : [offset, offset + 1].filter((id) => id < 5).map(item);
    });
    const [interrupted] = await exportInCalls(stateOf({ limit: 2 }), access, 1);
    const killed = { ...access, writeObject: () => Promise.reject(new Error('killed')) };
    await expect(exportList(interrupted as ListWindow, killed)).rejects.toThrow('killed');
    expect(await exportList(interrupted as ListWindow, access)).toMatchObject({ object: { rows: 5 } });
    expect(done.join('')).toBe(`${lines(0, 5)}end`);
  });

  it('fails if its stored pages are gone', async () => {
    const { access, objects } = await startPages((_, index) => [[item(1), item(2)], 429][index] ?? []);
    const [interrupted] = await exportInCalls(stateOf({ limit: 2 }), access, 1);
    objects.clear();
    const happened = expect.stringMatching(
      /^_pages\/test-execution\/000000\.ndjson, .* Run the export again\.$/,
    );
    await expect(exportList(interrupted as ListWindow, access)).rejects.toMatchObject({
      name: 'DownloadRefused',
      happened,
    });
  });

  it('splits what it stores into objects of 8 MiB', async () => {
    const text = 'x'.repeat(1024 ** 2);
    const { access, objects, done } = await startPages((_, index) =>
      index === 0 ? Array.from({ length: 20 }, (_item, id) => ({ id, text })) : index === 1 ? 429 : [],
    );
    const [, saved] = await exportInCalls(stateOf({ limit: 20 }), access, 2);
    expect([...objects.values()].map((lines) => lines.split('\n').length - 1)).toEqual([8, 8, 4]);
    expect(saved).toMatchObject({ object: { rows: 20 } });
    expect(done).toHaveLength(21);
  });
});

describe('ExportList that fails', () => {
  it('11: throws the error of its first page, and writes no object', async () => {
    const { access, objects } = await startStep({ faults: ['list body="<html>"'] });
    const { done, writeObject } = recordObject();
    const message = expect.stringContaining('when listing campaigns');
    const exporting = exportList(stateOf({ limit: 2 }), { ...access, writeObject });
    await expect(exporting).rejects.toMatchObject({ name: 'AnswerUnreadable', message });
    expect(done).toEqual([]);
    expect([...objects.keys()]).toEqual([]);
  });

  it('22: refuses a list with more items than it can remember', async () => {
    const { access, done, server } = await startPages((_, index) => [{ id: index }]);
    const exporting = run(stateOf({ limit: 1 }), { ...access, millisecondsLeft: () => 900_000 }, 2);
    const message = expect.stringMatching(/^The list has more than 2 items, or does not end\. Filter it/);
    await expect(exporting).rejects.toMatchObject({ name: 'DownloadRefused', message });
    expect(server.requests).toHaveLength(3);
    expect(done).not.toContain('end');
  });
});
