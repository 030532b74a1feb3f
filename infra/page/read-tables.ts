import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pMap, { pMapSkip } from 'p-map';
import { literal, openDatabase, type Row } from '../../functions/tables/database.ts';
import { damaged } from '../../functions/tables/report.ts';
import { addDays, daysBetween } from '../../functions/workflow/request/dates.ts';
import { DAYS, readShownDays, type ShownDays } from '../../functions/workflow/shown-days.ts';
import { LEDGER } from '../../functions/workflow/table.ts';
import { RESTATEMENTS, type SumOverTime, startOf, sumOf } from '../config/queries.ts';
import type { ReadableBucket } from '../knowledge/bucket.ts';
import type { AccountTable } from '../knowledge/months.ts';
import { escapeGlob, findDamaged } from '../knowledge/views.ts';
import type { PagePoint, PageSums, Restatement } from './contents.ts';

/** Restatements that the page shows of an account's table. */
const MAX_RESTATEMENTS = 50;

/** Objects that are downloaded at the same time. */
const PARALLEL = 20;

/** Of a chart. With more days, a point is a week or a month. */
const MAX_POINTS = 100;

/** The facts of an account in a table and in the ledger. */
export interface TableFacts extends Changes {
  /** Undefined if the table has no object of the account, or a damaged one. */
  readonly shown?: ShownDays;
  /** Absent if the table has no rows, or no metric that adds up. */
  readonly sums?: PageSums | undefined;
  /** The reason why the account's part of the table or of the ledger is left out. */
  readonly problem?: string | undefined;
}

interface Changes {
  /** The number of newer reports that changed the table, by day. */
  readonly restated: Readonly<Record<string, number>>;
  /** The latest corrections. */
  readonly restatements: readonly Restatement[];
  readonly older_restatements: number;
}

export interface Tables extends AsyncDisposable {
  read(table: AccountTable, wanted: SumOverTime['metrics']): Promise<TableFacts>;
}

type Query = (sql: string) => Promise<readonly Row[]>;

/** An object of a table on this disk. */
interface TableFile {
  readonly key: string;
  readonly table: string;
  readonly account: string;
  readonly path: string;
}

/** Opens all tables in DuckDB, which reads each file in place or downloads it first. */
export async function openTables(bucket: ReadableBucket, keys: readonly string[]): Promise<Tables> {
  await using opening = new AsyncDisposableStack();
  const { path: folder } = opening.use(await mkdtempDisposable(join(tmpdir(), 'page-')));
  const files = await findFiles(bucket, keys, folder);
  const database = opening.use(await openDatabase(folder, new AbortController().signal));
  const query = (sql: string) => database.query(sql);
  const filesOf = (table: string, account: string) =>
    files.filter((file) => file.table === table && file.account === account);
  const ledgers = new Map<string, Read<Map<string, Changes>>>();
  for (const account of new Set(files.map(({ account }) => account)))
    ledgers.set(account, await readIntact(query, filesOf(LEDGER, account), readChanges));
  const opened = opening.move();
  return {
    async read({ table, account, kind }, wanted) {
      const own = await readIntact(query, filesOf(table, account), async (query, files) => {
        const shown = await readShown(query, files);
        return { shown, sums: kind === 'report' ? await readSums(query, files, wanted, shown) : undefined };
      });
      const ledger = ledgers.get(account);
      const changes = ledger?.read?.get(table) ?? NO_CHANGES;
      return { ...own.read, ...changes, problem: own.problem ?? ledger?.problem };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Neither if there is no file. */
interface Read<T> {
  readonly read?: T;
  /** One of the files is damaged. */
  readonly problem?: string;
}

/** Reads the files of an account. */
async function readIntact<T>(
  query: Query,
  files: readonly TableFile[],
  read: (query: Query, files: readonly TableFile[]) => Promise<T>,
): Promise<Read<T>> {
  if (files.length === 0) return {};
  try {
    return { read: await read(query, files) };
  } catch (error) {
    const paths = files.map(({ path }) => path);
    const found = await findDamaged(query, paths, error as Error);
    const file = files.find(
      ({ path }) => path === found || damaged(path).message === (error as Error).message,
    );
    if (!file) throw error;
    return { problem: damaged(file.key).message };
  }
}

/** The objects whose keys are those of a table. Any other key could lead out of the folder. */
async function findFiles(
  bucket: ReadableBucket,
  keys: readonly string[],
  folder: string,
): Promise<TableFile[]> {
  const find = async (key: string) => {
    const [, table, account] = /^tables\/([\w-]+)\/([\w-]+)(?:\.[\w-]+)*\.parquet$/.exec(key) ?? [];
    if (table === undefined || account === undefined) return pMapSkip;
    const path = await bucket.toFile(key, join(folder, key.replaceAll('/', '~')));
    return path === undefined ? pMapSkip : { key, table, account, path };
  };
  return pMap(keys, find, { concurrency: PARALLEL });
}

/** As a list of SQL. An object that was written before a column was added has NULL there. */
function readParquet(files: readonly TableFile[]): string {
  return `read_parquet(${listOf(files)}, union_by_name = true)`;
}

function listOf(files: readonly TableFile[]): string {
  return `[${files.map(({ path }) => literal(escapeGlob(path)))}]`;
}

/** The days that the objects list. */
async function readShown(query: Query, files: readonly TableFile[]): Promise<ShownDays> {
  const rows = await query(
    `SELECT file_name, decode(value) AS value FROM parquet_kv_metadata(${listOf(files)}) WHERE decode(key) = ${literal(DAYS)}`,
  );
  const days = new Map(rows.map(({ file_name, value }) => [file_name, readShownDays(String(value))]));
  const foreign = files.find(({ path }) => !days.get(path));
  if (foreign) throw damaged(foreign.path);
  return Object.assign({}, ...days.values());
}

/** @returns undefined if no column that is wanted has a value */
async function readSums(
  query: Query,
  files: readonly TableFile[],
  wanted: SumOverTime['metrics'],
  shown: ShownDays,
): Promise<PageSums | undefined> {
  const described = await query(`DESCRIBE FROM ${readParquet(files)}`);
  const columns = new Set(described.map(({ column_name }) => column_name));
  const metrics = wanted.filter(({ name }) => columns.has(name));
  const time = divide(Object.keys(shown).sort());
  if (metrics.length === 0) return undefined;
  const sums = metrics.map((metric, at) => `CAST(${sumOf(metric)} AS VARCHAR) AS m${at}`);
  const rows = await query(
    `SELECT CAST(${startOf(literal(time.unit))} AS VARCHAR) AS start, ${sums} FROM ${readParquet(files)}
     GROUP BY ROLLUP (${startOf(literal(time.unit))})`,
  );
  const byStart = new Map(rows.map((row) => [row.start, row]));
  const found = metrics.flatMap(({ name }, at) => {
    const { [`m${at}`]: total = null } = byStart.get(null) ?? {};
    if (total === null) return [];
    const values = time.points.map(({ start, known }) => {
      const { [`m${at}`]: value = known > 0 ? '0' : null } = byStart.get(start) ?? {};
      return value === null ? null : String(value);
    });
    return [{ name, values, total: String(total) }];
  });
  return found.length > 0 ? { ...time, metrics: found } : undefined;
}

/** @param days ascending */
function divide(days: readonly string[]): Pick<PageSums, 'unit' | 'points'> {
  const [first = '', last = ''] = [days[0], days.at(-1)];
  const span = days.length === 0 ? 0 : daysBetween(first, last) + 1;
  const unit = span <= MAX_POINTS ? 'day' : span <= 7 * MAX_POINTS ? 'week' : 'month';
  const known = Map.groupBy(days, (day) => toStart(day, unit));
  const points: PagePoint[] = [];
  for (let start = toStart(first, unit), next = start; start <= last && span > 0; start = next) {
    next = toStart(addDays(start, UNIT_DAYS[unit]), unit);
    points.push({ start, known: known.get(start)?.length ?? 0, all: daysBetween(start, next) });
  }
  return { unit, points };
}

/** From the first day of a unit, these lead into the next one. */
const UNIT_DAYS = { day: 1, week: 7, month: 31 } as const;

/** See {@link startOf}. */
function toStart(date: string, unit: PageSums['unit']): string {
  if (unit === 'month') return `${date.slice(0, 'YYYY-MM'.length)}-01`;
  return unit === 'day' ? date : addDays(date, -((new Date(date).getUTCDay() + 6) % 7));
}

const NO_CHANGES: Changes = { restated: {}, restatements: [], older_restatements: 0 };

/** The changes by newer reports, by table. */
async function readChanges(query: Query, ledger: readonly TableFile[]): Promise<Map<string, Changes>> {
  await query(
    `CREATE OR REPLACE TABLE changes AS WITH "${LEDGER}" AS (FROM ${readParquet(ledger)}) ${RESTATEMENTS}`,
  );
  const days = await query(
    `SELECT table_name, CAST(date AS VARCHAR) AS date, CAST(count(DISTINCT (report_id, changed_at)) AS INTEGER) AS times
     FROM changes GROUP BY ALL`,
  );
  const corrections = await query(
    `SELECT table_name, CAST(date AS VARCHAR) AS date, metric, CAST(max(changed_at) AS VARCHAR) AS last_at,
       first(before ORDER BY changed_at, report_id) AS first, last(after ORDER BY changed_at, report_id) AS now,
       CAST(count(*) AS INTEGER) AS corrections
     FROM changes GROUP BY ALL ORDER BY last_at DESC, date DESC, metric`,
  );
  const byTable = Map.groupBy(corrections, ({ table_name }) => String(table_name));
  const counts = Map.groupBy(days, ({ table_name }) => table_name);
  return new Map(
    [...byTable].map(([table, all]) => {
      const own = counts.get(table) ?? [];
      const restatements = all.slice(0, MAX_RESTATEMENTS).map(toRestatement);
      const restated = Object.fromEntries(own.map(({ date, times }) => [String(date), Number(times)]));
      return [table, { restated, restatements, older_restatements: all.length - restatements.length }];
    }),
  );
}

function toRestatement({ date, metric, first, now, corrections, last_at }: Row): Restatement {
  return {
    date: String(date),
    metric: String(metric),
    first: first === null ? undefined : String(first),
    now: now === null ? undefined : String(now),
    corrections: Number(corrections),
    at: new Date(`${String(last_at).replace(' ', 'T')}Z`).toISOString(),
  };
}
