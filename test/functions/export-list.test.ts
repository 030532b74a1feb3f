import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { WriteObject } from '../../functions/copy/object-writer.ts';
import { exportList as run } from '../../functions/export-list.ts';
import type { ListRequest } from '../../functions/workflow/request/request.ts';
import type { ListWindow } from '../../functions/workflow/states.ts';
import type { Sandbox } from '../../infra/sandbox/sandbox.ts';
import { callsTo } from '../support/journal.ts';
import { startBucket } from '../support/lambda.ts';
import { json, listen, type Seen } from '../support/listen.ts';
import { accessTo } from '../support/platform.ts';
import { NORMALIZED_LIST } from '../support/requests.ts';
import { BUCKET } from '../support/s3.ts';
import { startStep, windowOf } from '../support/steps.ts';

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
    else if (page === undefined) json(response, 500, { error: { type: 'internal_error', request_id: 'q' } });
    else json(response, 200, page);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { done, writeObject } = recordObject();
  return { server, done, access: { ...accessTo(server.url), writeObject } };
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

describe('ExportList that fails', () => {
  it('11: throws the error of a page, and ends no object', async () => {
    const { access } = await startStep({ faults: ['list nth=2 body="<html>"'] });
    const { done, writeObject } = recordObject();
    const message = expect.stringContaining('when listing campaigns');
    const exporting = exportList(stateOf({ limit: 2 }), { ...access, writeObject });
    await expect(exporting).rejects.toMatchObject({ name: 'AnswerUnreadable', message });
    expect(done).not.toContain('end');
  });

  it('22: refuses a list that takes longer than one call, with two minutes left', async () => {
    const { access, done, server } = await startPages((_, index) => (index < 9 ? [{ id: index }] : []));
    const exporting = exportList(stateOf({ limit: 1 }), access, [14, 8, 2, 1.9].values());
    await expect(exporting).rejects.toMatchObject({ name: 'DownloadRefused', facts: { items: 4 } });
    expect(server.requests).toHaveLength(4);
    expect(done).not.toContain('end');
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
