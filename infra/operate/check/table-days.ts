import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pMap from 'p-map';
import type { DayState } from '../../../functions/days/judge.ts';
import { listWindows } from '../../../functions/days/records.ts';
import type { Row } from '../../../functions/tables/database.ts';
import { literal } from '../../../functions/tables/sql.ts';
import { windowOf } from '../../../functions/workflow/keys.ts';
import { earliest } from '../../../functions/workflow/request/dates.ts';
import { HISTORY } from '../../stack/catalog/ledger-sql.ts';
import { PARALLEL_EXPORTS } from '../days/find-exports.ts';
import { judgeExport } from '../days/judge-export.ts';
import { openLedger } from '../days/ledger-days.ts';
import type { RecordedExport } from '../days/read-export.ts';
import type { ReadableBucket } from '../place/bucket.ts';
import { parseAmount } from './exact-amounts.ts';

/** Sums by metric, see {@link parseAmount}. */
export type ExactSums = ReadonlyMap<string, bigint>;

/** A report that a day showed. */
export interface ShownVersion {
  readonly report_id: string;
  readonly report_created_at: string;
  /** Since when the day showed it, in milliseconds. */
  readonly shown_at: number;
  readonly sums: ExactSums;
}

export interface TableDay {
  readonly state: DayState;
  /** What the table shows; undefined if it does not show the day. */
  readonly shown: ExactSums | undefined;
  /** All reports that the day showed, the oldest first. The last one is shown now. */
  readonly versions: readonly ShownVersion[];
}

/** The days of an account that are looked at. */
export interface AccountDays {
  readonly account: string;
  /** The first day that was ever delivered or asked for; undefined if there is none. */
  readonly begins: string | undefined;
  readonly days: ReadonlyMap<string, TableDay>;
  /** The keys of objects that cannot be read, or tell what cannot be true. */
  readonly damaged: readonly string[];
}

/**
 * Reads what a table shows of the days that the exports are looked at, from the lists of days that its months
 * have, and what the days showed before, from the ledger. It reads no rows.
 *
 * @param exports one for each account, of one table
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readTableDays(
  exports: readonly RecordedExport[],
  bucket: ReadableBucket,
  now: Date,
): Promise<AccountDays[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'check-'));
  const idOf = ({ request: { account, name } }: RecordedExport) => `${account}.${name}`;
  const since = new Map(exports.map((entry) => [idOf(entry), entry.range.start_date]));
  using ledger = await openLedger(bucket, since, now, folder.path);
  const history = Map.groupBy(await ledger.database.query(selectHistory(exports)), ({ account }) => account);
  const read = async (entry: RecordedExport): Promise<AccountDays> => {
    const { account } = entry.request;
    const versions = readVersions(history.get(account) ?? []);
    const { days, damaged } = await judgeExport(bucket, entry);
    const ofDay = days.map(({ day, state, shown }) => {
      const sums = shown && toAmounts(Object.entries(shown.ledger.sums));
      return [day, { state, shown: sums, versions: versions.get(day) ?? [] }] as const;
    });
    const shownDays = days.flatMap(({ day, shown }) => (shown ? [day] : []));
    const damagedLedger = ledger.damaged.filter(({ id }) => id === idOf(entry)).map(({ key }) => key);
    return {
      account,
      begins: earliest([...shownDays, ...(await listStarts(entry, bucket))]),
      days: new Map(ofDay),
      damaged: [...entry.records.damaged, ...damaged, ...damagedLedger],
    };
  };
  return pMap(exports, read, { concurrency: PARALLEL_EXPORTS });
}

/** The first days of the windows that were delivered or failed, and of runs that did not finish. */
async function listStarts({ request, records }: RecordedExport, bucket: ReadableBucket): Promise<string[]> {
  const keys = await listWindows(bucket, request);
  return [
    ...keys.flatMap((key) => windowOf(key)?.start_date ?? []),
    ...records.runs.map((run) => run.request.start_date),
  ];
}

function selectHistory(exports: readonly RecordedExport[]): string {
  const tables = [...new Set(exports.flatMap(({ table }) => table?.table ?? []))];
  return `SELECT "account", strftime("date", '%Y-%m-%d') AS "date", "report_id",
    epoch_ms("report_created_at") AS "created", epoch_ms("shown_at") AS "shown", "metric", "value"
  FROM (
${HISTORY}
  )
  WHERE "table_name" IN (${tables.map(literal).join(', ')})`;
}

/** @param rows of an account @returns by date */
function readVersions(rows: readonly Row[]): Map<string, ShownVersion[]> {
  const byDate = Map.groupBy(rows, ({ date }) => String(date));
  return new Map(
    [...byDate].map(([date, ofDate]) => {
      const byReport = Map.groupBy(ofDate, ({ report_id, created }) => JSON.stringify([report_id, created]));
      const versions = [...byReport.values()].flatMap((ofReport) => {
        const [first] = ofReport;
        return first ? [toVersion(first, ofReport)] : [];
      });
      return [date, versions.toSorted((first, second) => first.shown_at - second.shown_at)];
    }),
  );
}

function toVersion({ report_id, created, shown }: Row, rows: readonly Row[]): ShownVersion {
  return {
    report_id: String(report_id),
    report_created_at: new Date(Number(created)).toISOString(),
    shown_at: Number(shown),
    sums: toAmounts(rows.map(({ metric, value }) => [String(metric), value])),
  };
}

/** No value counts as 0. */
function toAmounts(values: readonly (readonly [metric: string, value: unknown])[]): ExactSums {
  return new Map(values.map(([metric, value]) => [metric, parseAmount(String(value ?? 0)) ?? 0n]));
}
