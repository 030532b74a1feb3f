import type { Catalog, PartitionValues, RegisteredPartition } from '../aws/catalog.ts';
import { daysOf } from '../workflow/request/dates.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import { type TableSchema, tableOf } from '../workflow/table.ts';
import { isFinal, notWritten, reasonOf } from './problems.ts';

/** The table of an export, or the reason why nothing may be written. An export without a table has neither. */
export interface FoundTable {
  readonly schema?: TableSchema;
  /** Expected of a request that nobody configured. */
  readonly warning?: string;
  /** A person has to act: raises an alarm. */
  readonly problem?: string;
}

/**
 * Only the configured request may write: another one of the same name, such as one for fewer advertisers, would erase rows.
 * Types of the table that differ from those of its objects would break every reader.
 *
 * @param hash of the request, from `requestHash`
 * @throws ServiceUnavailable
 */
export async function findTable(
  request: ExportRequest,
  { catalog, hash }: { readonly catalog: Catalog | undefined; readonly hash: string },
): Promise<FoundTable> {
  const table = tableOf(request);
  if (catalog === undefined || table === undefined) return {};
  try {
    return await checkTable(request, { catalog, table, hash });
  } catch (error) {
    // A refusal by Glue or Lake Formation concerns the table only.
    if (isFinal(error)) return { problem: notWritten(table, reasonOf(error)) };
    throw error;
  }
}

async function checkTable(
  request: ExportRequest,
  { catalog, table, hash }: { catalog: Catalog; table: string; hash: string },
): Promise<FoundTable> {
  const schema = await catalog.getTable(table);
  if (!schema) return { warning: notWritten(table, 'the deployed config has no such table') };
  if (schema.requests[request.account] !== hash) {
    const reason = `the request differs from the one that account ${request.account} has in the deployed config`;
    return { warning: notWritten(table, reason) };
  }
  const drift = describeDrift(schema, await catalog.listPartitions(table));
  return drift === undefined ? { schema } : { problem: notWritten(table, drift) };
}

/** The values of the partitions that a window writes: one per day, or one per list. */
export function partitionsOf(
  { kind, account }: Pick<ExportRequest, 'kind' | 'account'>,
  window: Window,
): PartitionValues[] {
  return kind === 'list' ? [[account]] : daysOf(window).map((day) => [account, day]);
}

/** Columns that only one of both has are no drift: the config may add and remove columns. */
function describeDrift({ columns }: TableSchema, partitions: readonly RegisteredPartition[]) {
  const types = new Map(columns.map(({ name, type }) => [name, type as string]));
  for (const partition of partitions) {
    for (const { name, type } of partition.columns) {
      const now = types.get(name);
      if (now !== undefined && now !== type)
        return `column ${name} is ${now} now, but ${partition.values.join(', ')} was written as ${type}; give the export a new table name`;
    }
  }
  return undefined;
}
