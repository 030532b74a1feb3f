import {
  BatchCreatePartitionCommand,
  BatchGetPartitionCommand,
  BatchUpdatePartitionCommand,
  EntityNotFoundException,
  GetPartitionsCommand,
  GetTableCommand,
  GlueClient,
  type Partition,
  type PartitionError,
  type PartitionInput,
} from '@aws-sdk/client-glue';
import { readSchema, storageDescriptor } from '../workflow/catalog-table.ts';
import { AccessRefused, ServiceUnavailable } from '../workflow/errors.ts';
import { catalogName, dayKey, listKey, type TableSchema } from '../workflow/table.ts';
import { asServiceError } from './service-error.ts';

/** Partitions of one BatchCreatePartition or BatchUpdatePartition. BatchGetPartition allows 1,000. */
const MAX_PARTITIONS = 100;

/** The most partitions that one GetPartitions returns. */
const MAX_LISTED = 1_000;

/** Milliseconds. Without it, a call that AWS never answers lasts until Lambda's timeout. */
const CALL_TIMEOUT = 5_000;

/** The values of a partition's keys: account and date, or only the account. */
export type PartitionValues = readonly string[];

/** A registered partition. The columns are those that its object was written with. */
export interface RegisteredPartition {
  readonly values: PartitionValues;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

/** The tables of the stack's Glue database. Each function throws AccessRefused or ServiceUnavailable. */
export interface Catalog {
  /** Undefined if the table does not exist, or is not one of this stack's. */
  getTable(table: string): Promise<TableSchema | undefined>;
  /** Returns up to 1,000 partitions in Glue's order, which are all of nearly every table: none without the table. */
  listPartitions(table: string): Promise<RegisteredPartition[]>;
  /** Returns those that exist: none without the table. @param values at most 1,000 */
  getPartitions(table: string, values: readonly PartitionValues[]): Promise<RegisteredPartition[]>;
  /** Registers the partitions, and updates those that exist with other columns. */
  registerPartitions(schema: TableSchema, values: readonly PartitionValues[]): Promise<void>;
}

/** @param settings the Glue database, and the bucket that holds the tables */
export function createCatalog({
  GLUE_DATABASE: DatabaseName,
  BUCKET,
}: {
  readonly GLUE_DATABASE: string;
  readonly BUCKET: string;
}): Catalog {
  // Each call opens a new connection: AWS may close an idle one while the function is frozen, and the only try would fail on it.
  const agents = { httpAgent: { keepAlive: false }, httpsAgent: { keepAlive: false } };
  const glue = new GlueClient({ maxAttempts: 1, requestHandler: agents });
  const withTimeout = () => ({ abortSignal: AbortSignal.timeout(CALL_TIMEOUT) });

  async function getPartitions(table: string, values: readonly PartitionValues[]) {
    const PartitionsToGet = values.map((each) => ({ Values: [...each] }));
    const command = new BatchGetPartitionCommand({
      DatabaseName,
      TableName: catalogName(table),
      PartitionsToGet,
    });
    const refusal = refused(`read partitions of table ${table}`, 'glue:BatchGetPartition', 'SELECT');
    const answer = await glue.send(command, withTimeout()).catch((error: unknown) => {
      if (error instanceof EntityNotFoundException) return { Partitions: [], UnprocessedKeys: [] };
      return refusal(error);
    });
    if (answer.UnprocessedKeys?.length)
      throw new ServiceUnavailable(`Glue did not read all partitions of table ${table}.`);
    return (answer.Partitions ?? []).map(asRegistered);
  }

  async function listPartitions(table: string) {
    const command = new GetPartitionsCommand({
      DatabaseName,
      TableName: catalogName(table),
      MaxResults: MAX_LISTED,
    });
    const refusal = refused(`read partitions of table ${table}`, 'glue:GetPartitions', 'SELECT');
    const { Partitions = [] } = await glue.send(command, withTimeout()).catch((error: unknown) => {
      return error instanceof EntityNotFoundException ? { Partitions: [] } : refusal(error);
    });
    return Partitions.map(asRegistered);
  }

  async function create(table: string, inputs: PartitionInput[]): Promise<void> {
    const command = new BatchCreatePartitionCommand({
      DatabaseName,
      TableName: catalogName(table),
      PartitionInputList: inputs,
    });
    const refusal = refused(
      `register partitions of table ${table}`,
      'glue:BatchCreatePartition',
      'ALTER and INSERT',
    );
    const { Errors = [] } = await glue.send(command, withTimeout()).catch(refusal);
    // Another run of the same export has just registered it.
    throwFirst(
      Errors.filter(({ ErrorDetail }) => ErrorDetail?.ErrorCode !== 'AlreadyExistsException'),
      refusal,
    );
  }

  async function update(table: string, inputs: PartitionInput[]): Promise<void> {
    const command = new BatchUpdatePartitionCommand({
      DatabaseName,
      TableName: catalogName(table),
      Entries: inputs.map((input) => ({ PartitionValueList: input.Values, PartitionInput: input })),
    });
    const refusal = refused(`update partitions of table ${table}`, 'glue:BatchUpdatePartition', 'ALTER');
    const { Errors = [] } = await glue.send(command, withTimeout()).catch(refusal);
    throwFirst(Errors, refusal);
  }

  return {
    async getTable(table) {
      const command = new GetTableCommand({ DatabaseName, Name: catalogName(table) });
      try {
        const { Table = {} } = await glue.send(command, withTimeout());
        const schema = readSchema(Table);
        // Names that differ only in - and _ share a name in the catalog.
        return schema?.table === table ? schema : undefined;
      } catch (error) {
        if (error instanceof EntityNotFoundException) return undefined;
        return refused(`read table ${table}`, 'glue:GetTable', 'DESCRIBE')(error);
      }
    },
    listPartitions,
    getPartitions,
    async registerPartitions(schema, values) {
      for (let start = 0; start < values.length; start += MAX_PARTITIONS) {
        const some = values.slice(start, start + MAX_PARTITIONS);
        const registered = new Map(
          (await getPartitions(schema.table, some)).map((each) => [each.values.join('/'), each]),
        );
        const inputs = (wanted: (partition: RegisteredPartition | undefined) => boolean) =>
          some
            .filter((each) => wanted(registered.get(each.join('/'))))
            .map((each) => describePartition(schema, BUCKET, each));
        const absent = inputs((partition) => partition === undefined);
        const outdated = inputs((partition) => partition !== undefined && !hasColumns(partition, schema));
        if (absent.length > 0) await create(schema.table, absent);
        if (outdated.length > 0) await update(schema.table, outdated);
      }
    },
  };
}

function asRegistered({ Values = [], StorageDescriptor }: Partition): RegisteredPartition {
  const { Columns = [] } = StorageDescriptor ?? {};
  return { values: Values, columns: Columns.map(({ Name = '', Type = '' }) => ({ name: Name, type: Type })) };
}

function hasColumns({ columns }: RegisteredPartition, schema: TableSchema): boolean {
  const describe = (list: RegisteredPartition['columns']) =>
    list.map(({ name, type }) => `${name} ${type}`).join();
  return describe(columns) === describe(schema.columns);
}

function describePartition(schema: TableSchema, bucket: string, values: PartitionValues): PartitionInput {
  const { Columns, SerdeInfo, ...described } = storageDescriptor(
    schema.columns,
    locationOf(bucket, schema, values),
  );
  return { Values: [...values], StorageDescriptor: { ...described, Columns: [...Columns], SerdeInfo } };
}

function throwFirst(errors: readonly PartitionError[], refusal: (error: unknown) => never): void {
  const [detail] = errors.map(({ ErrorDetail }) => ErrorDetail);
  if (detail === undefined) return;
  refusal(Object.assign(new Error(detail.ErrorMessage), { name: detail.ErrorCode ?? 'unknown' }));
}

/**
 * Lake Formation refuses with the same error as IAM, but a policy does not help against it.
 *
 * @param permission the IAM action
 * @param grant the permissions on the table that Lake Formation may require
 */
function refused(doing: string, permission: string, grant: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Error) || !/Lake Formation/.test(error.message))
      throw asServiceError(error, doing, permission);
    throw new AccessRefused(
      `Lake Formation refused to ${doing}. Grant the function's role ${grant} on the table in Lake Formation, ` +
        'or set tables to false.',
      { aws_error: error.name, permission: `lakeformation ${grant}` },
    );
  };
}

/** The folder of the partition's object. */
function locationOf(bucket: string, { table }: TableSchema, [account = '', day]: PartitionValues): string {
  const key = day === undefined ? listKey(table, account) : dayKey(table, account, day);
  return `s3://${bucket}/${key.slice(0, key.lastIndexOf('/') + 1)}`;
}
