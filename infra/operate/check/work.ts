import type { Database, Row } from '../../../functions/tables/database.ts';
import type { Sums } from '../../../functions/tables/report.ts';
import type { TableSchema } from '../../../functions/workflow/table.ts';
import type { RecordedExport } from '../days/read-export.ts';
import type { ReadableBucket } from '../place/bucket.ts';

/** An export whose table is checked. */
export interface CheckWork {
  readonly entry: RecordedExport;
  readonly schema: TableSchema;
  readonly bucket: ReadableBucket;
  /** With the ledger of this export. */
  readonly database: Database;
  readonly folder: string;
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
export function toSums({
  rows,
  sums = {},
}: {
  readonly rows?: unknown;
  readonly sums?: Row | undefined;
}): Sums {
  const all = Object.entries({ ...(rows !== undefined && { rows }), ...sums });
  return Object.fromEntries(all.map(([metric, value]) => [metric, value === null ? null : roundSum(value)]));
}
