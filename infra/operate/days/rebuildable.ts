import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { covers } from '../../../functions/days/judge.ts';
import type { StoredDelivery } from '../../../functions/days/records.ts';
import type { Row } from '../../../functions/tables/database.ts';
import { readEntries } from '../../../functions/tables/month-entries.ts';
import { type DateRange, groupDays } from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { compareReports, type ReportId, type ShownDays } from '../../../functions/workflow/shown-days.ts';
import { ACCEPTED, LEDGER, tableOf } from '../../../functions/workflow/table.ts';
import { newest } from '../../stack/catalog/ledger.ts';
import type { Bucket } from '../place/bucket.ts';
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
  bucket: Pick<Bucket, 'list' | 'readEnd' | 'getFile'>,
  range: DateRange,
): Promise<LedgerKnowledge> {
  const { table, request } = found;
  const { deliveries } = found.records;
  if (!table) return { without_file: [], lost: new Map(), acceptedAt: () => undefined };
  const { reports, acceptedAt } = await readLastShown(found, bucket);
  if (table.kind !== 'report') return { without_file: [], lost: new Map(), acceptedAt };
  const { months } = await readEntries(bucket, table);
  const shown: ShownDays = Object.assign({}, ...months.map(({ days }) => days));
  for (const [day, { report_id, created_at, rows, accepted_at }] of Object.entries(shown)) {
    const known = reports.get(day);
    if (known && Date.parse(known.created_at) > Date.parse(created_at)) continue;
    if (rows > 0 || accepted_at !== undefined) reports.set(day, { report_id, created_at });
    else reports.delete(day);
  }
  const hasFile = (day: string, report: ReportId) => {
    const writable = deliveries.filter((each) => requestToWrite(found, each) && !each.lost && !each.removed);
    return writable.some((each) => covers(each, day) && compareReports(each, report) === 0);
  };
  const all = [...reports].filter(([day, report]) => covers(range, day) && !hasFile(day, report));
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
