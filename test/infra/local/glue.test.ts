import { GetTableCommand, GetTablesCommand, GlueClient } from '@aws-sdk/client-glue';
import { describe, expect, test } from 'vitest';
import { catalogTable, readSchema } from '../../../functions/workflow/catalog-table.ts';
import type { TableSchema } from '../../../functions/workflow/table.ts';
import { createRequestTables, startGlue, type TableConfig } from '../../../infra/local/glue.ts';

const BUCKET = 'exports';
const SCHEMA: TableSchema = {
  table: 'daily-campaigns',
  kind: 'report',
  columns: [{ name: 'spend_usd', type: 'decimal(18,6)', from: 'Spend (USD)' }],
  date_column: 'day',
  requests: { acme: 'a'.repeat(64) },
  currencies: { acme: 'USD' },
};

test('GetTable answers with the schema of a table, and nothing else is answered', async () => {
  await using glue = await startGlue();
  const table = catalogTable(SCHEMA, BUCKET, { description: 'Spend by day', comments: {} });
  glue.tables.set(table.Name, table);
  const { endpoint } = glue;
  const credentials = { accessKeyId: 'any', secretAccessKey: 'any' };
  const client = new GlueClient({ endpoint, region: 'eu-west-1', credentials, maxAttempts: 1 });
  const get = (Name: string, DatabaseName = glue.database) =>
    client.send(new GetTableCommand({ DatabaseName, Name }));
  const { Table } = await get('daily_campaigns');
  expect(readSchema(Table ?? {})).toEqual(SCHEMA);
  for (const absent of [get('daily'), get('daily_campaigns', 'other')])
    await expect(absent).rejects.toMatchObject({ name: 'EntityNotFoundException' });
  const others = client.send(new GetTablesCommand({ DatabaseName: glue.database }));
  await expect(others).rejects.toMatchObject({ name: 'InvalidInputException' });
  client.destroy();
});

describe('the table of a request', () => {
  const REQUEST = {
    name: 'daily-campaigns',
    account: 'acme',
    start_date: '2026-10-01',
    end_date: '2026-10-02',
    advertiser_ids: ['5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01'],
    metrics: ['spend', 'quality'],
  };

  async function define(requests: readonly unknown[], config: Partial<TableConfig> = {}) {
    await using glue = await startGlue();
    const target = { platform: 'api.example/v1', revision: '2026-09-01' };
    const defineTable = createRequestTables({
      glue,
      bucket: BUCKET,
      config: { exports: [], currency: {}, ...config },
    });
    for (const request of requests) defineTable(request, target);
    return [...glue.tables.values()].map(readSchema);
  }

  test('has the columns that a configured export of the same name declares, and the currency of its account', async () => {
    const configured = [
      { name: 'daily-campaigns', columns: { quality: { type: 'bigint' as const } }, date_column: 'day' },
    ];
    const [plain] = await define([REQUEST]);
    const [declared] = await define([REQUEST], { exports: configured, currency: { acme: 'EUR' } });
    expect(plain?.columns).toContainEqual({ name: 'quality', type: 'double', from: 'quality' });
    expect(declared?.columns).toContainEqual({ name: 'quality', type: 'bigint', from: 'quality' });
    expect([plain?.date_column, declared?.date_column]).toEqual(['date', 'day']);
    expect([plain?.currencies, declared?.currencies]).toEqual([{}, { acme: 'EUR' }]);
    expect(declared?.requests).toEqual(plain?.requests);
  });

  test('keeps the hashes of other accounts and replaces that of its own', async () => {
    const [before] = await define([REQUEST, { ...REQUEST, account: 'globex' }]);
    const other = { ...REQUEST, metrics: ['spend'] };
    const [after] = await define([REQUEST, { ...REQUEST, account: 'globex' }, other]);
    expect(after?.requests.globex).toBe(before?.requests.globex);
    expect(after?.requests.acme).not.toBe(before?.requests.acme);
  });

  test.each([
    ['that is faulty', { ...REQUEST, metrics: [] }],
    ['that is not an object', null],
    ['that wants no table', { ...REQUEST, table: false }],
  ])('is not created for a request %s', async (_, request) => {
    expect(await define([request])).toEqual([]);
  });
});
