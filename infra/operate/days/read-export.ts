import type { DayStore, JudgedExport } from '../../../functions/days/read-days.ts';
import { type ExportRecords, listWindows, readRecords } from '../../../functions/days/records.ts';
import { type Run, readRuns } from '../../../functions/days/runs.ts';
import { type RequestTarget, requestHash } from '../../../functions/decisions/request-hash.ts';
import type { AccountTable } from '../../../functions/tables/month-entries.ts';
import type { ExportId } from '../../../functions/workflow/keys.ts';
import { type DateRange, earliest, latestDate } from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { type TableSchema, tableOf } from '../../../functions/workflow/table.ts';
import { type ConfiguredExport, requestOf, tablesOf, withColumns } from '../../stack/config/exports.ts';
import type { Folder } from '../place/bucket.ts';
import { checkRequest, inputOf } from '../place/check-request.ts';
import { loadConfig } from '../place/load-config.ts';
import { readTarget } from '../place/target-platform.ts';
import { type AskedDays, daysToLookAt, readDue } from './days-to-look-at.ts';
import { latest } from './latest.ts';

/** An export of the config or of a local run, with the days that are looked at and the records of them. */
export interface RecordedExport extends JudgedExport {
  /** Its dates are those of its longest run. */
  readonly request: ExportRequest;
  /** The input of an execution: see {@link requestOf} and {@link inputOf}. */
  readonly input: unknown;
  readonly target: RequestTarget;
  readonly schema: TableSchema | undefined;
  /** The part of its table that it fills; undefined if it has none. */
  readonly table: AccountTable | undefined;
  /** The days that are looked at. Of a query for purchases, none are. */
  readonly range: DateRange;
  /** When its newest run was due, by the schedules of the config. */
  readonly due: Date | undefined;
  readonly records: ExportRecords;
}

/** @returns only the keys of damaged records if its request is not known */
export async function readExport(
  { account, name }: ExportId,
  { local, out }: Folder,
  bucket: DayStore,
  now: Date,
  days: AskedDays,
): Promise<RecordedExport | { readonly damaged: readonly string[] }> {
  const config = loadConfig();
  const entry = config.exports.find((id) => id.account === account && id.name === name);
  const configured = entry && requestOfLongestRun(entry, now);
  const keys = await listWindows(bucket, { account, name });
  const asked = configured || !local ? undefined : await readLastAsked(bucket, { account, name }, keys, now);
  const request = configured ?? asked?.request;
  if (!request) return { damaged: asked?.damaged ?? [] };
  // Nothing starts the runs of a folder.
  const due = local ? undefined : entry && readDue(entry, now);
  const { records: runs } = await readRuns(bucket, request, now);
  const range = daysToLookAt({ request, due, keys, runs, asked: days, now });
  const records = await readRecords(bucket, request, now, widen(range, runs), keys);
  const target = await readTarget({ local, out });
  const input = entry ? requestOf(entry) : inputOf(request);
  const table = config.tables ? tableOf(request) : undefined;
  const { kind } = request;
  const isTable = kind !== 'purchases' && table !== undefined;
  const [schema] = isTable ? tablesOf([withColumns(Object(input), config.exports)], target, config) : [];
  return {
    request,
    input,
    target,
    /** The hash of the request. */
    hash: requestHash(request, target),
    schema,
    table: isTable ? { table, account, kind } : undefined,
    range,
    due: due?.at,
    records,
  };
}

/** All runs of an export have the same request but for their days. */
function requestOfLongestRun(entry: ConfiguredExport, now: Date): ExportRequest {
  const inputs = [requestOf(entry), ...entry.runs.map(({ request }) => request)];
  const requests = inputs.map((input) => checkRequest(input, now).request);
  return requests.reduce((longest, request) => (request.start_date < longest.start_date ? request : longest));
}

/**
 * The request of the newest run or manifest, for an export of a folder that no config has. It reads all
 * manifests: no key tells which one was published last.
 */
async function readLastAsked(
  bucket: DayStore,
  id: ExportId,
  keys: readonly string[],
  now: Date,
): Promise<{ readonly request: ExportRequest | undefined; readonly damaged: readonly string[] }> {
  const { deliveries, runs, damaged } = await readRecords(bucket, id, now, undefined, keys);
  const delivered = deliveries.map(({ manifest }) => {
    return { at: manifest.published_at, request: manifest.export_request };
  });
  const asked = runs.map(({ began_at: at, request }) => ({ at, request }));
  return { request: latest([...delivered, ...asked])?.request, damaged };
}

/** A run that did not finish may have asked for days that are not looked at. */
function widen(range: DateRange, runs: readonly Run[]): DateRange {
  const ranges = [range, ...runs.map(({ request }) => request)];
  return {
    start_date: earliest(ranges.map(({ start_date }) => start_date)) ?? range.start_date,
    end_date: latestDate(ranges.map(({ end_date }) => end_date)) ?? range.end_date,
  };
}
