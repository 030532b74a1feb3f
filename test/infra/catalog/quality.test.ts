import { expect, it } from 'vitest';
import { ONE_REPORT } from '../../../infra/catalog/quality.ts';
import { withDuckDb } from '../../support/ledger-rows.ts';

it('a day of an account from two reports breaks the rule, whatever other accounts and days have', async () => {
  const rows =
    "('acme', 1, 'r1'), ('acme', 1, 'r1'), ('acme', 2, 'r1'), ('acme', 2, 'r2'), ('globex', 1, 'r2')";
  const table = `(VALUES ${rows}) AS daily(account, date, report_id)`;
  const found = await withDuckDb(async (connection) =>
    (await connection.runAndReadAll(ONE_REPORT.breaches(table))).getRows(),
  );
  expect(found).toEqual([['acme', 2]]);
});
