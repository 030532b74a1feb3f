import { parquetMetadata, parquetSchema, type SchemaElement } from 'hyparquet';
import pMap, { pMapSkip } from 'p-map';
import type { ObjectEnd, ObjectStore } from '../aws/objects.ts';
import { DAYS_KEY, readShownDays, type ShownDays } from '../workflow/shown-days.ts';
import { TABLES_PREFIX } from '../workflow/table.ts';
import { damagedObject, TableProblem } from './report.ts';

/** The part of a table that one account fills. */
export interface AccountTable {
  readonly table: string;
  readonly account: string;
  readonly kind: 'report' | 'list';
}

/** An object of a table that cannot be read, or that something else wrote. */
export interface DamagedMonth {
  readonly key: string;
  /** YYYY-MM; undefined for a list. */
  readonly month: string | undefined;
}

/** The objects of an account's table. */
export interface TableEntries {
  readonly months: readonly MonthEntries[];
  readonly damaged: readonly DamagedMonth[];
}

/** The days and columns that an object of a table names at its end. */
export interface MonthEntries {
  /** YYYY-MM; undefined for a list, which has one object. */
  readonly month: string | undefined;
  readonly days: ShownDays;
  /** The types of its columns by name, as the Data Catalog names them, in the order of the columns. */
  readonly columns: ReadonlyMap<string, string>;
}

type TableObjects = Pick<ObjectStore, 'list' | 'readEnd'>;

/** Months that are read at the same time. */
const PARALLEL_MONTHS = 10;

/** Holds the footer of a month of 10,000 rows. The footer of 100 million rows takes a second call. */
const END_BYTES = 64 * 1024;

/** Ends a Parquet file: the footer's length in four bytes, and MAGIC, with which the file begins too. */
const TAIL_BYTES = 8;
const MAGIC = 'PAR1';

/**
 * Reads the entries of an account's table, only the end of each object, and without DuckDB.
 *
 * @param isWanted by YYYY-MM; a list's object is always read
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readEntries(
  store: TableObjects,
  { table, account }: Pick<AccountTable, 'table' | 'account'>,
  isWanted: (month: string) => boolean = () => true,
): Promise<TableEntries> {
  const keys = await store.list(`${TABLES_PREFIX}${table}/${account}.`);
  const wanted = keys.flatMap((key) => {
    const parts = /\.(?:(\d{4}-\d{2})\.)?parquet$/.exec(key);
    return parts && (parts[1] === undefined || isWanted(parts[1])) ? [{ key, month: parts[1] }] : [];
  });
  const unreadable: DamagedMonth[] = [];
  const read = async ({ key, month }: (typeof wanted)[number]) => {
    try {
      const footer = await readFooter(store, key);
      return footer ? { month, ...describeFooter(key, footer) } : pMapSkip;
    } catch (error) {
      if (!(error instanceof TableProblem)) throw error;
      unreadable.push({ key, month });
      return pMapSkip;
    }
  };
  const months = await pMap(wanted, read, { concurrency: PARALLEL_MONTHS });
  return { months, damaged: unreadable };
}

/** @throws TableProblem if one is damaged */
export function requireMonths({ months, damaged: [first] }: TableEntries): readonly MonthEntries[] {
  if (first) throw damagedObject(first.key);
  return months;
}

/** Joins the days of months. A list shows its only snapshot on each of `days`. */
export function shownOn(days: readonly string[], months: readonly MonthEntries[]): ShownDays {
  const list = months.find(({ month }) => month === undefined);
  const shown: ShownDays = Object.assign({}, ...months.map((month) => month.days));
  const [snapshot] = Object.values(shown);
  return list && snapshot ? Object.fromEntries(days.map((day) => [day, snapshot])) : shown;
}

/** @returns undefined if the object does not exist */
async function readFooter(
  store: Pick<ObjectStore, 'readEnd'>,
  key: string,
  length = END_BYTES,
): Promise<ObjectEnd | undefined> {
  const end = await store.readEnd(key, length);
  if (!end) return undefined;
  const { bytes, size } = end;
  if (size < MAGIC.length + TAIL_BYTES || bytes.toString('latin1', bytes.length - MAGIC.length) !== MAGIC)
    throw damagedObject(key);
  const needed = bytes.readUInt32LE(bytes.length - TAIL_BYTES) + TAIL_BYTES;
  if (needed > size - MAGIC.length) throw damagedObject(key);
  return needed <= bytes.length ? end : readFooter(store, key, needed);
}

function describeFooter(key: string, { bytes }: ObjectEnd): Pick<MonthEntries, 'days' | 'columns'> {
  const metadata = parseFooter(key, bytes);
  const text = metadata.key_value_metadata?.find((entry) => entry.key === DAYS_KEY)?.value;
  const days = text === undefined ? undefined : readShownDays(text);
  if (!days) throw damagedObject(key);
  const columns = parquetSchema(metadata).children.map(
    ({ element }) => [element.name, typeOf(element)] as const,
  );
  return { days, columns: new Map(columns) };
}

/** Types by Parquet's name of what a value means. */
const MEANT: Readonly<Record<string, string>> = { UTF8: 'string', STRING: 'string', DATE: 'date' };

/** Types by Parquet's name of how a value is stored. */
const STORED: Readonly<Record<string, string>> = { INT64: 'bigint', DOUBLE: 'double', BOOLEAN: 'boolean' };

function typeOf({ type, converted_type, logical_type, precision, scale = 0 }: SchemaElement): string {
  const meant: string = logical_type?.type ?? converted_type ?? '';
  if (meant === 'DECIMAL') return `decimal(${precision},${scale})`;
  if (meant.startsWith('TIMESTAMP')) return 'timestamp';
  return MEANT[meant] ?? STORED[type ?? ''] ?? 'another type';
}

function parseFooter(key: string, bytes: Buffer) {
  try {
    return parquetMetadata(bytes);
  } catch (error) {
    throw damagedObject(key, error as Error);
  }
}
