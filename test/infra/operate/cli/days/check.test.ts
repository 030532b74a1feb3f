import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../../../../support/cli.ts';
import { withDuckDb, writeParquet } from '../../../../support/ledger-rows.ts';
import { BUCKET, deliver, openFolder, rebuild } from '../../days/deliveries.ts';

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
    text: () => runCommand(['check', ...place, ...range]),
    remove: (key: string) => rm(join(folder.out, BUCKET, key)),
    /** Writes an object of a table again, with other rows and the days that it lists. */
    async rewrite(key: string, sqlOf: (rows: string) => string) {
      const path = join(folder.out, BUCKET, key);
      const days = await withDuckDb(async (connection) => {
        const sql = `SELECT decode(value) FROM parquet_kv_metadata('${path}') WHERE decode(key) = 'days'`;
        return (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
      });
      await writeParquet(`${path}.new`, sqlOf(`FROM '${path}'`), days ? { days: String(days) } : {});
      await rename(`${path}.new`, path);
    },
  };
}

const TABLE = 'tables/daily/acme.2026-10.parquet';
const LEDGER = 'tables/ledger/acme.daily.2026-10.parquet';

const counted = (agree: number, differ: number, not_checked: number) => [
  { month: '2026-10', agree, differ, not_checked },
];

it('check compares a day with the report of its month, also without rows, and with its columns then', async () => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1, rows: [{ date: '2026-10-02', spend: 1.23456789 }] });
  await folder.rebuild();
  const request = { metrics: ['spend', 'clicks', 'roas'] };
  // The ledger has fewer decimals.
  await deliver(folder, { days: [3, 4], created: 2, request, fields: { clicks: 3, roas: -1e-11 } });
  await folder.rebuild();
  expect(await folder.check()).toMatchObject({
    status: 0,
    outcome: 'ok',
    months: counted(5, 0, 0),
    differences: [],
    commands: [],
  });
});

it('check counts a day as not checked if its manifest or file is gone, or the file does not fit', async () => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1 });
  await folder.rebuild();
  await deliver(folder, { days: [1, 3], created: 2 });
  await folder.rebuild();
  await folder.remove(`${WINDOW}/report.json`);
  expect(await folder.check()).toMatchObject({ status: 0, months: counted(3, 0, 2) });
  await folder.remove(`${WINDOW}/_manifest.json`);
  expect(await folder.check()).toMatchObject({ status: 0, months: counted(3, 0, 2) });
  // As if the config named other columns since.
  await deliver(folder, { days: [1, 5], created: 1, request: { format: 'CSV' }, csv: 'Day,Cost\n' });
  expect(await folder.check()).toMatchObject({ status: 0, months: counted(3, 0, 2) });
});

it.each([
  ['the table', TABLE, { manifest: 'delivered', table: null }],
  ['the ledger', LEDGER, { file: '1', ledger: null }],
])('check finds that %s lost a month, and rebuild mends it', async (_, object, values) => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1 });
  await folder.rebuild();
  await folder.remove(object);
  const { differences, ...check } = await folder.check();
  expect(check).toMatchObject({
    status: 1,
    months: counted(0, 5, 0),
    commands: [
      expect.stringMatching(/^npm run export -- rebuild daily .* --from 2026-10-01 --to 2026-10-06 /),
    ],
  });
  expect(differences[0]?.values).toEqual(values);
  await folder.rebuild();
  expect(await folder.check()).toMatchObject({ status: 0, months: counted(5, 0, 0) });
});

/** With more digits than a double has. */
const LARGE = '900000000000.000001';
const ON_SECOND = "metric = 'spend' AND date = '2026-10-02'";
it.each([
  [
    'in the table',
    TABLE,
    "SELECT * REPLACE (if(date = '2026-10-02', 7, spend)::DECIMAL(18, 6) AS spend)",
    { values: { file: LARGE, table: '7' }, mend: 'run' },
  ],
  [
    'in the ledger, by its last digit',
    LEDGER,
    `SELECT * REPLACE (if(${ON_SECOND}, value + 0.0000000001, value)::DECIMAL(38, 10) AS value)`,
    { values: { file: LARGE, ledger: `${LARGE}0001` }, mend: 'run' },
  ],
  [
    'that the ledger lacks',
    LEDGER,
    `SELECT * REPLACE (if(${ON_SECOND}, 'x', metric) AS metric)`,
    { values: { file: LARGE, ledger: null }, mend: 'rebuild' },
  ],
])('check finds a value %s', async (_, object, select, difference) => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1, spend: LARGE });
  await folder.rebuild();
  await folder.rewrite(object, (rows) => `${select} ${rows}`);
  expect(await folder.check()).toMatchObject({
    status: 1,
    months: counted(4, 1, 0),
    differences: [{ start_date: '2026-10-02', metric: 'spend', ...difference }],
  });
});

it('check finds that the table lost a column, and says that it has another type', async () => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1 });
  await folder.rebuild();
  await folder.rewrite(TABLE, (rows) => `SELECT * EXCLUDE (spend) ${rows}`);
  const { status, months, differences } = await folder.check();
  expect({ status, months }).toEqual({ status: 1, months: counted(0, 5, 0) });
  expect(differences[0]).toMatchObject({ metric: 'spend', values: { file: '1', table: null }, mend: 'run' });
  await folder.rewrite(TABLE, (rows) => `SELECT *, '1' AS spend ${rows}`);
  const { stderr } = await folder.text();
  expect(stderr).toContain('column spend is decimal(18,6) now, but was written as varchar.\n');
});

it('check says what a manifest has and its file lacks, and which command exports the days again', async () => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1 });
  await folder.rebuild();
  const path = join(folder.out, BUCKET, WINDOW, '_manifest.json');
  await writeFile(
    path,
    JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), sums: { spend: '9' } }),
  );
  const { status, stdout } = await folder.text();
  expect(status).toBe(1);
  expect(stdout.trimEnd().split('\n')).toEqual([
    'acme/daily  2026-10  days: 5 differ',
    '  2026-10-01 to 2026-10-05  spend: file 5, manifest 9',
    expect.stringMatching(/ run daily --account acme --from 2026-10-01 --to 2026-10-06 --local /),
  ]);
});

it('check finds a file that is not the one of the manifest, and counts the days that show it', async () => {
  const folder = await open();
  await deliver(folder, { days: [1, 5], created: 1 });
  await folder.rebuild();
  await deliver(folder, { days: [1, 3], created: 2 });
  await folder.rebuild();
  await writeFile(join(folder.out, BUCKET, WINDOW, 'report.json'), '[]');
  const check = await folder.check();
  expect(check).toMatchObject({
    status: 1,
    months: counted(3, 2, 0),
    differences: [{ start_date: '2026-10-01', end_date: '2026-10-06', metric: 'checksum' }],
  });
});

it("check finds a total of the platform's that differs by more than the request tolerates", async () => {
  const folder = await open();
  const request = { dimensions: ['campaign_id'], reconcile: true, reconcile_tolerance: { spend: 0.1 } };
  await deliver(folder, { days: [1, 5], created: 10, request, fields: { campaign_id: 'c' } });
  await folder.rebuild();
  const total = "if(date < '2026-10-03', 10.5, 12)::DECIMAL(38, 10) AS value, 'total' AS kind";
  await folder.rewrite(
    LEDGER,
    (rows) =>
      `${rows} UNION ALL SELECT * REPLACE (${total}) ${rows} WHERE metric = 'spend' AND date < '2026-10-04'`,
  );
  expect(await folder.check()).toMatchObject({
    status: 1,
    months: counted(4, 1, 0),
    differences: [
      { start_date: '2026-10-03', metric: 'spend', values: { file: '10', platform: '12' }, mend: 'run' },
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
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(message) });
});
