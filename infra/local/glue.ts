import { globSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { CatalogTable, StorageDescriptor } from '../../functions/workflow/catalog-table.ts';
import {
  answerCall,
  type ConnectionFault,
  type JsonCall,
  JsonServiceError,
  startJsonService,
  takeFault,
} from './json-service.ts';

export type GlueOperation =
  | 'GetTable'
  | 'BatchGetPartition'
  | 'BatchCreatePartition'
  | 'BatchUpdatePartition';

/** An error of Glue, or what happens to the connection. */
export type GlueFaultAnswer =
  | 'AccessDeniedException'
  | 'ConcurrentModificationException'
  | 'EntityNotFoundException'
  | 'GlueEncryptionException'
  | 'InternalServiceException'
  | 'OperationTimeoutException'
  | 'ResourceNumberLimitExceededException'
  | 'ThrottlingException'
  | ConnectionFault;

export interface GlueFault {
  readonly operation: GlueOperation;
  readonly answer: GlueFaultAnswer;
  /** How many requests fail. Default: 1. */
  times?: number;
}

/** One request. */
export interface GlueCall {
  readonly operation: string;
  readonly table: string;
  /** Partitions that the request names. */
  readonly partitions: number;
  readonly error?: string;
}

export interface Partition {
  /** In the order of the table's keys. */
  readonly Values: readonly string[];
  readonly StorageDescriptor: StorageDescriptor;
  readonly Parameters?: Readonly<Record<string, string>>;
}

/** The Glue Data Catalog on 127.0.0.1, with the operations that CurateReport needs (AWS JSON 1.1). */
export interface Glue extends AsyncDisposable {
  readonly endpoint: string;
  readonly database: string;
  /** By name. Tests may change or remove a table. */
  readonly tables: Map<string, CatalogTable>;
  readonly journal: readonly GlueCall[];
  /** Push a fault to make a later request fail. */
  readonly faults: GlueFault[];
  /** Creates or replaces a table. A new one has a partition for each of the objects that are in its folder. */
  define(table: CatalogTable): void;
  /** In the order in which they were created. */
  partitionsOf(table: string): readonly Partition[];
  close(): Promise<void>;
}

export interface GlueOptions {
  /** Buckets are folders in this one. */
  readonly directory: string;
  readonly now?: () => number;
}

const DATABASE = 'local';

/** Glue's limits of one request. */
const MAX_WRITTEN = 100;
const MAX_READ = 1000;

/** By their values, joined with /. */
type Partitions = Map<string, Partition>;

interface Catalog extends GlueOptions {
  readonly tables: Map<string, CatalogTable>;
  readonly partitions: Map<string, Partitions>;
}

export async function startGlue(options: GlueOptions): Promise<Glue> {
  const journal: GlueCall[] = [];
  const faults: GlueFault[] = [];
  const catalog: Catalog = { ...options, tables: new Map(), partitions: new Map() };
  const { tables, partitions } = catalog;
  const { endpoint, close } = await startJsonService(
    { target: 'AWSGlue', version: '1.1', now: options.now },
    async (call) => void journal.push(await serve(catalog, faults, call)),
  );
  const define = (table: CatalogTable) => {
    tables.set(table.Name, table);
    if (!partitions.has(table.Name)) partitions.set(table.Name, findPartitions(table, options.directory));
  };
  const partitionsOf = (table: string) => [...(partitions.get(table)?.values() ?? [])];
  return {
    ...{ endpoint, database: DATABASE, tables, journal, faults, define, partitionsOf, close },
    [Symbol.asyncDispose]: close,
  };
}

/**
 * An earlier run registered each object that it wrote, but kept no catalog. Its partitions get the columns that the table has now.
 */
function findPartitions(table: CatalogTable, directory: string): Partitions {
  const { PartitionKeys, StorageDescriptor: described } = table;
  const root = join(directory, described.Location.replace('s3://', ''));
  const pattern = PartitionKeys.map(({ Name }) => `${Name}=*/`).join('');
  const found = globSync(`${pattern}*.parquet`, { cwd: root }).map((file): [string, Partition] => {
    const path = dirname(file);
    const Values = path.split(sep).map((part) => part.slice(part.indexOf('=') + 1));
    const Location = `${described.Location}${path.replaceAll(sep, '/')}/`;
    return [Values.join('/'), { Values, StorageDescriptor: { ...described, Location } }];
  });
  return new Map(found.sort());
}

/** The parameters of all operations. */
interface Parameters {
  readonly DatabaseName?: string;
  readonly Name?: string;
  readonly TableName?: string;
  readonly PartitionsToGet?: readonly Pick<Partition, 'Values'>[];
  readonly PartitionInputList?: readonly Partition[];
  readonly Entries?: readonly {
    readonly PartitionValueList: readonly string[];
    readonly PartitionInput: Partition;
  }[];
}

async function serve(catalog: Catalog, faults: GlueFault[], call: JsonCall): Promise<GlueCall> {
  const { operation } = call;
  const parameters: Parameters = call.parameters;
  const { Name = '', TableName = Name, PartitionsToGet, PartitionInputList, Entries } = parameters;
  const fault = takeFault(faults, (each) => each.operation === operation);
  const { error } = await answerCall(call, fault, 'InternalServiceException', async () =>
    answerTo(catalog, operation, TableName, parameters),
  );
  const partitions = (PartitionsToGet ?? PartitionInputList ?? Entries ?? []).length;
  return { operation, table: TableName, partitions, ...(error !== undefined && { error }) };
}

function answerTo(
  { tables, partitions, now = Date.now }: Catalog,
  operation: string,
  name: string,
  parameters: Parameters,
): Record<string, unknown> {
  const { DatabaseName, PartitionsToGet = [], PartitionInputList = [], Entries = [] } = parameters;
  if (DatabaseName !== DATABASE) throw notFound(`Database ${DatabaseName} not found.`);
  const table = tables.get(name);
  if (!table) throw notFound(`Table ${name} not found.`);
  const existing = partitions.get(name) ?? new Map();
  partitions.set(name, existing);
  const created = { DatabaseName, TableName: name, CreationTime: Math.floor(now() / 1000) };
  if (operation === 'GetTable') return { Table: { ...table, DatabaseName, VersionId: '0' } };
  if (operation === 'BatchGetPartition') {
    checkCount(PartitionsToGet, MAX_READ);
    const found = PartitionsToGet.map(({ Values }) => existing.get(keyOf(table, Values)));
    const Partitions = found.flatMap((partition) => (partition ? [{ ...partition, ...created }] : []));
    return { Partitions, UnprocessedKeys: [] };
  }
  if (operation === 'BatchCreatePartition') return createPartitions(table, existing, PartitionInputList);
  if (operation === 'BatchUpdatePartition') return updatePartitions(table, existing, Entries);
  throw new JsonServiceError('InvalidInputException', `The local run does not support ${operation}.`);
}

function createPartitions(table: CatalogTable, existing: Partitions, inputs: readonly Partition[]) {
  checkCount(inputs, MAX_WRITTEN);
  for (const input of inputs) checkPartition(table, input);
  const Errors = inputs.flatMap((input) => {
    const key = keyOf(table, input.Values);
    if (existing.has(key)) return [errorOf(input.Values, 'AlreadyExistsException')];
    existing.set(key, input);
    return [];
  });
  return { Errors: Errors.map(({ values, ErrorDetail }) => ({ PartitionValues: values, ErrorDetail })) };
}

function updatePartitions(
  table: CatalogTable,
  existing: Partitions,
  entries: NonNullable<Parameters['Entries']>,
) {
  checkCount(entries, MAX_WRITTEN);
  for (const { PartitionInput } of entries) checkPartition(table, PartitionInput);
  const Errors = entries.flatMap(({ PartitionValueList, PartitionInput }) => {
    const key = keyOf(table, PartitionValueList);
    if (key !== keyOf(table, PartitionInput.Values))
      throw new JsonServiceError('InvalidInputException', 'The local run does not rename partitions.');
    if (!existing.has(key)) return [errorOf(PartitionValueList, 'EntityNotFoundException')];
    existing.set(key, PartitionInput);
    return [];
  });
  return { Errors: Errors.map(({ values, ErrorDetail }) => ({ PartitionValueList: values, ErrorDetail })) };
}

function errorOf(values: readonly string[], ErrorCode: string) {
  return { values, ErrorDetail: { ErrorCode, ErrorMessage: `${ErrorCode}: ${values.join(', ')}` } };
}

function checkCount(list: readonly unknown[], max: number): void {
  if (list.length >= 1 && list.length <= max) return;
  throw new JsonServiceError('ValidationException', `A list of 1 to ${max} is allowed, not ${list.length}.`);
}

/** @throws JsonServiceError if there is not one value for each of the table's keys */
function keyOf({ PartitionKeys }: CatalogTable, values: readonly string[] = []): string {
  if (values.length === PartitionKeys.length) return values.join('/');
  const problem = 'The number of partition keys do not match the number of partition values';
  throw new JsonServiceError('InvalidInputException', problem);
}

/** Glue also accepts a partition without these, but no engine can read it. */
function checkPartition(table: CatalogTable, { Values, StorageDescriptor: described }: Partition): void {
  keyOf(table, Values);
  const path = Values.map((value, at) => `${table.PartitionKeys[at]?.Name}=${value}/`).join('');
  const { Location, SerdeInfo } = table.StorageDescriptor;
  const faults = [
    ...(described?.Location === `${Location}${path}` ? [] : [`its location is not ${Location}${path}`]),
    ...(described?.Columns?.length > 0 ? [] : ['it has no columns']),
    ...(described?.SerdeInfo?.SerializationLibrary === SerdeInfo.SerializationLibrary
      ? []
      : ["its SerDe is not the table's"]),
  ];
  if (faults.length > 0)
    throw new JsonServiceError('InvalidInputException', `Partition ${Values}: ${faults.join('; ')}`);
}

function notFound(message: string): JsonServiceError {
  return new JsonServiceError('EntityNotFoundException', message);
}
