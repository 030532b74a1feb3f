import { mkdirSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { curateReport } from '../../../functions/curate-report.ts';
import { MAX_REPLACED_COPIES, MIN_WAIT } from '../../../functions/decisions/waits.ts';
import { type DayState, judgeDays } from '../../../functions/deliveries/judge.ts';
import type { StoredDelivery } from '../../../functions/deliveries/records.ts';
import { openDatabase } from '../../../functions/tables/database.ts';
import { mergeLedger, shownLines } from '../../../functions/tables/ledger.ts';
import { duckType } from '../../../functions/tables/merge.ts';
import { mergeMonth } from '../../../functions/tables/month.ts';
import { TableProblem } from '../../../functions/tables/report.ts';
import { ExportError, readMessage } from '../../../functions/workflow/errors.ts';
import { type DateRange, daysOf } from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { Curated } from '../../../functions/workflow/state-parts.ts';
import type { SavedWindow } from '../../../functions/workflow/states.ts';
import { type TableSchema, tableColumns } from '../../../functions/workflow/table.ts';
import { MEMORY } from '../../config/cost.ts';
import type { Bucket, Folder } from '../../knowledge/bucket.ts';
import { CommandFailed } from '../../knowledge/errors.ts';
import type { FoundExport } from '../../knowledge/exports.ts';
import { readMonths, shownReader } from '../../knowledge/months.ts';
import { SCRATCH } from '../../local/lambda/lambda-instance.ts';

/** Gives this process the memory of CurateReport or more, and in a folder of local runs its scratch files. */
export function prepareProcess({ local, out }: Folder): void {
  if (local) {
    process.env.TMPDIR = join(out, SCRATCH);
    mkdirSync(process.env.TMPDIR, { recursive: true });
  }
  // DuckDB may take more than in the function, so that this command can read a file that was too much for it.
  const quarter = Math.floor(totalmem() / 1024 ** 2 / 4);
  process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE = String(Math.max(MEMORY.CurateReport, quarter));
}

/** A window that the table lacked. */
export interface Rebuilt extends DateRange {
  readonly account: string;
  /** `gone`: its file was removed, or another run has replaced it. */
  readonly outcome: 'written' | 'failed' | 'gone';
  /** If it was written. */
  readonly table?: Curated['table'];
  /** The reason of `failed`. */
  readonly problem?: string | undefined;
  readonly warnings?: readonly string[];
}

export interface Rebuilding {
  readonly found: FoundExport;
  readonly schema: TableSchema;
  readonly bucket: Bucket;
  /** Windows that share a day with it. */
  readonly range: DateRange;
  /** Empties the held days of the range. */
  readonly acceptEmpty: boolean;
}

/** A person may stop the command at any time. */
const NO_LIMIT_MS = 24 * 60 * 60 * 1000;

/** Writes what the table lacks of the delivered files, the newest report first: each day is written once. */
export async function* rebuildWindows(rebuilding: Rebuilding): AsyncGenerator<Rebuilt> {
  const { found, schema, bucket, range, acceptEmpty } = rebuilding;
  const { account } = found.request;
  const hash = schema.requests[account] ?? '';
  const newestFirst = found.deliveries
    .filter((each) => each.request_hash === hash && isIn(range, each))
    .toSorted((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at));
  const isAccepted = (day: string) => acceptEmpty && range.start_date <= day && day < range.end_date;
  for (const { lost, ...delivery } of newestFirst) {
    const days = daysOf(delivery);
    const shown = await shownReader(bucket)({ ...schema, account }, days);
    const states = judgeDays(days, { deliveries: [delivery], shown, hash });
    const isLacking = (state: DayState, at: number) =>
      state === 'not_in_table' || (state === 'held' && isAccepted(days[at] ?? ''));
    if (!states.some(isLacking)) continue;
    const { start_date, end_date, removed } = delivery;
    const result: Result =
      lost || removed ? { outcome: 'gone' } : await rebuildWindow(delivery, rebuilding, isAccepted);
    yield { account, start_date, end_date, ...result };
  }
}

/** The windows that share a day with a range. */
export function isIn(range: DateRange, { start_date, end_date }: DateRange): boolean {
  return start_date < range.end_date && end_date > range.start_date;
}

type Result = Omit<Rebuilt, 'account' | keyof DateRange>;

async function rebuildWindow(
  delivery: StoredDelivery,
  { found, schema, bucket, acceptEmpty }: Rebuilding,
  isAccepted: (day: string) => boolean,
): Promise<Result> {
  try {
    const after = await curateReport(asState(delivery, found.request), {
      store: bucket,
      catalog: { getTable: async () => schema },
      target: found.target,
      maxBytes: Number.POSITIVE_INFINITY,
      millisecondsLeft: () => NO_LIMIT_MS,
      ...(acceptEmpty && { acceptEmpty: isAccepted }),
    });
    return after.status === 'curated' ? describe(after as SavedWindow) : { outcome: 'gone' };
  } catch (error) {
    if (!(error instanceof ExportError)) throw error;
    return { outcome: 'failed', problem: readMessage(error.message).happened };
  }
}

/** The window's state after SaveReport. CurateReport does not call the platform, so the token is empty. */
function asState({ manifest, created_at }: StoredDelivery, request: ExportRequest): SavedWindow {
  const { start_date, end_date, report_id, copied_at, checksum, execution } = manifest;
  const { key, bytes, version_id, content_type, content_encoding } = manifest;
  // The hash leaves the format out, so this file may have another one.
  const { format } = manifest.request;
  return {
    execution,
    request: { ...request, start_date, end_date, ...(typeof format === 'string' && { format }) },
    warnings: [],
    window: { start_date, end_date },
    status: 'saved',
    wait_seconds: MIN_WAIT,
    throttled: 0,
    reports: report_id ? [{ id: report_id, created_at, useless_answers: 0, given_up: false }] : [],
    ready_id: report_id,
    token: { version: '', scope: '', expires_at: copied_at, unproven: false },
    begun_at: copied_at,
    replaced_copies: MAX_REPLACED_COPIES - 1,
    object: { key, bytes, crc32: checksum.value, content_type, content_encoding, version_id, copied_at },
  };
}

function describe({ curated = {}, warnings }: SavedWindow): Result {
  const { table, table_problem: problem } = curated;
  return {
    outcome: problem === undefined ? 'written' : 'failed',
    table,
    problem,
    warnings: warnings.filter((warning) => warning !== problem),
  };
}

/**
 * Brings all months of an account to the table's columns, whatever the range, and adds to the ledger what
 * their last writers could not.
 *
 * @returns how many did not have the columns
 * @throws CommandFailed if a column has another type in a month
 */
export async function rebuildMonths({ found, schema, bucket }: Rebuilding): Promise<number> {
  const { request, hash } = found;
  const { account } = request;
  const columns = JSON.stringify(tableColumns(schema).map(({ name, type }) => [name, duckType(type)]));
  const all = await readMonths(bucket, { ...schema, account }, () => true);
  const others = all.filter(
    (each) => schema.kind !== 'list' && JSON.stringify([...each.columns]) !== columns,
  );
  const { signal } = new AbortController();
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'rebuild-'));
  const folder = scratch.path;
  using database = await openDatabase(folder, signal, schema.columns.length);
  const merging = { database, store: bucket, folder, signal };
  const copied_at = new Date(0).toISOString();
  const version = { report_id: '', created_at: copied_at, request_hash: hash };
  const none = { version, window: { start_date: '', end_date: '' }, copied_at };
  const offer = { ...none, schema, account, acceptEmpty: () => false };
  for (const { month } of others)
    await mergeMonth(merging, month, [], offer, '').catch((error) => {
      if (!(error instanceof TableProblem)) throw error;
      const happened = `The month ${month} of ${account} cannot get the columns of table ${schema.table}.`;
      throw new CommandFailed(happened, `${error.message}. A type never changes in place.`);
    });
  const lines = Map.groupBy(
    all.flatMap(({ days }) => shownLines(days)),
    ({ day }) => day.slice(0, 'YYYY-MM'.length),
  );
  for (const [month, some] of lines) await mergeLedger(merging, request, month, some);
  return others.length;
}
