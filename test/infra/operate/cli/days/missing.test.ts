import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addDays } from '../../../../../functions/workflow/request/dates.ts';
import type { MissingDays } from '../../../../../infra/operate/days/missing-days.ts';
import { keepPlatform } from '../../../../../infra/operate/place/target-platform.ts';
import { runCommand } from '../../../../support/cli.ts';
import { withDuckDb, writeParquet } from '../../../../support/ledger-rows.ts';
import { REPORT } from '../../../../support/requests.ts';
import { BUCKET, deliver, leaveRun, openFolder, rebuild } from '../../days/deliveries.ts';
import { FAILURE } from '../../executions/operated-executions.ts';

describe('of days that are missing, behind, held and older', () => {
  const problem = 'ReportStuck: No report became READY.';

  async function openMixedFolder() {
    const folder = await openFolder();
    const { out } = folder;
    await deliver(folder, { days: [2, 2], created: 1, request: { metrics: ['spend', 'clicks'] } });
    await deliver(folder, { days: [3, 8], created: 1 });
    await rebuild(['daily', '--local', '--out', out]);
    const rows = [3, 4, 5, 8].map((day) => ({ date: `2026-10-0${day}`, spend: 1 }));
    await deliver(folder, { days: [3, 8], created: 2, rows });
    await rebuild(['daily', '--local', '--out', out]);
    await deliver(folder, { days: [8, 9], created: 3 });
    const failed =
      'exports/account=acme/export=daily/start_date=2026-10-10/end_date=2026-10-11/_failure.json';
    await folder.put(failed, JSON.stringify(FAILURE));
    const range = ['--from', '2026-10-01', '--to', '2026-10-11'];
    return { out, args: ['missing', 'daily', '--local', '--out', out, ...range] };
  }

  it('counts and names the days with --json', async () => {
    const { args } = await openMixedFolder();
    const { status, stdout } = await runCommand([...args, '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'ok',
      account: 'acme',
      name: 'daily',
      days: 10,
      start_date: '2026-10-01',
      end_date: '2026-10-11',
      counts: { missing: 2, behind: 2, held: 2, older: 1, there: 3 },
      ranges: [
        { start_date: '2026-10-01', end_date: '2026-10-02', days: 1, state: 'missing', reason: 'never' },
        { start_date: '2026-10-02', end_date: '2026-10-03', days: 1, state: 'older' },
        { start_date: '2026-10-06', end_date: '2026-10-08', days: 2, state: 'held' },
        { start_date: '2026-10-08', end_date: '2026-10-10', days: 2, state: 'behind' },
        {
          start_date: '2026-10-10',
          end_date: '2026-10-11',
          days: 1,
          state: 'missing',
          reason: 'failed',
          problem,
        },
      ],
      runs: [],
      damaged: [],
    });
  });

  it('prints the days, why, and the commands that mend them', async () => {
    const { args, out } = await openMixedFolder();
    const { stdout } = await runCommand(args);
    const place = `--local --out ${out}`;
    const days = (from: string, to: string) => `--account acme --from 2026-10-${from} --to 2026-10-${to}`;
    expect(stdout.split('\n')).toEqual([
      'acme/daily, 2026-10-01 to 2026-10-10: 2 of 10 days are missing, 2 behind in the table, 2 held, 1 of an older request',
      '  2026-10-01  not delivered',
      '  2026-10-02  of an older request',
      '  2026-10-06 to 2026-10-07  held: the newest report has no rows, and the table keeps the rows that it had',
      '  2026-10-08 to 2026-10-09  behind in the table: it does not show the newest report',
      `  2026-10-10  not delivered: a run of it failed: ${problem}`,
      'To export them:',
      `  npm run export -- run daily ${days('01', '11')} --only-missing ${place}`,
      'To add them to the table:',
      `  npm run export -- rebuild daily ${days('08', '10')} ${place}`,
      'To empty the held days in the table, if they are right:',
      `  npm run export -- rebuild daily ${days('06', '08')} --accept-empty ${place}`,
      'To export them as the request is now, if wanted (plan with the same options says what it costs):',
      `  npm run export -- run daily ${days('02', '03')} --only-missing ${place}`,
      '',
    ]);
  });
});

it('names a run that did not finish, the days that it left, and the command that finishes it', async () => {
  const folder = await openFolder();
  const { out } = folder;
  const input = { ...REPORT, start_date: '2026-10-01', end_date: '2026-10-11' };
  await deliver(folder, { days: [1, 2], created: 1 });
  await rebuild(['daily', '--local', '--out', out]);
  const windows = [{ start_date: '2026-10-01', end_date: '2026-10-05' }];
  const began_at = `${new Date().toISOString().slice(0, 'YYYY-MM-DD'.length)}T00:00:00Z`;
  await leaveRun(out, input, { execution: 'e-9', began_at, windows, run: 'daily#2' });
  const place = `--local --out ${out}`;
  const options = ['missing', 'daily', ...place.split(' ')];
  const { runs, ranges }: MissingDays = JSON.parse((await runCommand([...options, '--json'])).stdout);
  const command = `npm run export -- resume e-9 ${place}`;
  const { start_date, end_date } = input;
  const run = { execution: 'e-9', run: 'daily#2', began_at, start_date, end_date };
  expect(runs).toEqual([{ ...run, missing: 2, not_renewed: 2, command }]);
  expect(ranges.map(({ start_date, days, reason }) => ({ start_date, days, reason }))).toEqual([
    { start_date: '2026-10-03', days: 2, reason: 'interrupted' },
    { start_date: '2026-10-05', days: 6, reason: 'never' },
  ]);
  const { stdout } = await runCommand(options);
  expect(stdout.split('\n').slice(-3)).toEqual([
    'The run of 2026-10-01 to 2026-10-10 did not finish: 2 days are missing, 2 were not renewed:',
    `  ${command}`,
    '',
  ]);
});

it('a day of another revision than the last run is older, whatever days a person asks for', async () => {
  const folder = await openFolder();
  const { out } = folder;
  await deliver(folder, { days: [1, 14], created: 1 });
  await rebuild(['daily', '--local', '--out', out]);
  await keepPlatform(out, { baseUrl: 'http://127.0.0.1', revision: '2026-10-01' });
  for (const asked of [[], ['--from', '2026-10-01', '--to', '2026-10-08']]) {
    const { stdout } = await runCommand(['missing', 'daily', '--local', '--out', out, '--json', ...asked]);
    const { counts, days }: MissingDays = JSON.parse(stdout);
    expect(counts.older).toBe(days);
  }
});

it('names the days whose file was removed, and prints the run that exports them again', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 2], created: 1 });
  const [file = ''] = globSync('*/exports/**/report.json', { cwd: folder.out });
  rmSync(join(folder.out, file));
  const { stdout } = await runCommand(['missing', 'daily', '--local', '--out', folder.out]);
  expect(stdout.split('\n').slice(1)).toEqual([
    '  2026-10-01 to 2026-10-02  behind in the table: it does not show the newest report',
    'To export them again, because their files are gone:',
    `  npm run export -- run daily --account acme --from 2026-10-01 --to 2026-10-03 --local --out ${folder.out}`,
    '',
  ]);
});

it('49: a day that the table shows and no manifest names is missing, and its command exports it', async () => {
  const folder = await openFolder();
  const { out } = folder;
  await deliver(folder, { days: [1, 2], created: 1 });
  await rebuild(['daily', '--local', '--out', out]);
  const [manifest = ''] = globSync('*/exports/**/_manifest.json', { cwd: out });
  rmSync(join(out, manifest));
  await leaveRun(out, { ...REPORT, start_date: '2026-10-01', end_date: '2026-10-03' });
  const { stdout } = await runCommand(['missing', 'daily', '--local', '--out', out]);
  expect(stdout.split('\n').slice(0, 4)).toEqual([
    'acme/daily, 2026-10-01 to 2026-10-02: 2 of 2 days are missing',
    '  2026-10-01 to 2026-10-02  not delivered: a run of it did not finish',
    'To export them:',
    expect.stringMatching(/ run daily .* --from 2026-10-01 --to 2026-10-03 --only-missing /),
  ]);
});

it('names the columns of the request that the table shows a day without', async () => {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  await deliver(folder, { days: [1, 2], created: 1 });
  await rebuild(place);
  const [month = ''] = globSync(`${BUCKET}/tables/daily/*.parquet`, { cwd: folder.out });
  const path = join(folder.out, month);
  const days = await withDuckDb(async (connection) => {
    const sql = `SELECT decode(value) FROM parquet_kv_metadata('${path}') WHERE decode(key) = 'days'`;
    return JSON.parse(String((await connection.runAndReadAll(sql)).getRows()[0]?.[0]));
  });
  const lacking = { ...days, '2026-10-01': { ...days['2026-10-01'], lacks: ['clicks', 'ctr'] } };
  await writeParquet(`${path}.new`, `FROM '${path}'`, { days: JSON.stringify(lacking) });
  renameSync(`${path}.new`, path);
  const { stdout } = await runCommand(['missing', ...place]);
  expect(stdout).toContain('  2026-10-01  behind in the table: the table shows it without clicks, ctr\n');
});

it.each([
  ['UTC', undefined, []],
  ['its time zone', 'America/Los_Angeles', ['partial']],
])('reads in a folder when a day was over in %s', async (_, time_zone, reasons) => {
  const folder = await openFolder();
  await deliver(folder, { days: [31, 31], created: 3, request: { start_date: '2026-10-31', time_zone } });
  const place = ['daily', '--local', '--out', folder.out];
  await rebuild(place);
  const { stdout } = await runCommand(['missing', ...place, '--to', '2026-11-01', '--json']);
  const { ranges }: MissingDays = JSON.parse(stdout);
  expect(ranges.map(({ reason }) => reason)).toEqual(reasons);
});

it('asks for --account if several accounts have the export', async () => {
  const folder = await openFolder();
  await deliver(folder, { account: 'acme', days: [1, 3], created: 1 });
  await deliver(folder, { account: 'globex', days: [1, 2], created: 2 });
  const options = ['missing', 'daily', '--local', '--out', folder.out, '--to', '2026-10-03'];
  expect(await runCommand(options)).toMatchObject({
    status: 2,
    stderr: 'error: acme and globex have an export daily; choose one with --account\n',
  });
  const { stdout } = await runCommand([...options, '--account', 'acme']);
  expect(stdout).toContain('acme/daily, 2026-10-01 to 2026-10-02: 2 of 2 days are behind in the table');
});

describe('missing --from', () => {
  async function missingFrom(...from: string[]) {
    const folder = await openFolder();
    await deliver(folder, { days: [1, 3], created: 1 });
    return runCommand(['missing', 'daily', '--local', '--out', folder.out, '--from', ...from, '--json']);
  }

  it('looks until today if it is after the last day that was asked for', async () => {
    const { stdout } = await missingFrom('2026-10-20');
    expect(JSON.parse(stdout).ranges).toMatchObject([{ start_date: '2026-10-20', reason: 'never' }]);
  });

  const future = `${new Date().getFullYear() + 2}-01-01`;
  it.each([
    { from: [future], fault: `--from ${future} is in the future` },
    {
      from: ['2026-10-20', '--to', '2026-10-20'],
      fault: '--to 2026-10-20 is not after 2026-10-20: give an earlier --from',
    },
  ])('refuses $from', async ({ from, fault }) => {
    expect(await missingFrom(...from)).toMatchObject({ status: 2, stderr: `error: ${fault}\n` });
  });
});

it('shows that no day of an export that is still to begin was due, if platform.json is damaged', async () => {
  const { out } = await openFolder();
  const start_date = `${new Date().getFullYear() + 2}-01-01`;
  await leaveRun(out, { ...REPORT, start_date, end_date: addDays(start_date, 9) });
  writeFileSync(join(out, 'platform.json'), '{"baseUrl":"platform"}');
  const { stdout } = await runCommand(['missing', 'daily', '--local', '--out', out]);
  expect(stdout).toContain(': No day was due yet\n');
});

it('prints a command that works, also if the config has the name for another account', async () => {
  const folder = await openFolder();
  await deliver(folder, { name: 'daily-campaigns', account: 'sandbox', days: [1, 2], created: 1 });
  const place = ['daily-campaigns', '--local', '--out', folder.out];
  const { stdout } = await runCommand(['missing', ...place, '--from', '2026-10-01', '--to', '2026-10-04']);
  const [, command = ''] = /npm run export -- (run .*)/.exec(stdout) ?? [];
  const { stderr } = await runCommand([...command.split(' '), '--speed', '1000']);
  expect(stderr).toContain('2026-10-03  delivered');
});

it('says that no manifest can be read, as a run does', async () => {
  const { out, put } = await openFolder();
  const key = 'exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-10-02/_manifest.json';
  await put(key, '{');
  for (const command of ['missing', 'run']) {
    const { status, stderr } = await runCommand([command, 'daily', '--local', '--out', out]);
    const fault = `error: no manifest of daily can be read: run it with --input\n`;
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(fault) });
  }
});

it('a manifest whose key leads out of the bucket delivers nothing', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 2], created: 1 });
  const [manifest = ''] = globSync('*/exports/**/_manifest.json', { cwd: folder.out });
  const { key, ...fields } = JSON.parse(readFileSync(join(folder.out, manifest), 'utf8'));
  const outside = `../${BUCKET}/${key}`;
  await deliver(folder, { days: [3, 3], created: 2 });
  await folder.put(manifest.slice(`${BUCKET}/`.length), JSON.stringify({ ...fields, key: outside }));
  const options = ['missing', 'daily', '--local', '--out', folder.out, '--to', '2026-10-04', '--json'];
  const { status, stdout } = await runCommand(options);
  const { counts, ranges, damaged } = JSON.parse(stdout);
  expect({ status, ranges, counts, damaged }).toMatchObject({
    status: 0,
    ranges: [{ reason: 'never', days: 2 }, { state: 'behind' }],
    damaged: [manifest.slice(`${BUCKET}/`.length)],
  });
});
