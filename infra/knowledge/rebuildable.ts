import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { covers } from '../../functions/deliveries/judge.ts';
import { requestOf } from '../../functions/deliveries/manifest.ts';
import type { StoredDelivery } from '../../functions/deliveries/records.ts';
import { saysOtherRequest } from '../../functions/tables/report.ts';
import { type DateRange, daysOf, describeDays, groupDays } from '../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import type { ReportVersion, ShownDays } from '../../functions/workflow/shown-days.ts';
import { LEDGER, TABLES_PREFIX, tableOf } from '../../functions/workflow/table.ts';
import { newest } from '../catalog/ledger.ts';
import type { Bucket } from './bucket.ts';
import type { FoundExport } from './exports.ts';
import { openLedger } from './ledger-days.ts';
import { byNewest, deliveryOf } from './missing-days.ts';
import { type AccountTable, readTable } from './months.ts';

type TableObjects = Pick<Bucket, 'list' | 'readEnd' | 'getFile'>;

/**
 * The request of a delivery that `rebuild` may write: the configured one, or an earlier form of it. Undefined
 * if the window was exported from another platform, or if the config had another request when it was.
 */
export function requestToWrite(
  { request, hash, target, table }: FoundExport,
  { request_hash, manifest }: StoredDelivery,
): ExportRequest | undefined {
  if (request_hash === hash) return request;
  if (manifest.platform !== target.platform || manifest.warnings.some(saysOtherRequest)) return undefined;
  const earlier = requestOf(manifest);
  const isOfTable =
    earlier?.kind === table?.kind && earlier !== undefined && tableOf(earlier) === table?.table;
  return isOfTable ? earlier : undefined;
}

/** Days in a row whose last shown report has no file any more: it was removed, or another run replaced it. */
export interface DaysWithoutFile extends DateRange {
  readonly account: string;
  /** The table shows that report. False also if its month cannot be read. */
  readonly in_table: boolean;
}

/**
 * Finds the days that cannot be written again as they are, or as they were last, before anybody removes an
 * object of the table. The ledger tells them, which has what a table that was removed showed.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findDaysWithoutFile(
  found: FoundExport,
  bucket: TableObjects,
  range: DateRange,
): Promise<DaysWithoutFile[]> {
  const { table, request } = found;
  if (table?.kind !== 'report') return [];
  const { shown, reports } = await readShownReports(found, bucket, table);
  const lost = [...reports].filter(([day, report]) => covers(range, day) && !hasFile(found, day, report));
  const isShown = ([day, { report_id, created_at }]: readonly [string, LastShown]) =>
    shown[day]?.report_id === report_id && shown[day].created_at === created_at;
  const byPlace = Map.groupBy(lost, isShown);
  return [...byPlace].flatMap(([in_table, some]) =>
    groupDays(some.map(([day]) => day).sort()).map((days) => ({
      account: request.account,
      ...days,
      in_table,
    })),
  );
}

/**
 * Says what would be lost if a damaged object of a table, or of the ledger, was removed.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function describeLoss(found: FoundExport, bucket: TableObjects, key: string): Promise<string> {
  if (key.startsWith(`${TABLES_PREFIX}${LEDGER}/`))
    return 'No day would be lost. Corrections, and the dates since which the days are the same, would be lost.';
  const { table, deliveries } = found;
  if (table?.kind !== 'report') {
    const [newest] = deliveries.filter((each) => requestToWrite(found, each)).toSorted(byNewest);
    return describeLostDays(newest && (newest.lost || newest.removed) ? daysOf(newest) : []);
  }
  const { reports } = await readShownReports(found, bucket, table);
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

type LastShown = Pick<ReportVersion, 'report_id' | 'created_at'>;

/** The report that each day shows, if it has rows of it: as the table tells, or else as the ledger does. */
async function readShownReports(found: FoundExport, bucket: TableObjects, table: AccountTable) {
  const { months } = await readTable(bucket, table, () => true);
  const shown: ShownDays = Object.assign({}, ...months.map(({ days }) => days));
  const reports = new Map(await readLastShown(found, bucket));
  for (const [day, { report_id, created_at, rows }] of Object.entries(shown)) {
    const known = reports.get(day);
    if (known && Date.parse(known.created_at) > Date.parse(created_at)) continue;
    if (rows > 0) reports.set(day, { report_id, created_at });
    else reports.delete(day);
  }
  return { shown, reports };
}

function hasFile(found: FoundExport, day: string, report: LastShown): boolean {
  const isWritable = (each: StoredDelivery) => requestToWrite(found, each) && !each.lost && !each.removed;
  return deliveryOf(day, report, found.deliveries.filter(isWritable)) !== undefined;
}

/** The newest report that the ledger names as shown on each day, if it had rows. */
async function readLastShown(
  { request: { account, name } }: FoundExport,
  bucket: Pick<Bucket, 'list' | 'getFile'>,
): Promise<(readonly [string, LastShown])[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'ledger-'));
  const { signal } = new AbortController();
  const toFile = async (key: string, path: string) => (await bucket.getFile(key, path, signal)) && path;
  const since = new Map([[`${account}.${name}`, '']]);
  using ledger = await openLedger({ list: bucket.list, toFile }, since, new Date(), folder.path);
  const rows = await ledger.database.query(
    `SELECT "date", "report_id", epoch_ms("report_created_at") AS "at" FROM (${newest()})
     WHERE "metric" = 'rows' AND "value" > 0`,
  );
  return rows.map(({ date, report_id, at }) => [
    String(date),
    { report_id: String(report_id), created_at: new Date(Number(at)).toISOString() },
  ]);
}
