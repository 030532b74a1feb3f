import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { runLocalQuery } from '../../../infra/cli/query/local.ts';
import { base64Crc } from '../../../infra/local/s3/body.ts';
import { runCommand } from '../../support/cli.ts';
import { BUCKET, curate, dateOf, deliver, openFolder, spendIn, timeOf } from './deliveries.ts';

it('shows each day of overlapping windows from the newest report, also if an older one was delivered later', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 3], created: 5 });
  await deliver(folder, { days: [2, 4], created: 7 });
  await deliver(folder, { days: [3, 6], created: 6 });
  const { out } = folder;
  const { status, result } = await curate(['daily', '--local', '--out', out]);
  expect(status).toBe(0);
  expect(await spendIn(out)).toEqual({ 1: 5, 2: 7, 3: 7, 4: 7, 5: 6, 6: 6 });
  expect(result.windows.map(({ outcome, days, kept }) => [outcome, days, kept])).toEqual([
    ['written', 3, 0],
    ['written', 2, 2],
    ['written', 1, 2],
  ]);
  expect(result.older).toEqual([]);

  // A command that was stopped goes on with what is missing.
  await rm(join(out, BUCKET, 'tables/daily/account=acme/date=2026-10-05'), { recursive: true });
  const again = await curate(['daily', '--local', '--out', out]);
  expect(again.result.windows.map(({ outcome }) => outcome)).toEqual(['unchanged', 'written', 'unchanged']);
  expect(await spendIn(out)).toEqual({ 1: 5, 2: 7, 3: 7, 4: 7, 5: 6, 6: 6 });
});

it('lets only the request that was delivered last write, also if that was outside the range', async () => {
  const folder = await openFolder();
  const request = { advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3f'] };
  await deliver(folder, { days: [1, 4], created: 5 });
  await deliver(folder, { days: [3, 6], created: 7, request });
  const args = ['daily', '--local', '--out', folder.out];
  await curate(args);
  const { result } = await curate([...args, '--from', '2026-10-01', '--to', '2026-10-02']);
  expect(result.windows.map(({ outcome }) => outcome)).toEqual(['other_request']);
  expect(await spendIn(folder.out)).toEqual({ 3: 7, 4: 7, 5: 7, 6: 7 });
});

it.each([
  ['an earlier report, which tells nothing about the one that was delivered', { ledgerOf: 5, kept: [2] }],
  ['a delivery that wrote only some of its days', { unwritten: [2] }],
])('replaces the ledger of %s', async (_, ledgerFields) => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 2], created: 7, ...ledgerFields });
  const { result } = await curate(['daily', '--local', '--out', folder.out]);
  expect(result.older).toEqual([]);
  const window = 'exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-10-03';
  const ledger = await readFile(join(folder.out, BUCKET, window, '_ledger.json'), 'utf8');
  expect(JSON.parse(ledger)).toMatchObject({
    report_id: 'r-7',
    table: { days: 2 },
    days: [{ rows: 1 }, { rows: 1 }],
  });
});

it('says which days show an older report, because the newer one of the same window is gone', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 3], created: 5, kept: [2, 3] });
  await deliver(folder, { days: [3, 4], created: 7 });
  const { status, result } = await curate(['daily', '--local', '--out', folder.out]);
  expect(status).toBe(0);
  const older = [{ account: 'acme', date: '2026-10-02', report_id: 'r-5', created_at: timeOf(5) }];
  expect(result.older).toEqual(older);
  // The ledger of the delivery still tells, when the table is there.
  expect((await curate(['daily', '--local', '--out', folder.out])).result.older).toEqual(older);
});

it('writes the other windows if one was replaced, is no report, does not fit, or is of another request', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 1], created: 1, request: { metrics: ['spend', 'clicks'] } });
  await deliver(folder, { days: [2, 2], created: 2, replacedBy: '[]' });
  await deliver(folder, { days: [3, 3], created: 3, spend: 'much' });
  await deliver(folder, { days: [4, 4], created: 4 });
  const { status, result } = await curate(['daily', '--local', '--out', folder.out]);
  expect(status).toBe(1);
  expect(result.outcome).toBe('failed');
  expect(result.windows.map(({ outcome }) => outcome)).toEqual([
    'written',
    'failed',
    'replaced',
    'other_request',
  ]);
  expect(result.windows[1]?.problem).toMatch(/much.*spend/);
  expect(await spendIn(folder.out)).toEqual({ 4: 4 });
});

it('rebuilds only the windows of a range, and only those of an account', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 2], created: 1 });
  await deliver(folder, { days: [3, 4], created: 2 });
  await deliver(folder, { days: [5, 6], created: 3 });
  await deliver(folder, { days: [3, 4], created: 4, account: 'globex' });
  const range = ['--from', '2026-10-02', '--to', '2026-10-05', '--account', 'acme'];
  await curate(['daily', '--local', '--out', folder.out, ...range]);
  expect(await spendIn(folder.out)).toEqual({ 1: 1, 2: 1, 3: 2, 4: 2 });
});

it('writes the table that the delivery wrote, if the config has no such export', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 2], created: 1, table: 'shared' });
  const { result } = await curate(['daily', '--local', '--out', folder.out]);
  expect(result.table).toBe('shared');
  expect(await spendIn(folder.out, 'shared')).toEqual({ 1: 1, 2: 1 });
  const range = ['--to', '2026-10-03', '--json'];
  const { stdout } = await runCommand(['missing', 'daily', '--local', '--out', folder.out, ...range]);
  expect(JSON.parse(stdout).missing).toEqual([]);
});

it('shows the newest snapshot of a list', async () => {
  const folder = await openFolder();
  for (const created of [1, 3, 2]) {
    const window = { start_date: dateOf(created), end_date: dateOf(created + 1) };
    const prefix = `exports/account=acme/export=campaigns/start_date=${window.start_date}/end_date=${window.end_date}`;
    const file = `{"id":"c-${created}"}\n`;
    await folder.put(`${prefix}/campaigns.ndjson`, file, 'application/x-ndjson');
    const manifest = {
      account: 'acme',
      export: 'campaigns',
      kind: 'list',
      ...window,
      request: { resource: 'campaigns', limit: 5000, filters: {} },
      platform: '127.0.0.1',
      revision: '2026-09-01',
      bucket: BUCKET,
      key: `${prefix}/campaigns.ndjson`,
      ...{
        bytes: file.length,
        checksum: { value: base64Crc(crc32(file)) },
        content_type: 'application/x-ndjson',
      },
      copied_at: timeOf(created),
      execution: `e-${created}`,
    };
    await folder.put(`${prefix}/_manifest.json`, JSON.stringify(manifest));
  }
  const { result } = await curate(['campaigns', '--local', '--out', folder.out]);
  expect(result.windows.map(({ outcome }) => outcome)).toEqual(['written', 'unchanged', 'unchanged']);
  const { rows } = await runLocalQuery('SELECT id, account FROM campaigns', folder.out);
  expect(rows).toEqual([['c-3', 'acme']]);
});

it.each([
  ['nothing was delivered', ['nothing'], 'no report or list of nothing was delivered\n'],
  ['--out comes without --local', ['daily', '--out', 'x'], '--out can only be used with --local'],
  ['a date does not exist', ['daily', '--from', '2026-02-30'], 'must be a date that exists'],
])('exits 2 if %s', async (_, args, expected) => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 1], created: 1 });
  const local = args.includes('--out') ? args : [...args, '--local', '--out', folder.out];
  const { status, stderr } = await runCommand(['curate', ...local]);
  expect([status, stderr]).toEqual([2, expect.stringContaining(expected)]);
});
