import { mkdtempDisposable, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pMap, { pMapSkip } from 'p-map';
import type { ObjectEnd, ObjectStore } from '../../functions/aws/objects.ts';
import { damaged, TableProblem } from '../../functions/tables/report.ts';
import type { ShownDays } from '../../functions/workflow/shown-days.ts';
import { TABLES_PREFIX } from '../../functions/workflow/table.ts';

/** The metadata and columns of the object of a month, or of a list. */
export interface Month {
  /** YYYY-MM; empty for a list. */
  readonly month: string;
  readonly days: ShownDays;
  /** DuckDB's types by name, in the order of the columns. */
  readonly columns: ReadonlyMap<string, string>;
}

/** Months that are read at the same time. */
const PARALLEL = 10;

/** Holds the footer of a month of 10,000 rows. The footer of 100 million rows takes a second call. */
const END_BYTES = 64 * 1024;

/** Ends a Parquet file: the footer's length in four bytes, and MAGIC, with which the file begins too. */
const TAIL_BYTES = 8;
const MAGIC = 'PAR1';

/** The part of a table that one account fills. */
export interface AccountTable {
  readonly table: string;
  readonly account: string;
  readonly kind: 'report' | 'list';
}

/** An object of a table that cannot be read, or tells what cannot be true. */
interface DamagedMonth {
  readonly key: string;
  /** YYYY-MM; empty for a list. */
  readonly month: string;
}

/** The objects of an account's table. */
interface TableMonths {
  readonly months: readonly Month[];
  readonly damaged: readonly DamagedMonth[];
}

/** The days that a table shows. The days of a damaged month are absent. */
export interface ShownTable {
  readonly shown: ShownDays;
  readonly damaged: readonly DamagedMonth[];
}

/** Reads the reports that a table shows on these days. */
export type TableReader = (table: AccountTable, days: readonly string[]) => Promise<ShownTable>;

type TableObjects = Pick<ObjectStore, 'list' | 'readEnd'>;

/** @returns a reader whose promise rejects with AccessRefused or ServiceUnavailable */
export function tableReader(store: TableObjects): TableReader {
  return (table, days) => readShown(store, table, days);
}

async function readShown(
  store: TableObjects,
  table: AccountTable,
  days: readonly string[],
): Promise<ShownTable> {
  const wanted = new Set(table.kind === 'list' ? [''] : days.map((day) => day.slice(0, 'YYYY-MM'.length)));
  const { months, damaged } = await readTable(store, table, (month) => wanted.has(month));
  const shown: ShownDays = Object.assign({}, ...months.map((month) => month.days));
  // A list shows its only snapshot on each of the days.
  const [snapshot] = Object.values(shown);
  const isList = table.kind === 'list' && snapshot !== undefined;
  return { shown: isList ? Object.fromEntries(days.map((day) => [day, snapshot])) : shown, damaged };
}

/** @returns a reader that cannot do without a damaged month: it rejects like {@link readMonths} */
export function shownReader(store: TableObjects) {
  return async (table: AccountTable, days: readonly string[]): Promise<ShownDays> => {
    const { shown, damaged } = await readShown(store, table, days);
    refuseDamaged(damaged);
    return shown;
  };
}

/**
 * Reads the objects of an account's table, if none is damaged.
 *
 * @param isWanted by YYYY-MM
 * @throws TableProblem, AccessRefused, ServiceUnavailable
 */
export async function readMonths(
  store: TableObjects,
  table: AccountTable,
  isWanted: (month: string) => boolean,
): Promise<readonly Month[]> {
  const { months, damaged } = await readTable(store, table, isWanted);
  refuseDamaged(damaged);
  return months;
}

function refuseDamaged([first]: readonly DamagedMonth[]): void {
  if (first) throw damaged(first.key);
}

/**
 * Reads the objects of an account's table, only the end of each.
 *
 * @param isWanted by YYYY-MM
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readTable(
  store: TableObjects,
  { table, account }: AccountTable,
  isWanted: (month: string) => boolean,
): Promise<TableMonths> {
  const keys = await store.list(`${TABLES_PREFIX}${table}/${account}.`);
  const wanted = keys.flatMap((key) => {
    const [name, month = ''] = /\.(?:(\d{4}-\d{2})\.)?parquet$/.exec(key) ?? [];
    return name !== undefined && isWanted(month) ? [{ key, month }] : [];
  });
  if (wanted.length === 0) return { months: [], damaged: [] };
  await using folder = await mkdtempDisposable(join(tmpdir(), 'months-'));
  const unreadable: DamagedMonth[] = [];
  const download = async (each: (typeof wanted)[number]) => {
    const end = await readFooter(store, each.key).catch((error: Error) => {
      if (error instanceof TableProblem) return void unreadable.push(each);
      throw error;
    });
    if (!end) return pMapSkip;
    await writeEnd(fileOf(folder.path, each.month), end);
    return each;
  };
  const downloaded = await pMap(wanted, download, { concurrency: PARALLEL });
  const { months, damaged } = await describeMonths(folder.path, downloaded);
  return { months, damaged: [...unreadable, ...damaged] };
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
    throw damaged(key);
  const needed = bytes.readUInt32LE(bytes.length - TAIL_BYTES) + TAIL_BYTES;
  if (needed > size - MAGIC.length) throw damaged(key);
  return needed <= bytes.length ? end : readFooter(store, key, needed);
}

/** DuckDB reads no more than the footer, so the rest of the file may be a hole. */
async function writeEnd(path: string, { bytes, size }: ObjectEnd): Promise<void> {
  await using file = await open(path, 'w');
  await file.write(bytes, 0, bytes.length, size - bytes.length);
}

function fileOf(folder: string, month: string): string {
  return join(folder, `object-${month}.parquet`);
}

async function describeMonths(
  folder: string,
  objects: readonly { readonly key: string; readonly month: string }[],
): Promise<TableMonths> {
  // Loading DuckDB takes tenths of a second.
  const { openDatabase } = await import('../../functions/tables/database.ts');
  const { readObject } = await import('../../functions/tables/merge.ts');
  using database = await openDatabase(folder, new AbortController().signal);
  const months: Month[] = [];
  const damaged: DamagedMonth[] = [];
  for (const { key, month } of objects) {
    const { days, columns = new Map() } =
      (await readObject(database, fileOf(folder, month)).catch(() => undefined)) ?? {};
    // The object of another month would show its days here.
    const isOwn = days && Object.keys(days).every((day) => day.startsWith(month));
    if (isOwn) months.push({ month, days, columns });
    else damaged.push({ key, month });
  }
  return { months, damaged };
}
