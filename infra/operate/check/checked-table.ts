import type { Database, Row } from '../../../functions/tables/database.ts';
import type { Sums } from '../../../functions/tables/report.ts';
import type { TableSchema } from '../../../functions/workflow/table.ts';
import type { RecordedExport } from '../days/read-export.ts';
import type { Folder, ReadableBucket } from '../place/bucket.ts';
import { UsageError } from '../place/errors.ts';
import { findSchema } from '../place/table-schemas.ts';

/** An export whose table is checked. */
export interface CheckedTable {
  readonly entry: RecordedExport;
  readonly schema: TableSchema;
  readonly bucket: ReadableBucket;
  /** With the ledger of this export. */
  readonly database: Database;
  readonly folder: string;
}

/**
 * The schema of the table that these exports of one name write.
 *
 * @throws UsageError if they have no table of days
 */
export async function requireSchema(
  name: string,
  exports: readonly RecordedExport[],
  { local }: Pick<Folder, 'local'>,
): Promise<TableSchema> {
  const [table] = exports.flatMap((entry) => (entry.table?.kind === 'report' ? [entry.table.table] : []));
  const schema = table === undefined ? undefined : await findSchema(table, local ? exports : undefined);
  if (!schema) throw new UsageError([`${name} is no report that has a table`]);
  return schema;
}

/** The column of the ledger has as many decimals. */
const ROUNDED = new Intl.NumberFormat('en', {
  maximumFractionDigits: 10,
  useGrouping: false,
  signDisplay: 'negative',
});

export function roundSum(value: unknown): string {
  return ROUNDED.format(String(value) as Intl.StringNumericLiteral);
}

/** The number of rows and the sums, rounded: CurateReport has rounded each value to its column. */
export function toRoundedSums({
  rows,
  sums = {},
}: {
  readonly rows?: unknown;
  readonly sums?: Row | undefined;
}): Sums {
  const all = Object.entries({ ...(rows !== undefined && { rows }), ...sums });
  return Object.fromEntries(all.map(([metric, value]) => [metric, value === null ? null : roundSum(value)]));
}
