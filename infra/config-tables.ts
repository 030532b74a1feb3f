import * as z from 'zod';
import { requestHash } from '../functions/decisions/request-hash.ts';
import { InvalidInput } from '../functions/workflow/errors.ts';
import { type Column, type ColumnType, catalogName, PARTITION_KEYS } from '../functions/workflow/table.ts';
import { type ConfiguredEntry, type TableSource, tableSource } from './tables.ts';

/** The most digits that Parquet's readers and the Data Catalog allow. */
const MAX_DIGITS = 38;

const FORM = `must be "bigint", "double", "string", "decimal(digits,decimals)" with at most ${MAX_DIGITS} digits, or such a bigint or decimal as {"type": "bigint", "round": true}`;

const Type = z
  .string()
  .refine(isColumnType)
  .transform((type) => type as ColumnType);

const DeclaredColumn = z.union(
  [
    Type.transform((type): Omit<Column, 'name'> => ({ type })),
    z
      .strictObject({ type: Type, round: z.boolean().optional() })
      .refine(({ type, round }) => !round || /^(bigint|decimal)/.test(type))
      .transform(({ type, round }): Omit<Column, 'name'> => ({ type, ...(round && { round }) })),
  ],
  FORM,
);

/** Types of a report's columns, by name. */
export const DeclaredColumns = z.record(z.string(), DeclaredColumn);

/** The name of the date column in a report's file. */
export const DateColumn = z
  .string()
  .min(1, 'must not be empty')
  .max(100, 'must not have more than 100 characters');

/** The part of the config that tables depend on. */
const Context = z.object({
  exports: z.array(z.record(z.string(), z.unknown()).catch({})),
  tables: z.unknown().optional(),
  revision: z.string().catch(''),
});

/** An export without faults of its own request and fields. */
interface Readable {
  /** Its path in the config. */
  readonly path: string;
  readonly entry: ConfiguredEntry;
  /** Undefined if it has no table. */
  readonly source: TableSource | undefined;
}

/**
 * Faults of the exports' tables: columns that the report does not have, and tables that contradict each other. Looks at the raw
 * config, so that a fault elsewhere hides none of these.
 */
export function tableFaults(context: unknown): string[] {
  const { data } = Context.safeParse(context);
  if (data === undefined || data.tables === false) return [];
  const exports = data.exports.flatMap((entry, at) => read(entry, `exports[${at}]`));
  const pairs = exports.flatMap((one, at) => exports.slice(0, at).map((earlier) => [one, earlier] as const));
  return [
    ...exports.flatMap(ownFaults),
    ...pairs.flatMap(([one, earlier]) => contradictions(one, earlier, data.revision)),
  ];
}

/** Nothing if the entry is faulty: other checks name those faults. */
function read(raw: Readonly<Record<string, unknown>>, path: string): Readable[] {
  const columns = DeclaredColumns.optional().safeParse(raw.columns);
  const date_column = DateColumn.optional().safeParse(raw.date_column);
  if (!columns.success || !date_column.success) return [];
  const entry = { ...raw, columns: columns.data, date_column: date_column.data };
  try {
    return [{ path, entry, source: tableSource(entry) }];
  } catch (error) {
    if (error instanceof InvalidInput) return [];
    throw error;
  }
}

function ownFaults({ path, entry, source }: Readable): string[] {
  const { columns = {}, date_column } = entry;
  if (source?.request.kind !== 'report') {
    const given = { columns: entry.columns, date_column };
    return Object.entries(given)
      .filter(([, value]) => value !== undefined)
      .map(([field]) => `${path}.${field}: needs a report that has a table`);
  }
  const { metrics, dimensions = [] } = source.request;
  const named = [...dimensions, ...metrics].map((name) => name.toLowerCase());
  const inTable = new Set(source.columns.map(({ name }) => name));
  return [
    ...repeated(named).map((name) => `${path}.metrics: ${name} is also a dimension`),
    ...Object.keys(PARTITION_KEYS)
      .filter((key) => named.includes(key) && inTable.has(key))
      .map((key) => `${path}.table: has a partition named ${key}, like the column; set it to false`),
    ...declaredFaults(Object.keys(columns), [...named, 'advertiser_id'], source.date_column).map(
      (fault) => `${path}.columns.${fault}`,
    ),
  ];
}

function declaredFaults(
  declared: readonly string[],
  named: readonly string[],
  date_column: string,
): string[] {
  const twice = repeated(declared.map((name) => name.toLowerCase()));
  return declared.flatMap((spelled) => {
    const name = spelled.toLowerCase();
    if (name === date_column.toLowerCase()) return [`${spelled}: is the date, which needs no type`];
    if (!named.includes(name)) return [`${spelled}: is neither a metric nor a dimension of the report`];
    return twice.includes(name) ? [`${spelled}: is repeated in another case of letters`] : [];
  });
}

function contradictions(
  { path, source }: Readable,
  { path: other, source: earlier }: Readable,
  revision: string,
): string[] {
  if (!source || !earlier || catalogName(source.table) !== catalogName(earlier.table)) return [];
  const { table, request, kind, date_column } = source;
  const isSameAccount = request.account === earlier.request.account;
  if (isSameAccount && request.name === earlier.request.name) return [];
  if (table !== earlier.table)
    return [
      `${path}.table: ${table} would have the name of ${earlier.table} (${other}) in the catalog, ${catalogName(table)}`,
    ];
  if (kind !== earlier.kind) return [`${path}.table: ${table} is the table of a ${earlier.kind} (${other})`];
  const hash = (each: TableSource) => requestHash(each.request, { platform: '', revision });
  const types = new Map(earlier.columns.map((column) => [column.name, typeOf(column)]));
  return [
    ...(isSameAccount && hash(source) !== hash(earlier)
      ? [`${path}.table: another request of the account fills ${table} (${other})`]
      : []),
    ...(date_column === earlier.date_column
      ? []
      : [`${path}.date_column: the table ${table} has the date column ${earlier.date_column} (${other})`]),
    ...source.columns
      .filter((column) => (types.get(column.name) ?? typeOf(column)) !== typeOf(column))
      .map(
        (column) =>
          `${path}.columns.${column.name}: is ${typeOf(column)} here and ${types.get(column.name)} in ${other}, which has the same table, ${table}`,
      ),
  ];
}

function typeOf({ type, round }: Column): string {
  return round ? `rounded ${type}` : type;
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) < at))];
}

function isColumnType(text: string): boolean {
  const [, digits, decimals] = /^decimal\(([1-9]\d?),(\d{1,2})\)$/.exec(text) ?? [];
  if (digits === undefined) return ['bigint', 'double', 'string'].includes(text);
  return Number(digits) <= MAX_DIGITS && Number(decimals) <= Number(digits);
}
