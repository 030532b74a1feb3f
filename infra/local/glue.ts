import type { CatalogTable } from '../../functions/workflow/catalog-table.ts';
import { type Json, JsonServiceError, startJsonService } from './json-service.ts';
import { openPartitions, type Partition, type Partitions } from './partitions.ts';

/** The Glue Data Catalog on 127.0.0.1, with the operations that CurateReport needs (AWS JSON 1.1). */
export interface Glue extends AsyncDisposable {
  readonly endpoint: string;
  readonly database: string;
  /** By name. Tables may be added, changed and removed at any time. */
  readonly tables: Map<string, CatalogTable>;
  /** In the order in which they were created. */
  partitionsOf(table: string): readonly Partition[];
  close(): Promise<void>;
}

export interface GlueOptions {
  /** Buckets are folders in this one. The catalog's partitions are kept here too. */
  readonly directory: string;
  /** The name of its only database. Default: `local`. */
  readonly database?: string | undefined;
  readonly now?: () => number;
}

/** Glue's limits of one request. */
const MAX_WRITTEN = 100;
const MAX_READ = 1000;

interface Catalog extends GlueOptions {
  readonly database: string;
  readonly tables: Map<string, CatalogTable>;
  readonly partitions: Partitions;
}

export async function startGlue({ database = 'local', ...options }: GlueOptions): Promise<Glue> {
  const tables = new Map<string, CatalogTable>();
  const partitions = openPartitions(options.directory);
  const catalog: Catalog = { ...options, database, tables, partitions };
  const service = await startJsonService(
    (operation, parameters) => answerTo(catalog, operation, parameters),
    options.now ?? Date.now,
  );
  const partitionsOf = (table: string) => [...partitions.of(table).values()];
  return { ...service, database, tables, partitionsOf };
}

/** The parameters of all operations. */
interface Parameters {
  readonly DatabaseName?: string;
  readonly Name?: string;
  readonly TableName?: string;
  readonly MaxResults?: number;
  readonly PartitionsToGet?: readonly Pick<Partition, 'Values'>[];
  readonly PartitionInputList?: readonly Partition[];
  readonly Entries?: readonly Update[];
}

interface Update {
  readonly PartitionValueList: readonly string[];
  readonly PartitionInput: Partition;
}

function answerTo(
  { database, tables, partitions, now = Date.now }: Catalog,
  operation: string,
  parameters: Parameters,
): Json {
  const {
    DatabaseName,
    Name = '',
    TableName: name = Name,
    MaxResults,
    PartitionsToGet = [],
    PartitionInputList = [],
    Entries = [],
  } = parameters;
  if (DatabaseName !== database) throw notFound(`Database ${DatabaseName} not found.`);
  const table = tables.get(name);
  if (!table) throw notFound(`Table ${name} not found.`);
  const created = { DatabaseName, TableName: name, CreationTime: Math.floor(now() / 1000) };
  if (operation === 'GetTable') return { Table: { ...table, DatabaseName, VersionId: '0' } };
  if (operation === 'GetPartitions') {
    const found = [...partitions.of(name).values()].slice(0, MaxResults);
    return { Partitions: found.map((partition) => ({ ...partition, ...created })) };
  }
  if (operation === 'BatchGetPartition') {
    checkCount(PartitionsToGet, MAX_READ);
    const found = PartitionsToGet.map(({ Values }) => partitions.of(name).get(keyOf(table, Values)));
    const Partitions = found.flatMap((partition) => (partition ? [{ ...partition, ...created }] : []));
    return { Partitions, UnprocessedKeys: [] };
  }
  if (operation === 'BatchCreatePartition') return createPartitions(table, partitions, PartitionInputList);
  if (operation === 'BatchUpdatePartition') return updatePartitions(table, partitions, Entries);
  throw new JsonServiceError('InvalidInputException', `The local run does not support ${operation}.`);
}

function createPartitions(table: CatalogTable, partitions: Partitions, inputs: readonly Partition[]) {
  checkCount(inputs, MAX_WRITTEN);
  for (const input of inputs) checkPartition(table, input);
  const exists = ({ Values }: Partition) => partitions.of(table.Name).has(keyOf(table, Values));
  const Errors = inputs
    .filter(exists)
    .map(({ Values }) => ({ PartitionValues: Values, ...failed('AlreadyExistsException') }));
  partitions.put(
    table.Name,
    inputs.filter((input) => !exists(input)),
  );
  return { Errors };
}

function updatePartitions(table: CatalogTable, partitions: Partitions, entries: readonly Update[]) {
  checkCount(entries, MAX_WRITTEN);
  for (const { PartitionValueList, PartitionInput } of entries) {
    checkPartition(table, PartitionInput);
    if (keyOf(table, PartitionValueList) !== keyOf(table, PartitionInput.Values))
      throw new JsonServiceError('InvalidInputException', 'The local run does not rename partitions.');
  }
  const exists = ({ PartitionValueList }: Update) =>
    partitions.of(table.Name).has(keyOf(table, PartitionValueList));
  const Errors = entries
    .filter((entry) => !exists(entry))
    .map(({ PartitionValueList }) => ({ PartitionValueList, ...failed('EntityNotFoundException') }));
  partitions.put(
    table.Name,
    entries.filter(exists).map(({ PartitionInput }) => PartitionInput),
  );
  return { Errors };
}

function failed(ErrorCode: string) {
  return { ErrorDetail: { ErrorCode, ErrorMessage: ErrorCode } };
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
