import { describe, expect, test } from 'vitest';
import { readSchema } from '../../../../functions/aws/catalog-table.ts';
import { createRequestTables, startGlue, type TableConfig } from '../../../../infra/lab/local/glue.ts';
import { REPORT } from '../../../support/requests.ts';

const BUCKET = 'exports';

describe('the table of a request', () => {
  const REQUEST = { ...REPORT, name: 'daily-campaigns', metrics: ['spend', 'quality'] };

  async function define(requests: readonly unknown[], config: Partial<TableConfig> = {}) {
    await using glue = await startGlue();
    const target = { platform: 'api.example/v1', revision: '2026-09-01' };
    const defineTable = createRequestTables(glue.tables, BUCKET, { exports: [], accounts: {}, ...config });
    for (const request of requests) defineTable(request, target);
    return [...glue.tables.values()].map(readSchema);
  }

  test('has the declared columns of the configured export of its name, and the currency of its account', async () => {
    const configured = [
      { name: 'daily-campaigns', columns: { quality: { type: 'bigint' as const } }, date_column: 'day' },
    ];
    const [plain] = await define([REQUEST]);
    const [declared] = await define([REQUEST], {
      exports: configured,
      accounts: { acme: { currency: 'EUR' } },
    });
    expect(plain?.columns).toContainEqual({ name: 'quality', type: 'double', from: 'quality' });
    expect(declared?.columns).toContainEqual({ name: 'quality', type: 'bigint', from: 'quality' });
    expect(plain).toMatchObject({ date_column: 'date' });
    expect(plain?.currencies).toEqual({});
    expect(declared).toMatchObject({ date_column: 'day' });
    expect(declared?.currencies).toEqual({ acme: 'EUR' });
    expect(declared?.requests).toEqual(plain?.requests);
  });

  test('keeps the hashes of other accounts and replaces that of its own', async () => {
    const [before] = await define([REQUEST, { ...REQUEST, account: 'globex' }]);
    const changed = { ...REQUEST, metrics: ['spend'] };
    const [after] = await define([REQUEST, { ...REQUEST, account: 'globex' }, changed]);
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
