import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../../../support/cli.ts';
import { writeParquet } from '../../../support/ledger-rows.ts';
import { BUCKET, deliver, openFolder, rebuild } from '../../knowledge/deliveries.ts';

const WINDOW = 'exports/account=acme/export=daily/start_date=2026-10-01/end_date=2026-10-06';

async function open() {
  const folder = await openFolder();
  const place = ['daily', '--local', '--out', folder.out];
  const range = ['--from', '2026-10-01', '--to', '2026-10-06'];
  return {
    ...folder,
    rebuild: () => rebuild(place),
    async check(...more: readonly string[]) {
      const { status, stdout } = await runCommand(['check', ...place, ...range, '--json', ...more]);
      const { outcome, exports } = JSON.parse(stdout);
      return { status, outcome, ...exports[0] };
    },
    remove: (key: string) => rm(join(folder.out, BUCKET, key)),
  };
}

const counted = (agree: number, differ: number, not_checked: number) => [
  { month: '2026-10', agree, differ, not_checked },
];

it('check compares a day with the report that the month names, also without rows, and with its columns then', async () => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1, rows: [{ date: '2026-10-02', spend: 1.23456789 }] });
  await folder.rebuild();
  const request = { metrics: ['spend', 'clicks'] };
  await deliver(folder, { days: [3, 4], created: 2, request, fields: { clicks: 3 } });
  await folder.rebuild();
  expect(await folder.check()).toMatchObject({
    status: 0,
    outcome: 'ok',
    months: counted(5, 0, 0),
    differences: [],
    commands: [],
  });
});

it('check counts a day without a file or a manifest of its report as not checked', async () => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1 });
  await folder.rebuild();
  await deliver(folder, { days: [1, 3], created: 2 });
  await folder.rebuild();
  await folder.remove(`${WINDOW}/report.json`);
  expect(await folder.check()).toMatchObject({ status: 0, months: counted(3, 0, 2) });
  await folder.remove(`${WINDOW}/_manifest.json`);
  expect(await folder.check()).toMatchObject({ status: 0, months: counted(3, 0, 2) });
});

it.each([
  ['the table', 'tables/daily/acme.2026-10.parquet', { manifest: 'delivered', table: null }],
  ['the ledger', 'tables/ledger/acme.daily.2026-10.parquet', { file: '1', ledger: null }],
])('check finds that %s lost a month, and rebuild mends it', async (_, object, values) => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1 });
  await folder.rebuild();
  await folder.remove(object);
  const { status, months, differences, commands } = await folder.check();
  expect([status, months, differences[0]?.values]).toEqual([1, counted(0, 5, 0), values]);
  expect(commands).toEqual([
    expect.stringMatching(/^npm run export -- rebuild daily .* --from 2026-10-01 --to 2026-10-06 /),
  ]);
  await folder.rebuild();
  expect(await folder.check()).toMatchObject({ status: 0, months: counted(5, 0, 0) });
});

it('check finds a file that is not the one of the manifest', async () => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1 });
  await folder.rebuild();
  await writeFile(join(folder.out, BUCKET, WINDOW, 'report.json'), '[]');
  const { status, differences } = await folder.check();
  expect(status).toBe(1);
  expect(differences).toMatchObject([
    { start_date: '2026-10-01', end_date: '2026-10-06', metric: 'checksum' },
  ]);
});

it("check finds a total of the platform's that differs by more than the request tolerates", async () => {
  const folder = await open();
  const request = { dimensions: ['campaign_id'], reconcile: true, reconcile_tolerance: { spend: 0.1 } };
  await deliver(folder, { days: [1, 5], created: 10, request, fields: { campaign_id: 'c' } });
  await folder.rebuild();
  const ledger = join(folder.out, BUCKET, 'tables/ledger/acme.daily.2026-10.parquet');
  const total = "if(date < '2026-10-03', 10.5, 12)::DECIMAL(38, 10) AS value, 'total' AS outcome";
  const totals = `SELECT * REPLACE (${total}) FROM '${ledger}' WHERE metric = 'spend' AND date < '2026-10-04'`;
  await writeParquet(`${ledger}.new`, `FROM '${ledger}' UNION ALL ${totals}`);
  await rename(`${ledger}.new`, ledger);
  expect(await folder.check()).toMatchObject({
    status: 1,
    months: counted(4, 1, 0),
    differences: [
      { start_date: '2026-10-03', metric: 'spend', values: { table: '10', platform: '12' }, mend: 'run' },
    ],
  });
});

it.each([
  [['nothing'], 'there is no export nothing'],
  [['items'], 'items is no report that has a table'],
  [['daily', '--from', '2026-10-99'], 'It must be a date that exists'],
])('check exits with 2 for %j', async (args, message) => {
  const folder = await openFolder();
  const request = { kind: 'list', resource: 'campaigns', snapshot_date: '2026-10-01' };
  await deliver(folder, { name: 'items', days: [1, 1], created: 1, request, rows: [] });
  const { status, stderr } = await runCommand(['check', ...args, '--local', '--out', folder.out]);
  expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
});
