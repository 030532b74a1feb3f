import type { Table } from '@aws-sdk/client-glue';
import { byName } from '../workflow/json.ts';
import {
  type Column,
  type ColumnType,
  catalogName,
  TABLES_PREFIX,
  type TableColumn,
  type TableSchema,
  tableColumns,
} from '../workflow/table.ts';

/**
 * A table of the Glue Data Catalog, as its API writes it (the TableInput of CreateTable, and the answer of
 * GetTable). The stack and the local Glue write it; CurateReport reads its schema. It has no partitions: a
 * reader lists the objects of its prefix.
 */
export type CatalogTable = ReturnType<typeof createCatalogTable>;

/** A table and its columns described for people. */
export interface TableWords {
  readonly description: string;
  /** By column. */
  readonly comments: Readonly<Record<string, string>>;
}

type StoredTable = Partial<Pick<Table, 'Parameters' | 'StorageDescriptor'>>;

/** The table's parameters: `request.acme` is a hash, `currency.acme` is `USD`, `from.spend` is a name. */
const REQUEST = 'request.';
const CURRENCY_PREFIX = 'currency.';
const FROM = 'from.';

export function catalogTable(schema: TableSchema, bucket: string, words: TableWords): CatalogTable {
  const { table, kind, columns, date_column, requests, currencies } = schema;
  const renamed = columns.filter(({ name, from }) => name !== from);
  return createCatalogTable(table, tableColumns(schema), bucket, words, {
    table,
    kind,
    date_column,
    ...withPrefix(REQUEST, Object.entries(requests)),
    ...withPrefix(CURRENCY_PREFIX, Object.entries(currencies)),
    ...Object.fromEntries(renamed.map(({ name, from }) => [`${FROM}${name}`, from])),
  });
}

/** For a table that CurateReport writes without a schema of its own, such as the ledger, too. */
export function createCatalogTable(
  table: string,
  columns: readonly TableColumn[],
  bucket: string,
  { description, comments }: TableWords,
  parameters: Readonly<Record<string, string>> = {},
) {
  return {
    Name: catalogName(table),
    Description: description,
    TableType: 'EXTERNAL_TABLE',
    Parameters: { EXTERNAL: 'TRUE', classification: 'parquet', ...parameters } as Record<string, string>,
    StorageDescriptor: {
      Columns: columns.map(({ name, type }) => {
        const Comment = comments[name];
        return { Name: name, Type: type, ...(Comment !== undefined && { Comment }) };
      }),
      Location: `s3://${bucket}/${TABLES_PREFIX}${table}/`,
      InputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat',
      OutputFormat: 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat',
      SerdeInfo: {
        SerializationLibrary: 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe',
        Parameters: { 'serialization.format': '1' },
      },
    },
  };
}

/** The schema of a table that {@link catalogTable} wrote; undefined if something else wrote it. */
export function readSchema(stored: StoredTable): TableSchema | undefined {
  const { Parameters = {}, StorageDescriptor = {} } = stored;
  const { table, kind, date_column } = Parameters;
  if (table === undefined || date_column === undefined || (kind !== 'report' && kind !== 'list'))
    return undefined;
  const ofFile = {
    table,
    kind,
    date_column,
    columns: [],
    requests: {},
    currencies: withoutPrefix(CURRENCY_PREFIX, Parameters),
  } as const;
  const reserved = new Set(tableColumns(ofFile).map(({ name }) => name));
  const from = withoutPrefix(FROM, Parameters);
  const columns = (StorageDescriptor.Columns ?? [])
    .filter(({ Name = '' }) => !reserved.has(Name))
    .map(
      ({ Name: name = '', Type }): Column => ({ name, type: Type as ColumnType, from: from[name] ?? name }),
    );
  return { ...ofFile, columns, requests: withoutPrefix(REQUEST, Parameters) };
}

function withPrefix(prefix: string, entries: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries(entries.map(([name, value]) => [`${prefix}${name}`, value]));
}

function withoutPrefix(prefix: string, parameters: Readonly<Record<string, string>>) {
  const prefixed = Object.entries(parameters).filter(([name]) => name.startsWith(prefix));
  return byName(prefixed.map(([name, value]) => [name.slice(prefix.length), value]));
}
