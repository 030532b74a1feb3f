import { windowOf } from '../../../functions/workflow/keys.ts';
import { type DateRange, overlap } from '../../../functions/workflow/request/dates.ts';
import { type TableSchema, tableOf } from '../../../functions/workflow/table.ts';
import { CommandFailed, UsageError } from '../place/errors.ts';
import { configName } from '../place/load-config.ts';
import { findSchema } from '../place/table-schemas.ts';
import { type ExportPlace, findExports } from './find-exports.ts';
import type { RecordedExport } from './read-export.ts';

/** A table, and the exports of its name: one for each account. */
export interface TableToRebuild {
  readonly schema: TableSchema;
  readonly exports: readonly RecordedExport[];
  /** The keys of damaged manifests and failure reports of the range. */
  readonly damaged: readonly string[];
}

/**
 * @throws UsageError if the export has no table, or nothing was delivered in the range; CommandFailed if the
 *   catalog has no such table
 */
export async function findTableToRebuild(
  name: string,
  place: ExportPlace,
  bucket: Parameters<typeof findExports>[2],
  range: DateRange,
): Promise<TableToRebuild> {
  const exports = await findExports(name, place, bucket, new Date(), { all: true });
  const table = exports[0] && tableOf(exports[0].request);
  if (table === undefined) throw new UsageError([`the export ${name} has no table`]);
  const isIn = (window: DateRange | undefined) => window !== undefined && overlap(window, range);
  const damaged = exports.flatMap(({ records }) => records.damaged).filter((key) => isIn(windowOf(key)));
  const hasDelivery = exports.some(({ records }) => records.deliveries.some(isIn));
  if (!hasDelivery && damaged.length === 0)
    throw new UsageError([`no report or list of ${name} was delivered in this range`]);
  const schema = await findSchema(table, place.local ? exports : undefined);
  const deploy = `Add the export to ${configName()} and deploy the stack.`;
  if (!schema) throw new CommandFailed(`The catalog has no table ${table}.`, deploy);
  return { schema, exports, damaged };
}
