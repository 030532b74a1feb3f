import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import { qualityRules } from '../../../infra/catalog/quality.ts';
import type { DocumentedTable } from '../../../infra/catalog/table-words.ts';

const KEY = ['account', 'date', 'campaign_id'];
const TABLE: DocumentedTable = {
  table: 'daily',
  kind: 'report',
  description: '',
  key: KEY,
  time_zones: {},
  currencies: {},
  columns: [],
};

/** The rules that these rows of a report break, each as [account, campaign_id, report_id]. */
async function broken(...rows: readonly (readonly [string, string | null, string])[]): Promise<string[]> {
  const database = await DuckDBInstance.create(':memory:');
  const connection = await database.connect();
  const text = (value: string | null) => (value === null ? 'NULL' : `'${value}'`);
  const values = rows.map(([account, campaign, report]) => {
    return `(${text(account)}, DATE '2026-10-01', ${text(campaign)}, ${text(report)})`;
  });
  const table = `(VALUES ${values.join(', ')}) AS daily(${KEY.join(', ')}, report_id)`;
  const found: string[] = [];
  for (const { name, severity, breaches } of qualityRules(TABLE))
    if ((await connection.runAndReadAll(breaches(table))).currentRowCount > 0)
      found.push(`${name}: ${severity}`);
  connection.closeSync();
  database.closeSync();
  return found;
}

it('rows of one report a day break no rule, whatever other accounts have', async () => {
  expect(await broken(['acme', 'a', 'r1'], ['acme', null, 'r1'], ['globex', 'a', 'r2'])).toEqual([]);
});

it('a day of an account from two reports is an error', async () => {
  expect(await broken(['acme', 'a', 'r1'], ['acme', 'b', 'r2'])).toEqual(['one_report_per_day: error']);
});

it.each(['a', null])('two rows of one campaign are a warning: %s', async (campaign) => {
  expect(await broken(['acme', campaign, 'r1'], ['acme', campaign, 'r1'])).toEqual([
    'one_row_per_key: warning',
  ]);
});
