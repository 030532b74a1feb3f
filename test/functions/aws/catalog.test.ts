import { describe, expect, it, onTestFinished } from 'vitest';
import { createCatalog } from '../../../functions/aws/catalog.ts';
import { catalogTable } from '../../../functions/aws/catalog-table.ts';
import type { TableSchema } from '../../../functions/workflow/table.ts';
import { startFaultyGlue } from '../../support/faulty-services.ts';
import { awsEnvironment, setEnvironment } from '../../support/lambda.ts';
import { BUCKET } from '../../support/s3.ts';

const SCHEMA: TableSchema = {
  table: 'daily-spend',
  kind: 'report',
  date_column: 'day',
  requests: { acme: 'hash' },
  columns: [
    { name: 'spend', type: 'decimal(18,6)', from: 'Spend (USD)' },
    { name: 'clicks', type: 'bigint', from: 'clicks' },
  ],
  currencies: { acme: 'USD' },
};

async function start() {
  const glue = await startFaultyGlue();
  onTestFinished(() => glue.close());
  setEnvironment(awsEnvironment({ GLUE: glue.endpoint }));
  glue.tables.set('daily_spend', catalogTable(SCHEMA, BUCKET, { description: '', comments: {} }));
  return { glue, catalog: createCatalog({ GLUE_DATABASE: glue.database }) };
}

describe('the catalog', () => {
  it('reads the schema of a table that the stack wrote, and of no other', async () => {
    const { catalog } = await start();
    expect(await catalog.getTable('daily-spend')).toEqual(SCHEMA);
    expect(await catalog.getTable('absent')).toBeUndefined();
    // The same name in the catalog.
    expect(await catalog.getTable('daily_spend')).toBeUndefined();
  });

  it('41: turns an error of Glue into one of the workflow', async () => {
    const { catalog, glue } = await start();
    glue.faults.push({ operation: 'GetTable', answer: 'AccessDeniedException' });
    await expect(catalog.getTable('daily-spend')).rejects.toMatchObject({
      name: 'AccessRefused',
      message: expect.stringMatching(/glue:GetTable, and DESCRIBE in Lake Formation/),
    });
  });
});
