import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareReports, covers } from '../../functions/days/judge.ts';
import type { StoredDelivery } from '../../functions/days/records.ts';
import { readEntries } from '../../functions/tables/month-entries.ts';
import { type DateRange, groupDays } from '../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../functions/workflow/request/request.ts';
import type { ReportVersion, ShownDays } from '../../functions/workflow/shown-days.ts';
import { tableOf } from '../../functions/workflow/table.ts';
import { newest } from '../catalog/ledger.ts';
import type { Bucket } from './bucket.ts';
import type { FoundExport } from './exports.ts';
import { openLedger } from './ledger-days.ts';

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

/**
 * Finds the days that cannot be written again as they are, or as they were last, before anybody removes an
 * object of the table. The ledger tells them, which has what a table that was removed showed.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findDaysWithoutFile(
  found: FoundExport,
  bucket: Pick<Bucket, 'list' | 'readEnd' | 'getFile'>,
  range: DateRange,
): Promise<DaysWithoutFile[]> {
  const { table, request } = found;
  const { deliveries } = found.records;
  if (table?.kind !== 'report') return [];
  const { months } = await readEntries(bucket, table);
  const shown: ShownDays = Object.assign({}, ...months.map(({ days }) => days));
  const reports = new Map(await readLastShown(found, bucket));
  for (const [day, { report_id, created_at, rows }] of Object.entries(shown)) {
    const known = reports.get(day);
    if (known && Date.parse(known.created_at) > Date.parse(created_at)) continue;
    if (rows > 0) reports.set(day, { report_id, created_at });
    else reports.delete(day);
  }
  const hasFile = (day: string, report: LastShown) => {
    const writable = deliveries.filter((each) => requestToWrite(found, each) && !each.lost && !each.removed);
    return writable.some((each) => covers(each, day) && compareReports(each, report) === 0);
  };
  const lost = [...reports].filter(([day, report]) => covers(range, day) && !hasFile(day, report));
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

type LastShown = Pick<ReportVersion, 'report_id' | 'created_at'>;

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
