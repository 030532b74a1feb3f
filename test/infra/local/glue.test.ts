import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BatchCreatePartitionCommand,
  BatchGetPartitionCommand,
  BatchUpdatePartitionCommand,
  GlueClient,
  type PartitionInput,
} from '@aws-sdk/client-glue';
import { describe, expect, onTestFinished, test } from 'vitest';
import { catalogTable, readSchema, storageDescriptor } from '../../../functions/workflow/catalog-table.ts';
import type { Column, TableSchema } from '../../../functions/workflow/table.ts';
import { startGlue } from '../../../infra/local/glue.ts';
import { createRequestTables } from '../../../infra/local/request-tables.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const BUCKET = 'exports';
const COLUMNS: Column[] = [{ name: 'spend', type: 'decimal(18,6)' }];
const SCHEMA: TableSchema = {
  table: 'daily-campaigns',
  kind: 'report',
  columns: COLUMNS,
  date_column: 'day',
  requests: { acme: 'a'.repeat(64) },
};
const AT = { DatabaseName: 'local', TableName: 'daily_campaigns' };

/** Starts Glue with a table, and a client that does not retry. */
async function startClient({ directory = temporaryDirectory(), table = catalogTable(SCHEMA, BUCKET) } = {}) {
  const glue = await startGlue({ directory });
  glue.tables.set(table.Name, table);
  const client = new GlueClient({
    endpoint: glue.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    maxAttempts: 1,
  });
  onTestFinished(async () => {
    client.destroy();
    await glue.close();
  });
  const create = (...PartitionInputList: PartitionInput[]) =>
    client.send(new BatchCreatePartitionCommand({ ...AT, PartitionInputList }));
  const get = (...days: string[]) => {
    const PartitionsToGet = days.map((day) => ({ Values: ['acme', day] }));
    return client.send(new BatchGetPartitionCommand({ ...AT, PartitionsToGet }));
  };
  const update = (day: string, input: PartitionInput) => {
    const entry = { PartitionValueList: ['acme', day], PartitionInput: input };
    return client.send(new BatchUpdatePartitionCommand({ ...AT, Entries: [entry] }));
  };
  return { glue, client, create, get, update };
}

function partition(day: string, columns: readonly Column[] = COLUMNS): PartitionInput {
  const location = `s3://${BUCKET}/tables/daily-campaigns/account=acme/date=${day}/`;
  // Glue's answer as the SDK reads it, and its types are the SDK's mutable ones.
  return JSON.parse(
    JSON.stringify({ Values: ['acme', day], StorageDescriptor: storageDescriptor(columns, location) }),
  );
}

describe('partitions', () => {
  test('are created once, found by their values, and updated if they exist', async () => {
    const { create, get, update } = await startClient();
    expect((await create(partition('2026-10-01'))).Errors).toEqual([]);
    const { Errors } = await create(partition('2026-10-01'), partition('2026-10-02'));
    expect(Errors).toMatchObject([
      { PartitionValues: ['acme', '2026-10-01'], ErrorDetail: { ErrorCode: 'AlreadyExistsException' } },
    ]);
    const wider: Column[] = [...COLUMNS, { name: 'clicks', type: 'bigint' }];
    expect((await update('2026-10-02', partition('2026-10-02', wider))).Errors).toEqual([]);
    expect((await update('2026-10-03', partition('2026-10-03'))).Errors).toMatchObject([
      {
        PartitionValueList: ['acme', '2026-10-03'],
        ErrorDetail: { ErrorCode: 'EntityNotFoundException' },
      },
    ]);
    const { Partitions = [], UnprocessedKeys } = await get('2026-10-02', '2026-10-03', '2026-10-01');
    expect(UnprocessedKeys).toEqual([]);
    const names = Partitions.map(({ Values = [], StorageDescriptor }) => [
      Values[1],
      StorageDescriptor?.Columns?.map(({ Name }) => Name),
    ]);
    expect(names).toEqual([
      ['2026-10-02', ['spend', 'clicks']],
      ['2026-10-01', ['spend']],
    ]);
  });

  test('outlive the run with their columns, unless somebody deletes the object', async () => {
    const directory = temporaryDirectory();
    const folderOf = (day: string) =>
      join(directory, BUCKET, 'tables/daily-campaigns/account=acme', `date=${day}`);
    const days = ['2026-10-01', '2026-10-02', '2026-10-03'];
    for (const day of days) {
      await mkdir(folderOf(day), { recursive: true });
      await writeFile(join(folderOf(day), 'data.parquet'), 'PAR1');
    }
    const earlier = await startClient({ directory });
    await earlier.create(...days.map((day) => partition(day)));
    const wider: Column[] = [...COLUMNS, { name: 'clicks', type: 'bigint' }];
    await earlier.update('2026-10-03', partition('2026-10-03', wider));
    await earlier.glue.close();
    await rm(folderOf('2026-10-02'), { recursive: true });
    const { get } = await startClient({ directory });
    const { Partitions = [] } = await get(...days);
    expect(Partitions).toMatchObject([partition('2026-10-01'), partition('2026-10-03', wider)]);
  });

  test.each<[string, string, PartitionInput[]]>([
    ['too few values', 'InvalidInputException', [{ ...partition('2026-10-01'), Values: ['2026-10-01'] }]],
    ['another location', 'InvalidInputException', [{ ...partition('2026-10-01'), Values: ['acme', 'x'] }]],
    ['no columns', 'InvalidInputException', [partition('2026-10-01', [])]],
    ['nothing', 'ValidationException', []],
    ['more than 100', 'ValidationException', Array(101).fill(partition('2026-10-01'))],
  ])('are refused with %s: %s', async (_, name, inputs) => {
    const { glue, create } = await startClient();
    await expect(create(...inputs)).rejects.toMatchObject({ name });
    expect(glue.partitionsOf('daily_campaigns')).toEqual([]);
  });
});

describe('the table of a request', () => {
  const REQUEST = {
    name: 'daily-campaigns',
    account: 'acme',
    start_date: '2026-10-01',
    end_date: '2026-10-02',
    advertiser_ids: ['5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01'],
    metrics: ['spend', 'reach'],
  };

  async function define(requests: readonly unknown[], configured: Record<string, unknown>[] = []) {
    await using glue = await startGlue({ directory: temporaryDirectory() });
    const target = { platform: 'api.example/v1', revision: '2026-09-01' };
    const defineTable = createRequestTables({ glue, bucket: BUCKET, configured });
    for (const request of requests) defineTable(request, target);
    return [...glue.tables.values()].map(readSchema);
  }

  test('has the columns that a configured export of the same name declares', async () => {
    const configured = [
      { name: 'daily-campaigns', columns: { reach: { type: 'bigint' } }, date_column: 'day' },
    ];
    const [plain] = await define([REQUEST]);
    const [declared] = await define([REQUEST], configured);
    expect(plain?.columns).toContainEqual({ name: 'reach', type: 'double' });
    expect(declared?.columns).toContainEqual({ name: 'reach', type: 'bigint' });
    expect([plain?.date_column, declared?.date_column]).toEqual(['date', 'day']);
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
