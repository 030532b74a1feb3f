import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import pMap, { pMapSkip } from 'p-map';
import { type Database, openDatabase, type Row } from '../../../functions/tables/database.ts';
import { isLedger } from '../../../functions/tables/ledger.ts';
import { duckType, parquet, readTableObject, selectOld, timestamp } from '../../../functions/tables/merge.ts';
import { literal } from '../../../functions/tables/sql.ts';
import { latestTime } from '../../../functions/workflow/possible.ts';
import { addDays, dateIn } from '../../../functions/workflow/request/dates.ts';
import { CLOSED, LEDGER, LEDGER_COLUMNS, TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import {
  curve,
  type Finality,
  RECONCILIATION,
  RESTATEMENTS,
  SINCE_CLOSE,
  shownDays,
} from '../../stack/catalog/ledger-sql.ts';
import type { FinalAfter } from '../../stack/config/exports.ts';
import type { ReadableBucket } from '../place/bucket.ts';

/** Changes since a close are looked for in the months of the last year and the one before. */
const KEEP_CLOSED_DAYS = 396;

/** Objects that are downloaded at the same time. */
const PARALLEL = 20;

/** The values of a metric at an age of its days: see the saved query `curve`. */
export interface CurvePoint {
  readonly metric: string;
  readonly age: number;
  readonly days: number;
  /** Null if there are too few days. */
  readonly share: number | null;
  /** Null also if nothing changed. */
  readonly caught: number | null;
}

/** A metric of the days that have a platform's total: see the saved query `reconciliation`. */
export interface ComparedMetric {
  readonly metric: string;
  readonly days: number;
  readonly platform_total: number;
  readonly difference: number;
}

/** The saved queries `days` and `restatements`, as one row for each day. */
const selectDays = (finality: Finality) => `WITH changes AS (${RESTATEMENTS}),
  first AS (
    SELECT table_name, account, date, metric, first(before ORDER BY changed_at, report_id) AS first
    FROM changes GROUP BY ALL
  ),
  corrected AS (
    SELECT table_name, account, date, count(DISTINCT (report_id, changed_at)) AS corrections
    FROM changes GROUP BY ALL
  )
SELECT table_name, account, strftime(date, '%Y-%m-%d') AS date, finality,
  strftime(same_since, '%Y-%m-%d') AS same_since, coalesce(corrections, 0) AS corrections,
  json_group_object(metric, value::DOUBLE) AS "values",
  json_group_object(metric, first::DOUBLE) AS first
FROM (${shownDays(finality)})
LEFT JOIN first USING (table_name, account, date, metric)
LEFT JOIN corrected USING (table_name, account, date)
GROUP BY ALL`;

/** The saved query `since-close`, as one row for each closed month, also if it did not change. */
const CLOSES = `WITH changes AS (SELECT *, strftime(date, '%Y-%m') AS month FROM (${SINCE_CLOSE})),
  days AS (SELECT table_name, account, month, count(DISTINCT date) AS days FROM changes GROUP BY ALL),
  sums AS (SELECT table_name, account, month, metric, sum(change)::DOUBLE AS sum FROM changes GROUP BY ALL)
SELECT table_name, account, month, closed_on, coalesce(days, 0) AS days,
  to_json(map_from_entries(list((metric, sum)) FILTER (metric IS NOT NULL))) AS changes
FROM (
  SELECT table_name, account, strftime(date, '%Y-%m') AS month, strftime(max(copied_at), '%Y-%m-%d') AS closed_on
  FROM ${LEDGER} WHERE kind = '${CLOSED}' GROUP BY ALL
) LEFT JOIN days USING (table_name, account, month) LEFT JOIN sums USING (table_name, account, month)
GROUP BY ALL ORDER BY month`;

/**
 * Loads the ledger, whose objects are small, as the table `ledger` of a new database. Leaves out objects that
 * cannot be read, or tell what cannot be true.
 *
 * @param since the first day of each export, by `account.name`; others are left out
 * @param folder takes the objects, and must outlive the database
 * @param columns see openDatabase
 */
export async function openLedger(
  bucket: Pick<ReadableBucket, 'list' | 'toFile'>,
  since: ReadonlyMap<string, string>,
  now: Date,
  folder: string,
  columns?: number,
): Promise<OpenLedger> {
  const keys = await bucket.list(`${TABLES_PREFIX}${LEDGER}/`);
  const yearAgo = addDays(dateIn('UTC', now), -KEEP_CLOSED_DAYS).slice(0, 'YYYY-MM'.length);
  const all = new Set(keys);
  const find = async (key: string) => {
    const [, part = '', id = '', month = ''] =
      /^(.*\/([\w-]+\.[\w-]+)\.(\d{4}-\d{2}))(?:\.closed)?\.parquet$/.exec(key) ?? [];
    const from = since.get(id)?.slice(0, 'YYYY-MM'.length);
    const isClosed = all.has(`${part}.closed.parquet`);
    if (from === undefined || (month < from && !(isClosed && month >= yearAgo))) return pMapSkip;
    const path = await bucket.toFile(key, join(folder, basename(key)));
    return path === undefined ? pMapSkip : { key, path, id, month };
  };
  const files = await pMap(keys, find, { concurrency: PARALLEL });
  const database = await openDatabase(folder, new AbortController().signal, columns);
  const typed = LEDGER_COLUMNS.map(({ name, type }) => `${name} ${duckType(type)}`);
  await database.query(`CREATE TABLE ${LEDGER} (${typed})`);
  const damaged: DamagedLedger[] = [];
  for (const { key, path, id, month } of files)
    if (!(await load(database, path, id, month, now))) damaged.push({ key, id });
  return { database, damaged, [Symbol.dispose]: () => database[Symbol.dispose]() };
}

/** An object of the ledger that is left out. */
interface DamagedLedger {
  readonly key: string;
  /** `account.name` of its export. */
  readonly id: string;
}

interface OpenLedger extends Disposable {
  readonly database: Database;
  readonly damaged: readonly DamagedLedger[];
}

/**
 * Loads an object of the ledger.
 *
 * @returns false if it is no ledger, has rows of another export or month, or times to come
 */
async function load(database: Database, path: string, id: string, month: string, now: Date) {
  const latest = timestamp(latestTime(now).toISOString());
  const isTrue = [
    `account || '.' || export = ${literal(id)}`,
    `strftime(date, '%Y-%m') = ${literal(month)}`,
    `report_created_at <= ${latest}`,
    `copied_at <= ${latest}`,
  ].join(' AND ');
  try {
    const object = await readTableObject(database, path);
    if (!isLedger(object.columns)) return false;
    const [wrong] = await database.query(
      `SELECT count(*) AS rows FROM ${parquet(path)} WHERE (${isTrue}) IS NOT TRUE`,
    );
    if (wrong?.rows !== '0') return false;
    await database.query(`INSERT INTO ${LEDGER} BY NAME ${selectOld(object, LEDGER_COLUMNS)}`);
    return true;
  } catch (error) {
    // DuckDB's own error: the file is damaged.
    if (error instanceof Error && error.name === 'Error') return false;
    throw error;
  }
}

/**
 * Reads the ledger, and no table.
 *
 * @param config says when days are final
 */
export async function readLedger(
  bucket: ReadableBucket,
  since: ReadonlyMap<string, string>,
  config: FinalAfter,
  now: Date,
) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'ledger-'));
  using opened = await openLedger(bucket, since, now, folder.path);
  const { database: ledger, damaged } = opened;
  const today = `DATE ${literal(dateIn('UTC', now))}`;
  const read = async (sql: string) =>
    Map.groupBy(await ledger.query(sql), ({ table_name, account }) => `${table_name}/${account}`);
  const days = await read(selectDays({ today, config }));
  const points = await read(
    `SELECT * REPLACE (age::INTEGER AS age, days::INTEGER AS days) FROM (${curve({ today, config })}) ORDER BY metric, age`,
  );
  const closes = await read(CLOSES);
  const compared = await read(
    `SELECT table_name, account, metric, count(*)::INTEGER AS days, sum(platform_total)::DOUBLE AS platform_total,
       sum(difference)::DOUBLE AS difference FROM (${RECONCILIATION}) GROUP BY ALL ORDER BY metric`,
  );
  return (table: string, account: string) => {
    const rowsOf = (rows: typeof days) => rows.get(`${table}/${account}`) ?? [];
    return {
      /** By date. */
      days: new Map(rowsOf(days).map((row) => [String(row.date), toDay(row)])),
      /** By metric and age. */
      curve: rowsOf(points) as unknown as readonly CurvePoint[],
      closed: rowsOf(closes).map(toClosed) as readonly ClosedMonth[],
      compared: rowsOf(compared) as unknown as readonly ComparedMetric[],
      /** The keys of its objects that cannot be read, or tell what cannot be true. */
      damaged: damaged
        .filter(({ id }) => id === `${account}.${table}`)
        .map(({ key }) => key) as readonly string[],
    };
  };
}

/** The sums of a day that a table shows, and its corrections, as the ledger tells them. */
export type LedgerDay = ReturnType<typeof toDay>;

function toDay({ values, first, corrections, finality, same_since }: Row) {
  return {
    /** By metric. Null if no row has a value. */
    values: JSON.parse(String(values)) as Readonly<Record<string, number | null>>,
    /** Before the first correction, by metric. Null if no newer report changed it, or there was no value. */
    first: JSON.parse(String(first)) as Readonly<Record<string, number | null>>,
    /** The number of newer reports that changed the day. */
    corrections: Number(corrections),
    /** Null for a list's snapshot. */
    finality: finality as 'final' | 'changing' | 'unverified' | null,
    /** The date of its last change in UTC: of its end, its first report, or one that said otherwise. */
    same_since: same_since as string | null,
  };
}

/** A month that was closed, and what changed in it since then. */
export type ClosedMonth = ReturnType<typeof toClosed>;

function toClosed({ month, closed_on, days, changes }: Row) {
  return {
    /** YYYY-MM */
    month: String(month),
    /** The date in UTC. */
    closed_on: String(closed_on),
    /** The number of days that show other values now. */
    days: Number(days),
    /** By metric, with `rows`: the differences added up. */
    changes: JSON.parse(String(changes ?? '{}')) as Readonly<Record<string, number>>,
  };
}
