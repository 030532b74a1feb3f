import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addDays } from '../../../../functions/workflow/request/dates.ts';
import type { MissingDays } from '../../../../infra/knowledge/missing-days.ts';
import { runCommand } from '../../../support/cli.ts';
import { REPORT } from '../../../support/requests.ts';
import { BUCKET, deliver, openFolder, plan, rebuild } from '../../knowledge/deliveries.ts';

it('names the days, why, and the commands that mend them', async () => {
  const folder = await openFolder();
  const { out } = folder;
  await deliver(folder, { days: [3, 8], created: 1 });
  await rebuild(['daily', '--local', '--out', out]);
  const rows = [3, 4, 5, 8].map((day) => ({ date: `2026-10-0${day}`, spend: 1 }));
  await deliver(folder, { days: [3, 8], created: 2, rows });
  await rebuild(['daily', '--local', '--out', out]);
  await deliver(folder, { days: [8, 9], created: 3 });

  const options = ['missing', 'daily', '--local', '--out', out, '--to', '2026-10-11'];
  const { status, stdout } = await runCommand([...options, '--json']);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    outcome: 'ok',
    account: 'acme',
    name: 'daily',
    days: 10,
    start_date: '2026-10-01',
    end_date: '2026-10-11',
    counts: { not_delivered: 3, not_in_table: 2, not_renewed: 0, held: 2, older_request: 0 },
    not_delivered: [
      { start_date: '2026-10-01', end_date: '2026-10-03', days: 2, reason: 'absent' },
      { start_date: '2026-10-10', end_date: '2026-10-11', days: 1, reason: 'absent' },
    ],
    not_in_table: [{ start_date: '2026-10-08', end_date: '2026-10-10', days: 2, reason: 'not_in_table' }],
    not_renewed: [],
    older_request: [],
    damaged: [],
    held: [{ start_date: '2026-10-06', end_date: '2026-10-08', days: 2, reason: 'held' }],
  });

  const shown = (await runCommand(options)).stdout;
  expect(shown.split('\n')).toEqual([
    'acme/daily, 2026-10-01 to 2026-10-10: 3 of 10 days are not delivered, 2 not in the table, 2 held',
    '  2026-10-01 to 2026-10-02  not delivered',
    '  2026-10-10  not delivered',
    '  2026-10-08 to 2026-10-09  exported, but not in the table',
    '  2026-10-06 to 2026-10-07  held: the newest report has no rows, and the table keeps its own',
    'To add them to the table:',
    `  npm run export -- rebuild daily --account acme --from 2026-10-08 --to 2026-10-10 --local --out ${out}`,
    'To export them:',
    `  npm run export -- run daily --account acme --from 2026-10-01 --to 2026-10-11 --only-missing --local --out ${out}`,
    'To empty the held days in the table:',
    `  npm run export -- rebuild daily --account acme --from 2026-10-06 --to 2026-10-08 --accept-empty --local --out ${out}`,
    '',
  ]);
});

it('49: exports days that no manifest names without --only-missing, which does not look at tables', async () => {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  await deliver(folder, { days: [1, 2], created: 2 });
  await rebuild(place);
  await deliver(folder, { days: [1, 2], created: 1 });
  const { stdout } = await runCommand(['missing', ...place, '--to', '2026-10-04']);
  expect(stdout.split('\n').filter((line) => /not announced|npm/.test(line))).toEqual([
    expect.stringMatching('^  2026-10-01 to 2026-10-02  read by the table, not announced: '),
    expect.stringMatching(' --from 2026-10-03 --to 2026-10-04 --only-missing '),
    'To export again what is not announced:',
    expect.stringMatching(' --from 2026-10-01 --to 2026-10-03 --local'),
  ]);
});

it('names what the request of the shown report left out, whatever newer reports of other requests have', async () => {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  await deliver(folder, { days: [1, 5], created: 1 });
  await rebuild(place);
  await deliver(folder, { days: [1, 4], created: 2, request: { metrics: ['spend', 'clicks'] } });
  await deliver(folder, { days: [6, 6], created: 3, request: { metrics: ['spend', 'clicks', 'ctr'] } });
  const { stdout } = await runCommand(['missing', ...place, '--from', '2026-10-01', '--json']);
  expect((JSON.parse(stdout) as MissingDays).older_request).toMatchObject([
    { start_date: '2026-10-01', end_date: '2026-10-06', problem: 'without clicks, ctr' },
  ]);
});

it.each([
  ['UTC', undefined, []],
  ['its time zone', 'America/Los_Angeles', ['unfinished']],
])('reads in a folder when a day was over in %s', async (_, time_zone, reasons) => {
  const folder = await openFolder();
  await deliver(folder, { days: [31, 31], created: 3, request: { start_date: '2026-10-31', time_zone } });
  const place = ['daily', '--local', '--out', folder.out];
  await rebuild(place);
  const { stdout } = await runCommand(['missing', ...place, '--to', '2026-11-01', '--json']);
  const { not_delivered }: MissingDays = JSON.parse(stdout);
  expect(not_delivered.map(({ reason }) => reason)).toEqual(reasons);
});

it('asks which account is meant if several have the export', async () => {
  const folder = await openFolder();
  await deliver(folder, { account: 'acme', days: [1, 3], created: 1 });
  await deliver(folder, { account: 'globex', days: [1, 2], created: 2 });
  const options = ['missing', 'daily', '--local', '--out', folder.out, '--to', '2026-10-03'];
  expect(await runCommand(options)).toMatchObject({
    status: 2,
    stderr: 'error: acme and globex have an export daily; choose one with --account\n',
  });
  const { stdout } = await runCommand([...options, '--account', 'acme']);
  expect(stdout).toContain('acme/daily, 2026-10-01 to 2026-10-02: 2 of 2 days are not in the table');
});

it('looks until today if --from is after the last day that was asked for, and refuses the future', async () => {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 3], created: 1 });
  const missingFrom = async (...from: string[]) =>
    runCommand(['missing', 'daily', '--local', '--out', folder.out, '--from', ...from, '--json']);
  const { not_delivered } = JSON.parse((await missingFrom('2026-10-20')).stdout);
  expect(not_delivered).toMatchObject([{ start_date: '2026-10-20', reason: 'absent' }]);
  const future = `${new Date().getFullYear() + 2}-01-01`;
  const fault = `error: --from ${future} is in the future\n`;
  expect(await missingFrom(future)).toMatchObject({ status: 2, stderr: fault });
  const { stderr } = await missingFrom('2026-10-20', '--to', '2026-10-20');
  expect(stderr).toBe('error: --to 2026-10-20 is not after 2026-10-20: give an earlier --from\n');
});

it('shows an export that is still to begin, whatever the file of the last platform says', async () => {
  const { out } = await openFolder();
  const start_date = `${new Date().getFullYear() + 2}-01-01`;
  await plan(out, { ...REPORT, start_date, end_date: addDays(start_date, 9) });
  writeFileSync(join(out, 'platform.json'), '{"baseUrl":"platform"}');
  const { stdout } = await runCommand(['missing', 'daily', '--local', '--out', out]);
  expect(stdout).toBe(`acme/daily, ${start_date}: No day of the request is over\n`);
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
    expect([status, stderr]).toEqual([2, expect.stringContaining(fault)]);
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
  expect([status, JSON.parse(stdout).not_delivered]).toMatchObject([0, [{ reason: 'absent', days: 2 }]]);
});
