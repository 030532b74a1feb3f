import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { covers } from '../../../functions/days/judge.ts';
import type { StoredDelivery } from '../../../functions/days/records.ts';
import type { Row } from '../../../functions/tables/database.ts';
import { type AccountTable, readEntries } from '../../../functions/tables/month-entries.ts';
import {
  type DateRange,
  daysOf,
  describeDays,
  groupDays,
} from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { compareReports, type ReportId, type ShownDays } from '../../../functions/workflow/shown-days.ts';
import { ACCEPTED, LEDGER, TABLES_PREFIX, tableOf } from '../../../functions/workflow/table.ts';
import { newest } from '../../stack/catalog/ledger.ts';
import type { Bucket } from '../place/bucket.ts';
import type { FoundExport } from './exports.ts';
import { openLedger } from './ledger-days.ts';

type TableObjects = Pick<Bucket, 'list' | 'readEnd' | 'getFile'>;

/**
 * The request of a delivery that `rebuild` may write: the configured one, or an earlier form of it. A name is one
 * request, so each delivery under it is one of both. Undefined if that form had no table.
 */
export function requestToWrite(
  { request, hash, table }: FoundExport,
  { request_hash, manifest }: StoredDelivery,
): ExportRequest | undefined {
  if (request_hash === hash) return request;
  const earlier = manifest.export_request;
  return earlier.kind === table?.kind && tableOf(earlier) === table?.table ? earlier : undefined;
}

/** Days in a row whose last shown report has no file any more: it was removed, or another run replaced it. */
export interface DaysWithoutFile extends DateRange {
  readonly account: string;
  /** The table shows that report. False also if its month cannot be read. */
  readonly in_table: boolean;
}

/** What the ledger knows of an export's days, and no file. */
export interface LedgerKnowledge {
  /** Days that cannot be written again as they are, or as they were last. */
  readonly without_file: readonly DaysWithoutFile[];
  /** Of days that the table lost with their file: the newest report that counts. */
  readonly lost: ReadonlyMap<string, ReportId>;
  /** When somebody accepted that a report has no rows of a day; undefined if nobody did. */
  readonly acceptedAt: (day: string, report: ReportId) => string | undefined;
}

/**
 * Reads what only the ledger knows, before anybody removes an object of the table. It also has what a table
 * that was removed showed.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function readLedgerKnowledge(
  found: FoundExport,
  bucket: TableObjects,
  range: DateRange,
): Promise<LedgerKnowledge> {
  const { table, request } = found;
  if (!table) return { without_file: [], lost: new Map(), acceptedAt: () => undefined };
  const { shown, reports, acceptedAt } = await readReportsThatCount(found, bucket, table);
  if (table.kind !== 'report') return { without_file: [], lost: new Map(), acceptedAt };
  const all = [...reports].filter(([day, report]) => covers(range, day) && !hasFile(found, day, report));
  const isShown = ([day, { report_id, created_at }]: readonly [string, ReportId]) =>
    shown[day]?.report_id === report_id && shown[day].created_at === created_at;
  const byPlace = Map.groupBy(all, isShown);
  const without_file = [...byPlace].flatMap(([in_table, some]) =>
    groupDays(some.map(([day]) => day).sort()).map((days) => ({
      account: request.account,
      ...days,
      in_table,
    })),
  );
  return { without_file, lost: new Map(byPlace.get(false)), acceptedAt };
}

/**
 * Says what would be lost if a damaged object of a table, or of the ledger, was removed.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function describeLoss(found: FoundExport, bucket: TableObjects, key: string): Promise<string> {
  if (key.startsWith(`${TABLES_PREFIX}${LEDGER}/`))
    return 'No day would be lost. Corrections, accepts, closes and final days would be lost.';
  const { table, records } = found;
  if (table?.kind !== 'report') {
    const [newest] = records.deliveries
      .filter((delivery) => requestToWrite(found, delivery))
      .toSorted((one, other) => compareReports(other, one));
    return describeLostDays(newest && (newest.lost || newest.removed) ? daysOf(newest) : []);
  }
  const { reports } = await readReportsThatCount(found, bucket, table);
  const month = /\.(\d{4}-\d{2})\.parquet$/.exec(key)?.[1] ?? '';
  const ofMonth = [...reports].filter(([day]) => day.startsWith(month));
  if (ofMonth.length === 0)
    return 'The ledger has no rows of this month, so nothing tells which days would be lost.';
  return describeLostDays(
    ofMonth.filter(([day, report]) => !hasFile(found, day, report)).map(([day]) => day),
  );
}

function describeLostDays(days: readonly string[]): string {
  if (days.length === 0) return 'No day would be lost.';
  const ranges = groupDays(days.toSorted()).map(describeDays);
  return `These days would be lost, because no file gives what they show: ${ranges.join(', ')}.`;
}

/** The newest report of each day that counts, as the table tells, or else as the ledger does. */
async function readReportsThatCount(
  found: FoundExport,
  bucket: TableObjects,
  table: Pick<AccountTable, 'table' | 'account'>,
) {
  const { months } = await readEntries(bucket, table);
  const shown: ShownDays = Object.assign({}, ...months.map(({ days }) => days));
  const { reports, acceptedAt } = await readLastShown(found, bucket);
  for (const [day, { report_id, created_at, rows, accepted_at }] of Object.entries(shown)) {
    const known = reports.get(day);
    if (known && Date.parse(known.created_at) > Date.parse(created_at)) continue;
    if (rows > 0 || accepted_at !== undefined) reports.set(day, { report_id, created_at });
    else reports.delete(day);
  }
  return { shown, reports, acceptedAt };
}

function hasFile(found: FoundExport, day: string, report: ReportId): boolean {
  return found.records.deliveries.some((delivery) => {
    const isWritable = requestToWrite(found, delivery) && !delivery.lost && !delivery.removed;
    return isWritable && covers(delivery, day) && compareReports(delivery, report) === 0;
  });
}

/** The newest report of each day that counts, see TABLES.md, and the accepts. */
async function readLastShown(
  { request: { account, name } }: FoundExport,
  bucket: Pick<Bucket, 'list' | 'getFile'>,
) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'ledger-'));
  const { signal } = new AbortController();
  const toFile = async (key: string, path: string) => (await bucket.getFile(key, path, signal)) && path;
  const since = new Map([[`${account}.${name}`, '']]);
  using ledger = await openLedger({ list: bucket.list, toFile }, since, new Date(), folder.path);
  const read = (sql: string) => ledger.database.query(sql);
  const report = '"date", "report_id", epoch_ms("report_created_at") AS "created"';
  const counting = await read(
    `SELECT ${report} FROM (${newest('', ['"counts_at"'])}) WHERE "metric" = 'rows' AND "counts_at" IS NOT NULL`,
  );
  const accepts = await read(
    `SELECT ${report}, min(epoch_ms("copied_at")) AS "at" FROM ${LEDGER} WHERE "kind" = '${ACCEPTED}' GROUP BY ALL`,
  );
  const toTime = (epoch: unknown) => new Date(Number(epoch)).toISOString();
  const versionOf = ({ report_id, created }: Row): ReportId => {
    return { report_id: String(report_id), created_at: toTime(created) };
  };
  const keyOf = (day: string, { report_id, created_at }: ReportId) =>
    JSON.stringify([day, report_id, Date.parse(created_at)]);
  const times = new Map(accepts.map((row) => [keyOf(String(row.date), versionOf(row)), toTime(row.at)]));
  return {
    reports: new Map(counting.map((row) => [String(row.date), versionOf(row)])),
    acceptedAt: (day: string, version: ReportId) => times.get(keyOf(day, version)),
  };
}
