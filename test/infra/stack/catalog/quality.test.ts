import { expect, it } from 'vitest';
import { freshness, ONE_REPORT } from '../../../../infra/stack/catalog/quality.ts';
import { LEDGER_TABLE } from '../../../../infra/stack/catalog/table-words.ts';
import { parseConfig } from '../../../../infra/stack/config/config.ts';
import { CONFIG } from '../../../support/checkout.ts';
import { withDuckDb } from '../../../support/ledger-rows.ts';

it('a day of an account from two reports breaks the rule, whatever other accounts and days have', async () => {
  const rows =
    "('acme', 1, 'r1'), ('acme', 1, 'r1'), ('acme', 2, 'r1'), ('acme', 2, 'r2'), ('globex', 1, 'r2')";
  const table = `(VALUES ${rows}) AS daily(account, date, report_id)`;
  const breaches = await withDuckDb(async (connection) =>
    (await connection.runAndReadAll(ONE_REPORT.breaches(table))).getRows(),
  );
  expect(breaches).toEqual([['acme', 2]]);
});

it.each([
  ['is over', 'cron(0 6 1 3 ? 2025)', undefined],
  ['starts once more', 'cron(0 6 1 3 ? 2026)', undefined],
  // From March 1, 06:00, to March 1 of the next year, 09:00, and the hour of the change of clocks.
  ['starts twice', 'cron(0 6 1 3 ? 2026-2027)', 365 * 24 + 3 + 1],
])('a schedule that %s: %s promises a freshness of %s hours', (_, schedule, hours) => {
  const [daily] = CONFIG.exports;
  const runs = [{ period: 'yesterday', schedule, ready_by: '09:00' }];
  const { exports } = parseConfig({ ...CONFIG, exports: [{ ...daily, runs }] });
  expect(freshness({ ...LEDGER_TABLE, table: daily.name }, exports)?.hours).toBe(hours);
});
