import {
  type Column,
  type ColumnType,
  catalogName,
  PARTITION_KEYS,
  TABLES_PREFIX,
  type TableSchema,
} from './table.ts';

/**
 * A table of the Glue Data Catalog, as its API writes it (the TableInput of CreateTable, and the answer of GetTable). The stack
 * and the local Glue write it; CurateReport reads its schema.
 */
export interface CatalogTable {
  readonly Name: string;
  readonly TableType: 'EXTERNAL_TABLE';
  readonly Parameters: Readonly<Record<string, string>>;
  readonly PartitionKeys: readonly CatalogColumn[];
  readonly StorageDescriptor: StorageDescriptor;
}

interface CatalogColumn {
  readonly Name: string;
  readonly Type: string;
}

/** Of a table, and with another location of each of its partitions. */
export interface StorageDescriptor {
  readonly Columns: readonly CatalogColumn[];
  readonly Location: string;
  readonly InputFormat: string;
  readonly OutputFormat: string;
  readonly SerdeInfo: {
    readonly SerializationLibrary: string;
    readonly Parameters: Readonly<Record<string, string>>;
  };
}

/** The parts of GetTable's answer that hold the schema. The SDK's type allows each to be absent. */
interface StoredTable {
  readonly Parameters?: Readonly<Record<string, string>> | undefined;
  readonly StorageDescriptor?:
    | {
        readonly Columns?:
          | readonly { readonly Name?: string | undefined; readonly Type?: string | undefined }[]
          | undefined;
      }
    | undefined;
}

/** The hash of an account's request is the parameter `request.<account>`. */
const REQUEST = 'request.';

/** `round.<column>` is `true`. CloudFormation sets no parameters of a column, so this is one of the table. */
const ROUND = 'round.';

export function catalogTable(schema: TableSchema, bucket: string): CatalogTable {
  const { table, kind, columns, date_column, requests } = schema;
  const rounded = columns.filter(({ round }) => round).map(({ name }) => [`${ROUND}${name}`, 'true']);
  const hashes = Object.entries(requests).map(([account, hash]) => [`${REQUEST}${account}`, hash]);
  const { account, date } = PARTITION_KEYS;
  return {
    Name: catalogName(table),
    TableType: 'EXTERNAL_TABLE',
    Parameters: {
      EXTERNAL: 'TRUE',
      classification: 'parquet',
      table,
      kind,
      date_column,
      ...Object.fromEntries(rounded),
      ...Object.fromEntries(hashes),
    },
    PartitionKeys: [
      { Name: 'account', Type: account },
      ...(kind === 'report' ? [{ Name: 'date', Type: date }] : []),
    ],
    StorageDescriptor: storageDescriptor(columns, `s3://${bucket}/${TABLES_PREFIX}${table}/`),
  };
}

/** @param location the folder of a table or of a partition, as an s3:// URL that ends with a slash */
export function storageDescriptor(columns: readonly Column[], location: string): StorageDescriptor {
  return {
    Columns: columns.map(({ name, type }) => ({ Name: name, Type: type })),
    Location: location,
    InputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat',
    OutputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat',
    SerdeInfo: {
      SerializationLibrary: 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe',
      Parameters: { 'serialization.format': '1' },
    },
  };
}

/** The schema of a table that {@link catalogTable} described; undefined if something else wrote it. */
export function readSchema({
  Parameters = {},
  StorageDescriptor = {},
}: StoredTable): TableSchema | undefined {
  const { table, kind, date_column } = Parameters;
  const { Columns = [] } = StorageDescriptor;
  if (table === undefined || date_column === undefined || (kind !== 'report' && kind !== 'list'))
    return undefined;
  const parameters = Object.entries(Parameters);
  const requests = parameters.filter(([name]) => name.startsWith(REQUEST));
  return {
    table,
    kind,
    date_column,
    columns: Columns.map(({ Name = '', Type = '' }) => ({
      name: Name,
      type: Type as ColumnType,
      ...(Parameters[`${ROUND}${Name}`] === 'true' && { round: true }),
    })),
    requests: Object.fromEntries(requests.map(([name, hash]) => [name.slice(REQUEST.length), hash])),
  };
}
