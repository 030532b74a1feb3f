import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { readSchema } from '../../../functions/workflow/catalog-table.ts';
import { CONTEXT, readable, resourcesOf, synthesizeStack } from '../../support/stack.ts';

const [DAILY, BACKFILL] = CONTEXT.exports;
const CAMPAIGNS = {
  ...DAILY,
  name: 'daily-campaigns',
  metrics: ['spend', 'impressions'],
  dimensions: ['campaign_id', 'campaign_name'],
};
const LIST = { name: 'campaigns', account: 'acme', kind: 'list', resource: 'campaigns' };

const stack = synthesizeStack({ exports: [DAILY, { ...DAILY, account: 'globex' }, CAMPAIGNS, LIST] });
const tables = [...resourcesOf(stack, 'AWS::Glue::Table').values()];

/** The saved queries of a stack by name. */
function queriesOf(from: typeof stack): Map<string, string> {
  const queries = [...resourcesOf(from, 'AWS::Athena::NamedQuery').values()];
  return new Map(queries.map(({ Properties }) => [Properties.Name, Properties.QueryString]));
}

describe('the catalog', () => {
  it('has one table for each of the config, in the database of the stack', () => {
    expect(
      tables.map(({ Properties }) => [readable(Properties.DatabaseName), Properties.TableInput.Name]),
    ).toEqual([
      ['<TablesDatabase>', 'daily'],
      ['<TablesDatabase>', 'daily_campaigns'],
      ['<TablesDatabase>', 'campaigns'],
    ]);
    const [database] = resourcesOf(stack, 'AWS::Glue::Database').values();
    expect(database?.Properties.DatabaseInput.Name).toBe('exports_test');
  });

  it('has the schema of each table, with the request of each account', () => {
    const schemas = tables.map(({ Properties }) => readSchema(Properties.TableInput));
    expect(schemas).toMatchObject([
      { table: 'daily', kind: 'report', columns: [{ name: 'spend', type: 'decimal(18,6)' }] },
      { table: 'daily-campaigns', kind: 'report' },
      { table: 'campaigns', kind: 'list' },
    ]);
    expect(schemas.map((schema) => Object.keys(schema?.requests ?? {}))).toEqual([
      ['acme', 'globex'],
      ['acme'],
      ['acme'],
    ]);
  });

  it('has the same hashes for another stack on the same platform and revision, and others for another one', () => {
    const hashes = (changes: object) => {
      const [table] = resourcesOf(synthesizeStack({ ...changes }), 'AWS::Glue::Table').values();
      return readSchema(table?.Properties.TableInput)?.requests;
    };
    const own = hashes({});
    expect(hashes({ stack: 'other' })).toEqual(own);
    expect(hashes({ revision: '2026-10-01' })).not.toEqual(own);
    expect(hashes({ base_url: 'https://api.platform.example/v2' })).not.toEqual(own);
  });

  it("finds a table's objects under its prefix of the bucket", () => {
    const { StorageDescriptor, PartitionKeys } = tables[1]?.Properties.TableInput ?? {};
    expect(readable(StorageDescriptor.Location)).toBe('s3://<ExportsBucket>/tables/daily-campaigns/');
    expect(PartitionKeys).toEqual([
      { Name: 'account', Type: 'string' },
      { Name: 'date', Type: 'date' },
    ]);
  });
});

describe('the workgroup', () => {
  const [workgroup] = resourcesOf(stack, 'AWS::Athena::WorkGroup').values();

  it('enforces where results go, their encryption, and a limit of 100 GB per query', () => {
    expect(readable(workgroup?.Properties)).toMatchObject({
      Name: 'exports-test',
      WorkGroupConfiguration: {
        EnforceWorkGroupConfiguration: true,
        BytesScannedCutoffPerQuery: 100_000_000_000,
        ResultConfiguration: {
          OutputLocation: 's3://<ExportsBucket>/query-results/',
          ExpectedBucketOwner: '<AWS::AccountId>',
          EncryptionConfiguration: { EncryptionOption: 'SSE_S3' },
        },
      },
    });
  });

  it('encrypts results with the key of the stack', () => {
    const [other] = resourcesOf(synthesizeStack({ kms_key: 'create' }), 'AWS::Athena::WorkGroup').values();
    const { ResultConfiguration } = other?.Properties.WorkGroupConfiguration ?? {};
    expect(readable(ResultConfiguration.EncryptionConfiguration)).toEqual({
      EncryptionOption: 'SSE_KMS',
      KmsKey: '<Key.Arn>',
    });
  });
});

describe('the saved queries', () => {
  /** DuckDB understands the part of Athena's SQL that they use. */
  async function run(sql: string): Promise<unknown> {
    const database = await DuckDBInstance.create(':memory:');
    const connection = await database.connect();
    await connection.run(`
      CREATE TABLE daily (account VARCHAR, date DATE, spend DECIMAL(18,6));
      INSERT INTO daily SELECT a, current_date - 2, 1 FROM (VALUES ('acme'), ('globex')) t(a);
      CREATE TABLE daily_campaigns (account VARCHAR, date DATE, campaign_id VARCHAR, campaign_name VARCHAR,
        advertiser_id VARCHAR, spend DECIMAL(18,6), impressions BIGINT);
      INSERT INTO daily_campaigns VALUES
        ('acme', current_date - 1, 'c1', 'One', 'a', 1.5, 10), ('acme', current_date - 1, 'c1', 'One', 'b', 2.25, 20),
        ('acme', current_date - 1, 'c2', 'Two', 'a', 4, 30), ('acme', current_date - 3, 'c1', 'One', 'a', 8, 40),
        ('acme', current_date - 40, 'c1', 'One', 'a', 16, 50)`);
    const rows = await connection.runAndReadAll(sql);
    connection.closeSync();
    database.closeSync();
    return rows.getRowsJson();
  }

  it('add up the metrics of the last 30 days per day and campaign', async () => {
    const rows = (await run(queriesOf(stack).get('per-day-and-campaign') ?? '')) as unknown[][];
    expect(rows.map(([, ...row]) => row)).toEqual([
      ['acme', 'c1', 'One', '8.000000', '40'],
      ['acme', 'c1', 'One', '3.750000', '30'],
      ['acme', 'c2', 'Two', '4.000000', '30'],
    ]);
  });

  it('do without campaigns if no table has them, and are none without reports', () => {
    const [query = ''] = queriesOf(synthesizeStack({ exports: [DAILY] })).values();
    expect(query).toContain('GROUP BY "date", "account"\n');
    expect(queriesOf(synthesizeStack({ exports: [LIST] })).size).toBe(0);
    expect(queriesOf(synthesizeStack({ exports: [{ ...BACKFILL, table: false }] })).size).toBe(0);
  });
});

it('a stack without tables has no catalog, no workgroup and no settings for them', () => {
  const { template } = synthesizeStack({ tables: false });
  expect(JSON.stringify(template)).not.toMatch(/glue|athena|workgroup|query-results/i);
});
