import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StorageDescriptor } from '../../functions/workflow/catalog-table.ts';

/** A partition of the Glue Data Catalog. */
export interface Partition {
  /** In the order of the table's keys. */
  readonly Values: readonly string[];
  readonly StorageDescriptor: StorageDescriptor;
  readonly Parameters?: Readonly<Record<string, string>>;
}

/** The partitions of all tables. */
export interface Partitions {
  /** By their values, joined with /. */
  of(table: string): ReadonlyMap<string, Partition>;
  /** Creates or replaces partitions. */
  put(table: string, partitions: readonly Partition[]): void;
}

/** A line of JSON for each partition that was created or replaced. The last line of a partition counts. */
const FILE = '.catalog.jsonl';

/** Opens the partitions of all runs with this folder. A partition without objects is left out: somebody deleted them to start anew. */
export function openPartitions(directory: string): Partitions {
  const file = join(directory, FILE);
  const tables = new Map<string, Map<string, Partition>>();
  const set = (table: string, partition: Partition) => {
    const partitions = tables.get(table) ?? new Map();
    tables.set(table, partitions.set(partition.Values.join('/'), partition));
  };
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  for (const line of lines.filter((text) => text.endsWith('}'))) {
    const { table, partition }: { table: string; partition: Partition } = JSON.parse(line);
    if (existsSync(objectPath(directory, partition))) set(table, partition);
  }
  return {
    of: (table) => tables.get(table) ?? new Map(),
    put(table, partitions) {
      for (const partition of partitions) set(table, partition);
      // One small append, which does not mix with that of another run.
      appendFileSync(
        file,
        partitions.map((partition) => `${JSON.stringify({ table, partition })}\n`).join(''),
      );
    },
  };
}

function objectPath(directory: string, { StorageDescriptor: { Location } }: Partition): string {
  return join(directory, Location.replace('s3://', ''), 'data.parquet');
}
