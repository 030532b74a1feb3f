import { expect, it } from 'vitest';
import { catalogTable, readSchema, type TableWords } from '../../../functions/aws/catalog-table.ts';
import type { TableSchema } from '../../../functions/workflow/table.ts';
import { LIST } from '../tables/curations.ts';

const REPORT: TableSchema = {
  table: 'daily-campaigns',
  kind: 'report',
  columns: [
    { name: 'campaign_id', type: 'string', from: 'campaign_id' },
    { name: 'spend', type: 'decimal(18,6)', from: 'Spend (€)' },
    { name: 'impressions', type: 'bigint', from: 'Impressions' },
  ],
  date_column: 'Day',
  requests: { acme: 'a1', 'globex-eu': 'b2' },
  currencies: { acme: 'EUR', 'globex-eu': 'USD' },
};
const WORDS: TableWords = { description: 'What it is', comments: { spend: 'The money spent.' } };

it('a report has columns for its account, day, currency and report; a list for its account and snapshot', () => {
  const columnsOf = (schema: TableSchema) =>
    catalogTable(schema, 'bucket', WORDS).StorageDescriptor.Columns.map(({ Name, Type, Comment }) =>
      [Name, Type, Comment].filter(Boolean).join(' '),
    );
  expect(columnsOf(REPORT)).toEqual([
    'account string',
    'date date',
    'campaign_id string',
    'spend decimal(18,6) The money spent.',
    'impressions bigint',
    'currency string',
    'report_id string',
    'report_created_at timestamp',
  ]);
  expect(columnsOf({ ...REPORT, currencies: {} })).not.toContain('currency string');
  expect(columnsOf(LIST)).toEqual([
    'account string',
    ...['id', 'name', 'created_at', 'item'].map((name) => `${name} string`),
    'snapshot_at timestamp',
  ]);
});

it('a table that something else wrote has no schema', () => {
  expect(readSchema({ StorageDescriptor: { Columns: [{ Name: 'spend', Type: 'double' }] } })).toBeUndefined();
  expect(readSchema({ Parameters: { table: 't', kind: 'view', date_column: 'date' } })).toBeUndefined();
  expect(readSchema({})).toBeUndefined();
});
