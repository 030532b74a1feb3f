import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { exportPrefix } from '../../../../functions/workflow/keys.ts';
import { parseRequest } from '../../../../functions/workflow/request/request.ts';
import type { PlatformOptions } from '../../../../infra/cli/options.ts';
import {
  findReplaced,
  keepRequest,
  readKeptRequests,
  targetOf,
} from '../../../../infra/cli/requests/kept-requests.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const NOW = new Date('2026-10-08T12:00:00Z');
const REQUEST = {
  name: 'daily',
  account: 'acme',
  period: 'last_7_days',
  advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
  metrics: ['spend', 'impressions'],
};
const LESS = { ...REQUEST, metrics: ['spend'] };
const PURCHASES = {
  name: 'daily',
  account: 'acme',
  kind: 'purchases',
  period: 'last_7_days',
  advertiser_id: '7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e',
};

let out: string;

beforeEach(() => {
  out = temporaryDirectory();
});

/** Keeps a request and stores a file as a run with --take-over does. @returns the kept requests that it replaced */
async function keep(input: object, file = 'report.json', options: PlatformOptions = {}): Promise<string[]> {
  const { request } = parseRequest(input, NOW);
  const { platform } = targetOf(options);
  const replaced = findReplaced(out, { request, platform }, await readKeptRequests(out, NOW));
  await keepRequest(out, { input, request, options }, replaced);
  const folder = join(out, 'bucket', exportPrefix(request), 'start_date=2026-10-01/end_date=2026-10-08');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, file), '');
  return replaced.map(({ file }) => file.slice(out.length + 1));
}

test('a request is kept as it was given, with its period, at a path that --input takes', async () => {
  await keep(REQUEST);
  const [kept, ...others] = await readKeptRequests(out, NOW);
  expect(others).toEqual([]);
  expect(kept?.file).toBe(join(out, 'requests/acme.daily.json'));
  expect(JSON.parse(await readFile(kept?.file ?? '', 'utf8'))).toEqual(REQUEST);
  expect(kept).toMatchObject({ input: REQUEST, request: { start_date: '2026-10-01' } });
});

test.each<[string, object, object]>([
  ['for other days', { ...REQUEST, period: 'yesterday' }, REQUEST],
  ['under another name', { ...LESS, name: 'spend' }, REQUEST],
  ['of another account', { ...LESS, account: 'globex' }, REQUEST],
  ['with another table', { ...LESS, table: 'daily-2' }, REQUEST],
  ['with the table of its name again', LESS, { ...REQUEST, table: 'daily-2' }],
  ['of purchases', { ...PURCHASES, period: 'yesterday' }, PURCHASES],
])('a request replaces nothing: the same rows or other results, %s', async (_, request, earlier) => {
  await keep(earlier);
  expect(await keep(request)).toEqual([]);
});

test.each<[string, object, object]>([
  ['other metrics', LESS, REQUEST],
  ['another revision', { ...REQUEST, revision: '2026-01-01' }, REQUEST],
  ['purchases', PURCHASES, REQUEST],
  ['no table', { ...LESS, table: false }, REQUEST],
  ['a table that was not wanted before', LESS, { ...REQUEST, table: false }],
])('a request of the same name replaces the kept one: %s', async (_, request, earlier) => {
  await keep(earlier);
  expect(await keep(request)).toEqual(['requests/acme.daily.json']);
  expect(await readdir(join(out, 'requests'))).toEqual(['acme.daily.json']);
  expect(await readKeptRequests(out, NOW)).toMatchObject([{ input: request }]);
});

test('a request that failed before it stored a file may be corrected', async () => {
  await keep(REQUEST, '_failure.json');
  expect(await keep(LESS)).toEqual([]);
  expect(await keep(REQUEST)).toEqual(['requests/acme.daily.json']);
});

test('the same request to another platform replaces the kept one', async () => {
  const options = { baseUrl: 'https://api.example.com/v1', revision: '2026-01-01', credential: 'c.json' };
  await keep(REQUEST, 'report.json', options);
  expect(await readKeptRequests(out, NOW)).toMatchObject([{ options }]);
  expect(await keep(REQUEST, 'report.json', options)).toEqual([]);
  expect(await keep(REQUEST)).toEqual(['requests/acme.daily.json']);
  expect(await readKeptRequests(out, NOW)).toMatchObject([{ options: {} }]);
});

test('a request replaces that of another name which fills the same table', async () => {
  await keep({ ...REQUEST, name: 'first', table: 'daily' });
  expect(await keep(LESS)).toEqual(['requests/acme.first.daily.json']);
  expect(await keep(LESS)).toEqual([]);
});

test('the latest run comes first, and a file that is no request counts for nothing', async () => {
  await keep(REQUEST);
  await keep({ ...LESS, table: 'daily-2' });
  await writeFile(join(out, 'requests/acme.broken.json'), '{"name":');
  await utimes(join(out, 'requests/acme.daily.json'), 1, 1);
  const files = async () => (await readKeptRequests(out, NOW)).map(({ input }) => Object(input).table);
  expect(await files()).toEqual(['daily-2', undefined]);
  await utimes(join(out, 'requests/acme.daily.daily-2.json'), 0, 0);
  expect(await files()).toEqual([undefined, 'daily-2']);
  expect(await readKeptRequests(join(out, 'absent'), NOW)).toEqual([]);
});

test('a folder that cannot be written is refused', async () => {
  await writeFile(join(out, 'platforms'), '');
  await expect(keep(REQUEST)).rejects.toThrow(`--out ${out} cannot be written (`);
});
