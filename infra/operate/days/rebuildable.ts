import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { covers } from '../../../functions/days/judge.ts';
import { type EmptyReport, type LedgerKnowledge, requestToWrite } from '../../../functions/days/lacking.ts';
import type { Row } from '../../../functions/tables/database.ts';
import { type AccountTable, readEntries } from '../../../functions/tables/month-entries.ts';
import {
  type DateRange,
  daysOf,
  describeDays,
  groupDays,
} from '../../../functions/workflow/request/dates.ts';
import { compareReports, type ReportId, type ShownDays } from '../../../functions/workflow/shown-days.ts';
import { ACCEPTED, LEDGER, REPORT, TABLES_PREFIX } from '../../../functions/workflow/table.ts';
import { newest } from '../../stack/catalog/ledger-sql.ts';
import type { ReadableBucket } from '../place/bucket.ts';
import { openLedger } from './ledger-days.ts';
import type { RecordedExport } from './read-export.ts';

type TableObjects = Pick<ReadableBucket, 'list' | 'readEnd' | 'toFile'>;

/**
 * Reads what only the ledger knows, before anybody removes an object of the table. It also has what a table
 * that was removed showed.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readLedgerKnowledge(
  recordedExport: RecordedExport,
  bucket: TableObjects,
  range: DateRange,
): Promise<LedgerKnowledge> {
  const { table, request } = recordedExport;
  const nothing = { without_file: [], lost: new Map(), empty: [] };
  if (!table) return { ...nothing, acceptedAt: () => undefined, rowsOf: () => undefined };
  const { reports, shown, empty, acceptedAt, rowsOf } = await readReportsThatCount(
    recordedExport,
    bucket,
    table,
  );
  if (table.kind !== 'report') return { ...nothing, acceptedAt, rowsOf };
  const all = [...reports].filter(
    ([day, report]) => report.rows > 0 && covers(range, day) && !hasFile(recordedExport, day, report),
  );
  const isShown = ([day, report]: readonly [string, ReportId]) =>
    shown[day] !== undefined && compareReports(shown[day], report) === 0;
  const byPlace = Map.groupBy(all, isShown);
  const without_file = [...byPlace].flatMap(([in_table, some]) =>
    groupDays(some.map(([day]) => day).sort()).map((days) => ({
      account: request.account,
      ...days,
      in_table,
    })),
  );
  const needed = empty.flatMap(({ days, ...report }) => {
    const some = days.filter(
      ({ day }) => covers(range, day) && !hasFile(recordedExport, day, report.version),
    );
    return some.length > 0 ? [{ ...report, days: some }] : [];
  });
  return { without_file, lost: new Map(byPlace.get(false)), acceptedAt, rowsOf, empty: needed };
}

/**
 * Says what would be lost if a damaged object of a table, or of the ledger, was removed.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function describeLoss(
  recordedExport: RecordedExport,
  bucket: TableObjects,
  key: string,
): Promise<string> {
  if (key.startsWith(`${TABLES_PREFIX}${LEDGER}/`))
    return 'No day would be lost. Corrections, accepts, closes and final days would be lost.';
  const { table, records } = recordedExport;
  if (table?.kind !== 'report') {
    const [newest] = records.deliveries
      .filter((delivery) => requestToWrite(recordedExport, delivery))
      .toSorted((first, second) => compareReports(second, first));
    return describeLostDays(newest && (newest.lost || newest.removed) ? daysOf(newest) : []);
  }
  const { reports } = await readReportsThatCount(recordedExport, bucket, table);
  const month = /\.(\d{4}-\d{2})\.parquet$/.exec(key)?.[1] ?? '';
  const ofMonth = [...reports].filter(([day]) => day.startsWith(month));
  if (ofMonth.length === 0)
    return 'The ledger has no rows of this month, so nothing tells which days would be lost.';
  const lost = ofMonth.filter(([day, report]) => report.rows > 0 && !hasFile(recordedExport, day, report));
  return describeLostDays(lost.map(([day]) => day));
}

function describeLostDays(days: readonly string[]): string {
  if (days.length === 0) return 'No day would be lost.';
  const ranges = groupDays(days.toSorted()).map(describeDays);
  return `These days would be lost, because no file gives what they show: ${ranges.join(', ')}.`;
}

/**
 * What the ledger tells of reports. The newest one of a day that counts is the table's, where that is newer.
 */
async function readReportsThatCount(
  recordedExport: RecordedExport,
  bucket: TableObjects,
  table: Pick<AccountTable, 'table' | 'account'>,
) {
  const ledger = await readReports(recordedExport, bucket);
  const { reports } = ledger;
  const { months } = await readEntries(bucket, table);
  const shown: ShownDays = Object.assign({}, ...months.map(({ days }) => days));
  for (const [day, { report_id, created_at, rows, accepted_at }] of Object.entries(shown)) {
    const known = reports.get(day);
    if (known && Date.parse(known.created_at) > Date.parse(created_at)) continue;
    if (rows > 0 || accepted_at !== undefined) reports.set(day, { report_id, created_at, rows });
    else reports.delete(day);
  }
  return { ...ledger, shown };
}

function hasFile(recordedExport: RecordedExport, day: string, report: ReportId): boolean {
  return recordedExport.records.deliveries.some((delivery) => {
    const isWritable = requestToWrite(recordedExport, delivery) && !delivery.lost && !delivery.removed;
    return isWritable && covers(delivery, day) && compareReports(delivery, report) === 0;
  });
}

/** A list of the ledger's reports, each with its rows of a day. */
const ROWS = `SELECT "date", "report_id", epoch_ms("report_created_at") AS "created", max("value")::BIGINT AS "rows"
  FROM ${LEDGER} WHERE "kind" = '${REPORT}' AND "metric" = 'rows' GROUP BY ALL`;

const ACCEPTS = `SELECT "date", "report_id", epoch_ms("report_created_at") AS "created", min(epoch_ms("copied_at")) AS "at"
  FROM ${LEDGER} WHERE "kind" = '${ACCEPTED}' GROUP BY ALL`;

/** The report that each day shows, and the newest one. */
const SHOWN = newest('', ['"row_count"', '"counts_at"', '"newest_id"', '"newest_at"']);

const COUNTING = `SELECT "date", "report_id", epoch_ms("report_created_at") AS "created", "row_count"::BIGINT AS "rows"
  FROM (${SHOWN}) WHERE "metric" = 'rows' AND "counts_at" IS NOT NULL`;

/** The reports of {@link SHOWN} that have no rows. Their metrics are 0. */
const DAYS_WITHOUT_ROWS = `SELECT "date", "report_id", epoch_ms("report_created_at") AS "created", "request_hash",
    "start_date", "end_date", min(epoch_ms("copied_at")) AS "copied", "execution",
    json_group_array("metric") AS "metrics"
  FROM ${LEDGER} JOIN (
    SELECT "date", "report_id" AS "shown_id", "report_created_at" AS "shown_at", "newest_id", "newest_at"
    FROM (${SHOWN}) WHERE "metric" = 'rows'
  ) USING ("date")
  WHERE "kind" = '${REPORT}' AND "table_name" IS NOT NULL
    AND ("report_id", "report_created_at") IN (("shown_id", "shown_at"), ("newest_id", "newest_at"))
  GROUP BY ALL HAVING max("value") FILTER ("metric" = 'rows') = 0`;

/** The newest report of each day that counts, see TABLES.md, the accepts, and reports without rows. */
async function readReports(
  { request: { account, name } }: RecordedExport,
  bucket: Pick<ReadableBucket, 'list' | 'toFile'>,
) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'ledger-'));
  const since = new Map([[`${account}.${name}`, '']]);
  using ledger = await openLedger(bucket, since, new Date(), folder.path);
  const { database } = ledger;
  const counting = await database.query(COUNTING);
  const accepts = await database.query(ACCEPTS);
  const rows = await database.query(ROWS);
  const empty = await database.query(DAYS_WITHOUT_ROWS);
  const keyOf = (day: string, { report_id, created_at }: ReportId) =>
    JSON.stringify([day, report_id, Date.parse(created_at)]);
  const keyOfRow = (row: Row) => keyOf(String(row.date), versionOf(row));
  const times = new Map(accepts.map((row) => [keyOfRow(row), toTime(row.at)]));
  const counts = new Map(rows.map((row) => [keyOfRow(row), Number(row.rows)]));
  return {
    reports: new Map(
      counting.map((row) => [String(row.date), { ...versionOf(row), rows: Number(row.rows) }]),
    ),
    empty: describeEmpty(empty),
    acceptedAt: (day: string, version: ReportId) => times.get(keyOf(day, version)),
    rowsOf: (day: string, version: ReportId) => counts.get(keyOf(day, version)),
  };
}

function versionOf({ report_id, created }: Row): ReportId {
  return { report_id: String(report_id), created_at: toTime(created) };
}

function toTime(epoch: unknown): string {
  return new Date(Number(epoch)).toISOString();
}

/** Groups the rows of {@link EMPTY} by their report. */
function describeEmpty(rows: readonly Row[]): EmptyReport[] {
  const byReport = Map.groupBy(rows, ({ date: _, metrics: __, ...report }) => JSON.stringify(report));
  return [...byReport.values()].flatMap((some) => {
    const [first] = some;
    if (!first) return [];
    const version = { ...versionOf(first), request_hash: String(first.request_hash) };
    const window = { start_date: String(first.start_date), end_date: String(first.end_date) };
    const days = some.map(({ date, metrics }) => {
      const names = (JSON.parse(String(metrics)) as readonly string[]).filter((name) => name !== 'rows');
      return { day: String(date), rows: 0, sums: Object.fromEntries(names.map((name) => [name, '0'])) };
    });
    return [{ version, window, copied_at: toTime(first.copied), execution: String(first.execution), days }];
  });
}
