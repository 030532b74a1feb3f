import { describe, expect, it } from 'vitest';
import { readSchema } from '../../../../functions/aws/catalog-table.ts';
import { savedQueries } from '../../../../infra/stack/catalog/queries.ts';
import { CONTEXT, readable, resourcesOf, synthesizeStack } from '../../../support/stack.ts';

const [DAILY] = CONTEXT.exports;
const CAMPAIGNS = {
  ...DAILY,
  name: 'daily-campaigns',
  metrics: ['spend', 'impressions'],
  dimensions: ['campaign_id', 'campaign_name'],
};
const LIST = { name: 'campaigns', accounts: ['acme'], kind: 'list', resource: 'campaigns' };

const stack = synthesizeStack({ exports: [{ ...DAILY, accounts: undefined }, CAMPAIGNS, LIST] });
const tables = tablesIn(stack);

/** The tables of a stack, in the order in which it creates them. */
function tablesIn(from: typeof stack) {
  return [...resourcesOf(from, 'AWS::Glue::Table').values()].map(({ Properties }) => Properties);
}

describe('the catalog', () => {
  it('has one table for each of the config, and the ledger, in the database of the stack', () => {
    expect(tables.map(({ DatabaseName, TableInput }) => [readable(DatabaseName), TableInput.Name])).toEqual([
      ['<TablesDatabase>', 'daily'],
      ['<TablesDatabase>', 'daily_campaigns'],
      ['<TablesDatabase>', 'campaigns'],
      ['<TablesDatabase>', 'ledger'],
    ]);
    const [database] = resourcesOf(stack, 'AWS::Glue::Database').values();
    expect(database?.Properties.DatabaseInput.Name).toBe('exports_test');
  });

  it('has the schema of each table, with the request of each account', () => {
    const schemas = tables.slice(0, -1).map(({ TableInput }) => readSchema(TableInput));
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

  it('says what each table and column means, the ledger included', () => {
    for (const { TableInput } of tables) {
      expect(TableInput.Description, TableInput.Name).toMatch(/\w/);
      for (const { Name, Comment } of TableInput.StorageDescriptor.Columns)
        expect(Comment, Name).toMatch(/\w/);
    }
  });

  it('takes any name for a table, also those of its own constructs and queries', () => {
    const names = ['tables', 'queries', 'database', 'workgroup', 'default', 'resource'];
    const queries = [...resourcesOf(stack, 'AWS::Athena::NamedQuery').values()];
    const taken = [...names, ...queries.map(({ Properties }) => Properties.Name)];
    const exports = taken.map((name) => ({ ...DAILY, name, runs: [{ period: 'yesterday' }] }));
    const created = tablesIn(synthesizeStack({ exports })).map(({ TableInput }) => TableInput.Name);
    expect(created).toEqual([...taken.map((name) => name.replaceAll('-', '_')), 'ledger']);
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
    const [encrypted] = resourcesOf(
      synthesizeStack({ kms_key: 'create' }),
      'AWS::Athena::WorkGroup',
    ).values();
    const { ResultConfiguration } = encrypted?.Properties.WorkGroupConfiguration ?? {};
    expect(readable(ResultConfiguration.EncryptionConfiguration)).toEqual({
      EncryptionOption: 'SSE_KMS',
      KmsKey: '<Key.Arn>',
    });
  });
});

it('the saved queries are in the workgroup, over the database of the stack', () => {
  const queries = [...resourcesOf(stack, 'AWS::Athena::NamedQuery').values()];
  const saved = savedQueries(tables.slice(0, -1).flatMap(({ TableInput }) => readSchema(TableInput) ?? []));
  expect(queries.map(({ Properties }) => readable(Properties))).toEqual(
    Object.entries(saved).map(([Name, { description, sql }]) => ({
      Name,
      Description: description,
      QueryString: sql,
      Database: '<TablesDatabase>',
      WorkGroup: '<TablesWorkgroup>',
    })),
  );
});

it('a stack without tables has no catalog, no workgroup and no settings for them', () => {
  const { template } = synthesizeStack({ tables: false });
  expect(JSON.stringify(template)).not.toMatch(/glue|athena|workgroup|query-results/i);
});
