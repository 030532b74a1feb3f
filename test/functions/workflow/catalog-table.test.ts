import { expect, it } from 'vitest';
import { catalogTable, readSchema } from '../../../functions/workflow/catalog-table.ts';
import { LIST_COLUMNS, type TableSchema } from '../../../functions/workflow/table.ts';

const REPORT: TableSchema = {
  table: 'daily-campaigns',
  kind: 'report',
  columns: [
    { name: 'campaign_id', type: 'string' },
    { name: 'spend', type: 'decimal(18,6)', round: true },
    { name: 'impressions', type: 'bigint' },
  ],
  date_column: 'Day',
  requests: { acme: 'a1', 'globex-eu': 'b2' },
};
const LIST: TableSchema = {
  table: 'campaigns',
  kind: 'list',
  columns: LIST_COLUMNS,
  date_column: 'date',
  requests: { acme: 'c3' },
};

it.each([REPORT, LIST])('the schema of the $kind table is read as it was written', (schema) => {
  expect(readSchema(catalogTable(schema, 'bucket'))).toEqual(schema);
});

it('a table is named without hyphens and stored under its own name', () => {
  const { Name, StorageDescriptor } = catalogTable(REPORT, 'bucket');
  expect([Name, StorageDescriptor.Location]).toEqual([
    'daily_campaigns',
    's3://bucket/tables/daily-campaigns/',
  ]);
});

it('a report is partitioned by account and date, a list by account', () => {
  const keysOf = (schema: TableSchema) =>
    catalogTable(schema, 'bucket').PartitionKeys.map(({ Name, Type }) => [Name, Type]);
  expect(keysOf(REPORT)).toEqual([
    ['account', 'string'],
    ['date', 'date'],
  ]);
  expect(keysOf(LIST)).toEqual([['account', 'string']]);
});

it('a table that something else wrote has no schema', () => {
  expect(readSchema({ StorageDescriptor: { Columns: [{ Name: 'spend', Type: 'double' }] } })).toBeUndefined();
  expect(readSchema({ Parameters: { table: 't', kind: 'view', date_column: 'date' } })).toBeUndefined();
  expect(readSchema({})).toBeUndefined();
});
