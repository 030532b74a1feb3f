import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../support/cli.ts';
import { BUCKET, dateOf, deliver, openFolder, queryRows, rebuild, spendIn } from '../days/deliveries.ts';

const KEY = 'tables/daily/acme.2026-10.parquet';
const MONTH = join(BUCKET, KEY);
const LEDGER = 'tables/ledger/acme.daily.2026-10.parquet';

it('shows each day of overlapping windows from the newest report, and repeated changes nothing', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 3], created: 5, held: 0 });
  await deliver(folder, { days: [2, 4], created: 7, held: 0 });
  // The platform gave the next one the same id.
  await deliver(folder, { days: [2, 3], created: 6, report_id: 'r-7', held: 0 });
  await deliver(folder, { days: [4, 6], created: 4, held: 0 });
  const { out } = folder;
  const { status, result } = await rebuild(['daily', '--local', '--out', out]);
  expect(status).toBe(0);
  expect(await spendIn(out)).toEqual({ 1: 5, 2: 7, 3: 7, 4: 7, 5: 4, 6: 4 });
  expect(result.windows).toMatchObject([
    { outcome: 'written', table: { days: 3, kept: 0 } },
    { outcome: 'written', table: { days: 3, kept: 0 } },
    { outcome: 'written', table: { days: 2, kept: 0 } },
    { outcome: 'written', table: { days: 3, kept: 0 } },
  ]);

  const before = await readFile(join(out, MONTH));
  const { stdout } = await runCommand(['rebuild', 'daily', '--local', '--out', out]);
  expect(stdout).toBe('The table daily shows all that was delivered.\n');
  expect(await readFile(join(out, MONTH))).toEqual(before);

  await rm(join(out, MONTH));
  await rebuild(['daily', '--local', '--out', out]);
  expect(await spendIn(out)).toEqual({ 1: 5, 2: 7, 3: 7, 4: 7, 5: 4, 6: 4 });
});

/** The end of a rebuild that a damaged object stops. */
function damageOf(key: string, lost: string, out: string, name = 'daily'): string {
  return [
    `${key} is damaged or was not written by this stack. ${lost}`,
    `What to do: Restore an earlier version of the object. Or remove ${key}, and run: npm run export -- rebuild ${name} --local --out ${out}\n`,
  ].join('\n');
}

describe('a damaged month', () => {
  async function openMonth() {
    const folder = await openFolder();
    const place = ['--local', '--out', folder.out];
    await deliver(folder, { days: [1, 1], created: 5 });
    await rebuild(['daily', ...place]);
    return { folder, place, month: join(folder.out, MONTH) };
  }

  it('is named, with what to do and the days that would be lost', async () => {
    const { folder, place, month } = await openMonth();
    await truncate(month, 0);
    const { status, stderr } = await runCommand(['rebuild', 'daily', ...place]);
    expect(status).toBe(1);
    expect(stderr).toContain(damageOf(KEY, 'No day would be lost.', folder.out));
  });

  it.each<{ damage: string; damaged: (object: Buffer) => Buffer }>([
    { damage: 'no bytes', damaged: () => Buffer.of() },
    {
      damage: 'another footer',
      damaged: (object) => object.fill('X', object.length - 40, object.length - 20),
    },
    {
      damage: 'other rows',
      damaged: (object) => object.fill(0xff, 4, object.length - 8 - object.readUInt32LE(object.length - 8)),
    },
  ])('is named by check and query if it has $damage', async ({ damaged }) => {
    const { place, month } = await openMonth();
    await writeFile(month, damaged(await readFile(month)));
    const { stdout } = await runCommand(['check', 'daily', ...place]);
    expect(stdout).toContain('  tables/daily/acme.2026-10.parquet cannot be read, ');
    const { stderr } = await runCommand(['query', 'SELECT * FROM daily', ...place]);
    expect(stderr).toMatch(
      /^tables\/daily\/acme\.2026-10\.parquet cannot be read\.\nWhat to do: .* rebuild before you remove it: it names the days /,
    );
  });

  it('is written again once it is removed', async () => {
    const { folder, place, month } = await openMonth();
    await truncate(month, 0);
    await rm(month);
    expect(await runCommand(['rebuild', 'daily', ...place])).toMatchObject({ status: 0 });
    expect(await spendIn(folder.out)).toEqual({ 1: 5 });
  });
});

it('names a damaged manifest to whoever rebuilds its days, and writes the other days', async () => {
  const folder = await openFolder();
  const place = ['--local', '--out', folder.out];
  await deliver(folder, { days: [1, 1], created: 5 });
  await deliver(folder, { days: [3, 3], created: 5 });
  const key = `exports/account=acme/export=daily/start_date=${dateOf(3)}/end_date=${dateOf(4)}/_manifest.json`;
  await writeFile(join(folder.out, BUCKET, key), '{');
  const { status, stdout } = await runCommand(['rebuild', 'daily', ...place]);
  expect({ status, stdout }).toEqual({
    status: 1,
    stdout: expect.stringContaining(` have to be exported again: ${key}\n`),
  });
  const { result: ofItsDays } = await rebuild(['daily', ...place, '--from', dateOf(3)]);
  expect(ofItsDays.damaged).toEqual([key]);
  const { result: ofEarlierDays } = await rebuild(['daily', ...place, '--to', dateOf(3)]);
  expect(ofEarlierDays.damaged).toEqual([]);
  expect(await spendIn(folder.out)).toEqual({ 1: 5 });
});

it('writes the days of an earlier form of the request, and the newest report of each day', async () => {
  const folder = await openFolder();
  const request = { advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3f'] };
  await deliver(folder, { days: [1, 4], created: 4 });
  await deliver(folder, { days: [3, 6], created: 5, request });
  const { result } = await rebuild(['daily', '--local', '--out', folder.out]);
  expect(result.windows.map(({ outcome }) => outcome)).toEqual(['written', 'written']);
  expect(await spendIn(folder.out)).toEqual({ 1: 4, 2: 4, 3: 5, 4: 5, 5: 5, 6: 5 });
  expect((await rebuild(['daily', '--local', '--out', folder.out])).result.windows).toEqual([]);
});

const CLICKS = { request: { metrics: ['spend', 'clicks'] }, fields: { clicks: 3 } };
const BY_CAMPAIGN = { request: { dimensions: ['campaign_id'] }, fields: { campaign_id: 'c1' } };
it.each([
  ['a dropped metric', CLICKS, 'clicks', ['3', '3', null, '3']],
  ['a dropped dimension', BY_CAMPAIGN, 'campaign_id', ['c1', 'c1', null, 'c1']],
])('71: gives days their values again once %s is back, also after the table was removed', async (_, form, column, values) => {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  const columnOf = async () =>
    (await queryRows(`SELECT ${column} FROM daily ORDER BY date`, folder.out)).flat();
  await deliver(folder, { days: [1, 2], created: 1, ...form });
  await rebuild(place);
  await deliver(folder, { days: [3, 3], created: 2, fields: form.fields });
  await rebuild(place);
  expect(await columnOf()).toEqual(values.slice(0, 3));

  await rm(join(folder.out, BUCKET, 'tables/daily'), { recursive: true });
  expect((await rebuild(place)).result.outcome).toBe('done');
  expect(await spendIn(folder.out)).toEqual({ 1: 1, 2: 1, 3: 2 });

  await deliver(folder, { days: [4, 4], created: 3, ...form });
  const { stdout } = await runCommand(['missing', ...place, '--json']);
  const { ranges } = JSON.parse(stdout);
  expect(ranges.filter(({ state }: { state: string }) => state === 'behind')).toMatchObject([
    { start_date: '2026-10-01', end_date: '2026-10-03', problem: expect.stringContaining(column) },
    { start_date: '2026-10-04', end_date: '2026-10-05' },
  ]);
  const { stdout: checked } = await runCommand(['check', ...place, '--json']);
  expect(JSON.parse(checked).outcome).toBe('differs');
  expect((await rebuild(place)).result.outcome).toBe('done');
  expect(await columnOf()).toEqual(values);
  expect((await rebuild(place)).result.windows).toEqual([]);
});

it('names the days that no file gives again, before and after the table is removed', async () => {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  await deliver(folder, { days: [1, 2], created: 1 });
  await deliver(folder, { days: [3, 4], created: 2 });
  await rebuild(place);
  const window = 'exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-10-03';
  await rm(join(folder.out, BUCKET, window), { recursive: true });
  const rebuilt = async () => (await rebuild(place)).result;
  const range = { account: 'acme', start_date: '2026-10-01', end_date: '2026-10-03' };
  expect(await rebuilt()).toMatchObject({ outcome: 'done', without_file: [{ ...range, in_table: true }] });
  // Also if the month cannot be read.
  await truncate(join(folder.out, MONTH), 0);
  expect(await runCommand(['rebuild', ...place])).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^acme 2026-10-01 to 2026-10-02 {2}.* no file /),
  });

  await rm(join(folder.out, MONTH));
  expect(await rebuilt()).toMatchObject({ outcome: 'failed', without_file: [{ ...range, in_table: false }] });
  expect(await spendIn(folder.out)).toEqual({ 3: 2, 4: 2 });
});

/** A folder whose table has four days. No file gives the first two any more. */
async function openWithoutFile() {
  const folder = await openFolder();
  const { out } = folder;
  await deliver(folder, { days: [1, 2], created: 1 });
  await deliver(folder, { days: [3, 4], created: 2 });
  await rebuild(['daily', '--local', '--out', out]);
  const window = 'exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-10-03';
  await rm(join(out, BUCKET, window), { recursive: true });
  const run = () => runCommand(['rebuild', 'daily', '--local', '--out', out]);
  return { folder, out, run, pathOf: (key: string) => join(out, BUCKET, key) };
}

describe('a damaged object stops it, and it names the object, and the days that would be lost:', () => {
  const LOST = 'These days would be lost, because no file gives what they show: 2026-10-01 to 2026-10-02.';

  it('a month', async () => {
    const { out, run, pathOf } = await openWithoutFile();
    await truncate(pathOf(KEY), 0);
    expect(await run()).toMatchObject({ status: 1, stderr: damageOf(KEY, LOST, out) });
    await rm(pathOf(KEY));
    expect(await run()).toMatchObject({ stderr: '' });
    expect(await spendIn(out)).toEqual({ 3: 2, 4: 2 });
  });

  it('a month whose rows are damaged', async () => {
    const { folder, out, run, pathOf } = await openWithoutFile();
    const object = await readFile(pathOf(KEY));
    object.fill(0xff, 4, object.length - 8 - object.readUInt32LE(object.length - 8));
    await writeFile(pathOf(KEY), object);
    await deliver(folder, { days: [5, 5], created: 3 });
    expect(await run()).toMatchObject({ status: 1, stderr: damageOf(KEY, LOST, out) });
  });

  it('the ledger, whose removal loses no day', async () => {
    const { out, run, pathOf } = await openWithoutFile();
    await truncate(pathOf(LEDGER), 0);
    const lost = 'No day would be lost. Corrections, accepts, closes and final days would be lost.';
    expect(await run()).toMatchObject({ status: 1, stderr: damageOf(LEDGER, lost, out) });
    await rm(pathOf(LEDGER));
    expect(await run()).toMatchObject({ status: 0, stderr: '' });
    expect(await spendIn(out)).toEqual({ 1: 1, 2: 1, 3: 2, 4: 2 });
  });

  it('the ledger, while it writes a window', async () => {
    const { folder, out, run, pathOf } = await openWithoutFile();
    await truncate(pathOf(LEDGER), 0);
    await deliver(folder, { days: [5, 5], created: 3 });
    const { status, stderr } = await run();
    expect({ status, stderr }).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`remove ${LEDGER}`),
    });
    await rm(pathOf(LEDGER));
    expect(await run()).toMatchObject({ status: 0, stderr: '' });
    expect(await spendIn(out)).toEqual({ 1: 1, 2: 1, 3: 2, 4: 2, 5: 3 });
  });

  it('a month whose ledger is damaged too, so that nothing names its days', async () => {
    const { out, run, pathOf } = await openWithoutFile();
    for (const key of [KEY, LEDGER]) await truncate(pathOf(key), 0);
    const lost = 'The ledger has no rows of this month, so nothing tells which days would be lost.';
    expect(await run()).toMatchObject({ status: 1, stderr: damageOf(KEY, lost, out) });
  });

  it('a list whose newest file is gone', async () => {
    const folder = await openFolder();
    const { out } = folder;
    const args = ['rebuild', 'campaigns', '--local', '--out', out];
    const key = 'tables/campaigns/acme.parquet';
    const deliverList = (day: number, replacedBy = {}) =>
      deliver(folder, {
        name: 'campaigns',
        days: [day, day],
        created: day,
        request: { kind: 'list', resource: 'campaigns', snapshot_date: dateOf(day) },
        rows: [{ id: `c-${day}` }],
        held: 0,
        ...replacedBy,
      });
    await deliverList(1);
    await deliverList(2);
    await runCommand(args);
    await truncate(join(out, BUCKET, key), 0);
    const whole = damageOf(key, 'No day would be lost.', out, 'campaigns');
    expect(await runCommand(args)).toMatchObject({ status: 1, stderr: whole });

    await deliverList(2, { replacedBy: '{"id":"of another run"}\n' });
    const lost = 'These days would be lost, because no file gives what they show: 2026-10-02.';
    expect(await runCommand(args)).toMatchObject({
      status: 1,
      stderr: damageOf(key, lost, out, 'campaigns'),
    });
  });
});

it('writes the other windows if one was replaced, does not fit, or is no report', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 1], created: 1, rows: [{ date: '2026-09-30', spend: 1 }] });
  await deliver(folder, { days: [2, 2], created: 2, replacedBy: '[]' });
  await deliver(folder, { days: [3, 3], created: 3, spend: 'much' });
  await deliver(folder, { days: [4, 4], created: 4 });
  const { status, stderr, result } = await rebuild(['daily', '--local', '--out', folder.out]);
  expect(status).toBe(1);
  expect(stderr).toContain('acme 2026-10-04  written; 1 day\n');
  expect(result.outcome).toBe('failed');
  const outcomes = result.windows.map(({ outcome }) => outcome);
  expect(outcomes).toEqual(['failed', 'failed', 'written', 'gone']);
  expect(result.windows[0]?.problem).toMatch(/2026-09-30/);
  expect(result.windows[1]?.problem).toMatch(/much/);
  expect(await spendIn(folder.out)).toEqual({ 4: 4 });

  const { stdout } = await runCommand(['rebuild', 'daily', '--local', '--out', folder.out]);
  const again = /to export it again: .* run daily --account acme --from 2026-10-02 --to 2026-10-03 --local /;
  expect(stdout).toMatch(RegExp(`\nacme 2026-10-02 {2}left out: .* replaced or removed; ${again.source}`));
  expect(stdout).toMatch(/\nTable daily, windows: 0 written, 3 left out\n$/);
});

it('rebuilds only the windows of a range, and only those of an account', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 2], created: 1 });
  await deliver(folder, { days: [3, 4], created: 2 });
  await deliver(folder, { days: [5, 6], created: 3 });
  await deliver(folder, { days: [3, 4], created: 4, account: 'globex' });
  const range = ['--from', '2026-10-02', '--to', '2026-10-05', '--account', 'acme'];
  await rebuild(['daily', '--local', '--out', folder.out, ...range]);
  expect(await spendIn(folder.out)).toEqual({ 1: 1, 2: 1, 3: 2, 4: 2 });
});

it('empties held days only with --accept-empty, and only those of the range', async () => {
  const folder = await openFolder();
  const args = ['daily', '--local', '--out', folder.out];
  await deliver(folder, { days: [1, 4], created: 1 });
  await rebuild(args);
  await deliver(folder, { days: [1, 5], created: 2, rows: [{ date: '2026-10-01', spend: 2 }] });
  expect((await rebuild(args)).result.windows).toMatchObject([
    { outcome: 'written', table: { days: 2, held: 3 } },
  ]);
  expect(await spendIn(folder.out)).toEqual({ 1: 2, 2: 1, 3: 1, 4: 1 });
  expect((await rebuild(args)).result.windows).toEqual([]);
  await rm(join(folder.out, MONTH));
  await rebuild(args);
  expect(await spendIn(folder.out)).toEqual({ 1: 2, 2: 1, 3: 1, 4: 1 });

  const range = ['--from', '2026-10-03', '--to', '2026-10-05', '--accept-empty'];
  expect((await rebuild([...args, ...range])).result.windows).toMatchObject([{ outcome: 'written' }]);
  expect(await spendIn(folder.out)).toEqual({ 1: 2, 2: 1 });
  expect((await rebuild([...args, ...range])).result.windows).toEqual([]);

  await deliver(folder, { days: [1, 3], created: 3, rows: [], request: { accept_empty: true } });
  await rebuild(args);
  expect(await spendIn(folder.out)).toEqual({});
});

it('empties a held day whose file was removed, because the ledger has the report', async () => {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  await deliver(folder, { days: [1, 2], created: 1 });
  await deliver(folder, { days: [2, 2], created: 2, rows: [] });
  await rebuild(place);
  const window = 'exports/account=acme/export=daily/start_date=2026-10-02/end_date=2026-10-03';
  await rm(join(folder.out, BUCKET, window, 'report.json'));
  await rebuild(place);
  expect(await spendIn(folder.out)).toEqual({ 1: 1, 2: 1 });
  const range = ['--from', '2026-10-02', '--to', '2026-10-03'];
  expect(await rebuild([...place, ...range, '--accept-empty'])).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('from the ledger'),
  });
  expect(await spendIn(folder.out)).toEqual({ 1: 1 });
  expect((await rebuild(place)).result.windows).toEqual([]);
});

it('shows an older report that fits only now, although a newer one has no rows', async () => {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  await deliver(folder, { days: [1, 1], created: 1, spend: 'much' });
  await deliver(folder, { days: [1, 2], created: 2, rows: [] });
  await rebuild(place);
  await deliver(folder, { days: [1, 1], created: 1, spend: 5 });
  await rebuild(place);
  expect(await spendIn(folder.out)).toEqual({ 1: 5 });
  const { stdout } = await runCommand(['missing', ...place, '--json']);
  expect(JSON.parse(stdout).counts).toMatchObject({ held: 1, there: 1 });
  expect((await rebuild(place)).result.windows).toEqual([]);
});

it('brings every month to the columns of the table, also one of whose files nothing changes', async () => {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  await deliver(folder, { days: [1, 2], created: 1 });
  await rebuild(place);
  const request = { metrics: ['spend', 'clicks'] };
  await deliver(folder, { days: [35, 35], created: 9, request, fields: { clicks: 3 } });
  const { result } = await rebuild(place);
  expect(result.windows.map(({ outcome }) => outcome)).toEqual(['written']);
  expect(result.months).toBe(1);
  const file = join(folder.out, MONTH);
  const rows = await queryRows(
    `SELECT day(date), clicks FROM read_parquet('${file}') ORDER BY date`,
    folder.out,
  );
  expect(rows).toEqual([
    ['1', null],
    ['2', null],
  ]);
  expect((await rebuild(place)).result.months).toBe(0);
});

it('shows the newest snapshot of a list', async () => {
  const folder = await openFolder();
  for (const created of [1, 3, 2]) {
    const request = { kind: 'list', resource: 'campaigns', snapshot_date: dateOf(created) };
    await deliver(folder, {
      name: 'campaigns',
      days: [created, created],
      created,
      request,
      rows: [{ id: `c-${created}` }],
      held: 0,
    });
  }
  const args = ['campaigns', '--local', '--out', folder.out];
  const { result } = await rebuild(args);
  expect(result.windows.map(({ outcome }) => outcome)).toEqual(['written']);
  const rows = await queryRows('SELECT id, account FROM campaigns', folder.out);
  expect(rows).toEqual([['c-3', 'acme']]);
  const { stdout } = await runCommand(['missing', ...args, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ start_date: '2026-10-03', ranges: [] });
  const { stdout: status } = await runCommand(['status', ...args, '--json']);
  expect(JSON.parse(status).exports[0].months).toEqual([]);
  // The newest snapshot that has a manifest counts.
  const window = 'exports/account=acme/export=campaigns/start_date=2026-10-03/end_date=2026-10-04';
  await rm(join(folder.out, BUCKET, window, '_manifest.json'));
  const { stdout: missing } = await runCommand(['missing', ...args]);
  expect(missing).toBe('acme/campaigns, 2026-10-02: The day is there\n');
});

it.each([
  ['there is no such export', ['nothing'], 'there is no export nothing in cdk.json, and no run of it in '],
  ['the export is mistyped', ['daily-campaign'], '(did you mean daily-campaigns?)'],
  ['the export of the folder is mistyped', ['dayly'], '(did you mean daily?)'],
  ['nothing was delivered in the range', ['daily', '--from', '2027-01-01'], 'was delivered in this range\n'],
  ['--accept-empty has no range', ['daily', '--accept-empty'], '--accept-empty needs --from and --to\n'],
  ['the range ends first', ['daily', '--from', '2026-10-02', '--to', '2026-10-01'], 'is not after --from'],
])('exits 2 if %s', async (_, args, expected) => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 1], created: 1 });
  expect(await runCommand(['rebuild', ...args, '--local', '--out', folder.out])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(expected),
  });
});
