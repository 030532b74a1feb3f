import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import pMap, { pMapSkip } from 'p-map';
import { type Database, literal, openDatabase, type Row } from '../../functions/tables/database.ts';
import { duckType, parquet } from '../../functions/tables/merge.ts';
import { damaged } from '../../functions/tables/report.ts';
import { addDays, dateIn } from '../../functions/workflow/request/dates.ts';
import { CLOSED, LEDGER, LEDGER_COLUMNS, TABLES_PREFIX } from '../../functions/workflow/table.ts';
import {
  curve,
  type Finality,
  latestToday,
  RECONCILIATION,
  RESTATEMENTS,
  SINCE_CLOSE,
  shownDays,
} from '../catalog/ledger.ts';
import type { FinalAfter } from '../config/exports.ts';
import type { ReadableBucket } from './bucket.ts';

/** Changes since a close are looked for in the months of the last year and the one before. */
const KEEP_CLOSED_DAYS = 396;

/** Objects that are downloaded at the same time. */
const PARALLEL = 20;

/** The sums of a day that a table shows, and its corrections, as the ledger tells them. */
export interface LedgerDay {
  /** By metric. Null if no row has a value. */
  readonly values: Readonly<Record<string, number | null>>;
  /** Before the first correction. By metric, if a newer report changed it and there was a value. */
  readonly first: Readonly<Record<string, number>>;
  /** The number of newer reports that changed the day. */
  readonly corrections: number;
  /** Undefined of a list's snapshot. */
  readonly finality?: 'final' | 'changing' | 'unverified' | undefined;
  /** The date of the first report after the day that said what the day shows. */
  readonly same_since?: string | undefined;
}

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

/** A month that was closed, and what changed in it since then. */
export interface ClosedMonth {
  /** YYYY-MM */
  readonly month: string;
  /** The date in UTC. */
  readonly closed_on: string;
  /** That show other values now. */
  readonly days: number;
  /** By metric, with `rows`: the differences added up. */
  readonly changes: Readonly<Record<string, number>>;
}

/** A metric of the days that have a platform's total: see the saved query `reconciliation`. */
export interface ComparedMetric {
  readonly metric: string;
  readonly days: number;
  readonly platform_total: number;
  readonly difference: number;
}

/** What the ledger says about an account's part of a table. */
export interface AccountLedger {
  /** By date. */
  readonly days: ReadonlyMap<string, LedgerDay>;
  /** By metric and age. */
  readonly curve: readonly CurvePoint[];
  readonly closed: readonly ClosedMonth[];
  readonly compared: readonly ComparedMetric[];
}

export type LedgerReader = (table: string, account: string) => AccountLedger;

const NOTHING: LedgerReader = () => ({ days: new Map(), curve: [], closed: [], compared: [] });

/** The saved queries `days` and `restatements`, as one row for each metric of a day. */
const selectFacts = (finality: Finality) => `WITH changes AS (${RESTATEMENTS}),
  first AS (
    SELECT table_name, account, date, metric, first(before ORDER BY changed_at, report_id) AS first
    FROM changes GROUP BY ALL
  ),
  corrected AS (
    SELECT table_name, account, date, count(DISTINCT (report_id, changed_at)) AS corrections
    FROM changes GROUP BY ALL
  )
SELECT table_name, account, CAST(date AS VARCHAR) AS date, metric, CAST(value AS DOUBLE) AS value,
  CAST(first AS DOUBLE) AS first, CAST(corrections AS INTEGER) AS corrections, finality,
  strftime(same_since, '%Y-%m-%d') AS same_since
FROM (${shownDays(finality)})
LEFT JOIN first USING (table_name, account, date, metric)
LEFT JOIN corrected USING (table_name, account, date)`;

/**
 * Loads the ledger, whose objects are small, as the table `ledger` of a new database.
 *
 * @param since the first day of each export, by `account.name`; others are left out
 * @param folder takes the objects, and must outlive the database
 * @param columns see openDatabase
 * @throws TableProblem if an object is damaged
 */
export async function openLedger(
  bucket: Pick<ReadableBucket, 'list' | 'toFile'>,
  since: ReadonlyMap<string, string>,
  now: Date,
  folder: string,
  columns?: number,
): Promise<Database> {
  const keys = await bucket.list(`${TABLES_PREFIX}${LEDGER}/`);
  const yearAgo = addDays(dateIn('UTC', now), -KEEP_CLOSED_DAYS).slice(0, 'YYYY-MM'.length);
  const closed = new Set(keys.flatMap((key) => /^(.*)\.closed\.parquet$/.exec(key)?.[1] ?? []));
  const find = async (key: string) => {
    const [, rest = '', id = '', month = ''] =
      /^((?:.*\/)([\w-]+\.[\w-]+)\.(\d{4}-\d{2}))(?:\.closed)?\.parquet$/.exec(key) ?? [];
    const from = since.get(id)?.slice(0, 'YYYY-MM'.length);
    const isWanted = from !== undefined && (month >= from || (closed.has(rest) && month >= yearAgo));
    if (!isWanted) return pMapSkip;
    const path = await bucket.toFile(key, join(folder, basename(key)));
    return path === undefined ? pMapSkip : { key, path };
  };
  const files = await pMap(keys, find, { concurrency: PARALLEL });
  const database = await openDatabase(folder, new AbortController().signal, columns);
  const typed = LEDGER_COLUMNS.map(({ name, type }) => `${name} ${duckType(type)}`);
  await database.query(`CREATE TABLE ${LEDGER} (${typed})`);
  for (const { key, path } of files)
    await database.query(`INSERT INTO ${LEDGER} BY NAME FROM ${parquet(path)}`).catch((error: Error) => {
      database[Symbol.dispose]();
      throw damaged(key, error);
    });
  return database;
}

/**
 * Reads the ledger, and no table.
 *
 * @param config says when days are final
 * @throws like {@link openLedger}
 */
export async function readLedger(
  bucket: ReadableBucket,
  since: ReadonlyMap<string, string>,
  config: FinalAfter,
  now: Date,
): Promise<LedgerReader> {
  if (since.size === 0) return NOTHING;
  await using folder = await mkdtempDisposable(join(tmpdir(), 'ledger-'));
  using ledger = await openLedger(bucket, since, now, folder.path);
  const today = latestToday(`DATE ${literal(dateIn('UTC', now))}`);
  const read = async (sql: string) =>
    Map.groupBy(await ledger.query(sql), ({ table_name, account }) => `${table_name}/${account}`);
  const facts = await read(selectFacts({ today, config }));
  const points = await read(
    `SELECT * REPLACE (CAST(age AS INTEGER) AS age, CAST(days AS INTEGER) AS days) FROM (${curve({ today, config })}) ORDER BY metric, age`,
  );
  const closes = await read(
    `SELECT table_name, account, strftime(date, '%Y-%m') AS month, strftime(max(copied_at), '%Y-%m-%d') AS closed_on
     FROM ${LEDGER} WHERE outcome = '${CLOSED}' GROUP BY ALL ORDER BY month`,
  );
  const changes = await read(
    `SELECT *, strftime(date, '%Y-%m') AS in_month, CAST(change AS DOUBLE) AS by FROM (${SINCE_CLOSE})`,
  );
  const compared = await read(
    `SELECT table_name, account, metric, CAST(count(*) AS INTEGER) AS days, CAST(sum(platform_total) AS DOUBLE) AS platform_total,
       CAST(sum(difference) AS DOUBLE) AS difference FROM (${RECONCILIATION}) GROUP BY ALL ORDER BY metric`,
  );
  return (table, account) => {
    const id = `${table}/${account}`;
    const days = Map.groupBy(facts.get(id) ?? [], ({ date }) => String(date));
    return {
      days: new Map([...days].map(([date, rows]) => [date, toDay(rows)])),
      curve: (points.get(id) ?? []) as unknown as CurvePoint[],
      compared: (compared.get(id) ?? []) as unknown as ComparedMetric[],
      closed: (closes.get(id) ?? []).map((each) => toClosed(each, changes.get(id) ?? [])),
    };
  };
}

function toClosed({ month, closed_on }: Row, changes: readonly Row[]): ClosedMonth {
  const own = changes.filter(({ in_month }) => in_month === month);
  const metrics = Map.groupBy(own, ({ metric }) => String(metric));
  const sum = (rows: readonly Row[]) => rows.reduce((total, { by }) => total + Number(by), 0);
  return {
    month: String(month),
    closed_on: String(closed_on),
    days: new Set(own.map(({ date }) => date)).size,
    changes: Object.fromEntries([...metrics].map(([metric, rows]) => [metric, sum(rows)])),
  };
}

function toDay(rows: readonly Row[]): LedgerDay {
  const pick = (column: string, wanted: readonly Row[]) =>
    Object.fromEntries(wanted.map((row) => [String(row.metric), row[column] as number]));
  const [{ corrections, finality, same_since } = {}] = rows;
  const changed = rows.filter(({ first }) => first !== null);
  return {
    values: pick('value', rows),
    first: pick('first', changed),
    corrections: Number(corrections ?? 0),
    ...(finality && { finality: finality as LedgerDay['finality'] }),
    ...(same_since && { same_since: String(same_since) }),
  };
}
