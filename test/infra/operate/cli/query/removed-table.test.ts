import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSavedQueries, runLocalQuery } from '../../../../../infra/operate/cli/query/local.ts';
import { BUCKET, deliver, openFolder, rebuild } from '../../days/deliveries.ts';

/** A folder whose table was written, and then removed. The ledger is still there. */
async function openWithoutTable() {
  const folder = await openFolder();
  await deliver(folder, { days: [1, 2], created: 80, spend: 5 });
  await rebuild(['daily', '--local', '--out', folder.out]);
  await rm(join(folder.out, BUCKET, 'tables/daily'), { recursive: true });
  return folder;
}

/** The first rows of a query, by the names of their columns. */
async function ask(sql: string, out: string) {
  const { columns, rows } = await runLocalQuery(sql, out);
  const all = (await Array.fromAsync(rows)).flat();
  return all.map((row) => Object.fromEntries(row.map((value, at) => [columns[at]?.name, value])));
}

it('the days of a table whose objects were all removed can be asked for, and are behind', async () => {
  const { out } = await openWithoutTable();
  const days = await ask("SELECT * FROM daily_days WHERE date < '2026-10-03' ORDER BY date", out);
  expect(days).toMatchObject([
    { account: 'acme', date: '2026-10-01', state: 'behind', spend: null },
    { account: 'acme', date: '2026-10-02', state: 'behind', spend: null },
  ]);
});

it('the saved query of the days of a removed table runs', async () => {
  const { out } = await openWithoutTable();
  const { daily_days: saved } = await readSavedQueries(out, {});
  const [first] = await ask(saved?.sql ?? '', out);
  expect(first).toMatchObject({ date: '2026-10-01', state: 'behind' });
});
