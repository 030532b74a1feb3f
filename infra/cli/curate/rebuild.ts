import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Catalog, createCatalog } from '../../../functions/aws/catalog.ts';
import { curateReport } from '../../../functions/curate-report.ts';
import { type DayState, judgeDays } from '../../../functions/decisions/days.ts';
import type { StoredDelivery } from '../../../functions/decisions/deliveries.ts';
import { MAX_REPLACED_COPIES, MIN_WAIT } from '../../../functions/decisions/waits.ts';
import { openDatabase } from '../../../functions/tables/database.ts';
import { mergeMonth } from '../../../functions/tables/days.ts';
import { type CatalogTable, readSchema } from '../../../functions/workflow/catalog-table.ts';
import { ExportError, readMessage, ServiceUnavailable } from '../../../functions/workflow/errors.ts';
import { type DateRange, daysOf } from '../../../functions/workflow/request/dates.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import type { SavedWindow } from '../../../functions/workflow/states.ts';
import { catalogName, type TableSchema, tableColumns } from '../../../functions/workflow/table.ts';
import { MEMORY } from '../../config/cost.ts';
import { createRequestTables } from '../../local/glue.ts';
import type { Bucket } from '../bucket.ts';
import type { FoundExport } from '../days.ts';
import { OUTPUTS_FILE, readDeployedPlace, readOutput } from '../deployment.ts';
import { UsageError } from '../errors.ts';
import { readMonths, readShown } from '../months.ts';
import { loadConfig } from '../options.ts';

/** What CurateReport has in its function: the catalog, and a folder of its own on the disk. */
export interface Workshop extends AsyncDisposable {
  readonly catalog: Catalog;
  readonly folder: string;
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * @param exports of a folder, whose tables are those that a local run defines. Undefined: those of the deployed stack
 * @throws UsageError if no stack with tables was deployed from here
 */
export async function openWorkshop(exports: readonly FoundExport[] | undefined): Promise<Workshop> {
  const catalog = exports ? defineTables(exports) : await openDeployedCatalog();
  // The step works in the system's temporary folder. Another command must not share it.
  const scratch = mkdtempDisposableSync(join(tmpdir(), 'curate-'));
  process.env.TMPDIR = scratch.path;
  // DuckDB may take more than in the function, so that this command can read a file that was too much for it.
  const quarter = Math.floor(totalmem() / 1024 ** 2 / 4);
  process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE = String(Math.max(MEMORY.CurateReport, quarter));
  const remove = () => scratch.remove();
  // Ends the process as if nothing had handled the signal: DuckDB may be running, and an orderly exit would make it abort.
  const stop = (signal: NodeJS.Signals) => {
    try {
      remove();
    } finally {
      process.kill(process.pid, signal);
    }
  };
  process.once('exit', remove);
  for (const signal of STOP_SIGNALS) process.once(signal, stop);
  return {
    catalog,
    folder: scratch.path,
    async [Symbol.asyncDispose]() {
      remove();
      process.off('exit', remove);
      for (const signal of STOP_SIGNALS) process.off(signal, stop);
    },
  };
}

function defineTables(exports: readonly FoundExport[]): Catalog {
  const tables = new Map<string, CatalogTable>();
  const define = createRequestTables({ glue: { tables }, bucket: '', config: loadConfig() });
  for (const { input, target } of exports) define(input, target);
  return {
    async getTable(table) {
      const found = tables.get(catalogName(table));
      return found && readSchema(found);
    },
  };
}

async function openDeployedCatalog(): Promise<Catalog> {
  const GLUE_DATABASE = await readOutput('database');
  const { region } = await readDeployedPlace();
  if (GLUE_DATABASE === undefined || region === undefined)
    throw new UsageError([
      `${OUTPUTS_FILE} names no database: run 'npm run deploy', and do not switch tables off in cdk.json`,
    ]);
  process.env.AWS_REGION = region;
  return createCatalog({ GLUE_DATABASE });
}

/** The outcome of rebuilding one window. */
export interface Rebuilt extends DateRange {
  readonly account: string;
  readonly report_id?: string;
  readonly created_at: string;
  /**
   * `written` · `unchanged`: the table shows it already · `older`: the table shows newer reports · `other_request`: not the
   * configured one, so it may not write · `replaced`: the object is no longer the one that the manifest names · `failed`
   */
  readonly outcome: 'written' | 'unchanged' | 'older' | 'other_request' | 'replaced' | 'failed';
  /** Days that show this report now, those that keep a newer one, those whose values changed, and those that are held. */
  readonly days?: number;
  readonly kept?: number;
  readonly restated?: number;
  readonly held?: number;
  /** The reason of `failed`. */
  readonly problem?: string;
  readonly warnings?: readonly string[];
}

export interface Rebuilding {
  readonly found: FoundExport;
  readonly schema: TableSchema;
  readonly bucket: Bucket;
  readonly workshop: Workshop;
  /** Windows that share a day with it. */
  readonly range: DateRange;
  /** Empties the held days of the range. */
  readonly acceptEmpty: boolean;
}

/** S3 and Glue are called once per try: in the workflow, the state machine repeats the step. */
const TRIES = 4;
const PAUSE_MS = 2_000;

/** A person may stop the command at any time. */
const NO_LIMIT_MS = 24 * 60 * 60 * 1000;

/** Writes the delivered files of an export into its table, the newest report first: then each day is written once. */
export async function* rebuildWindows(rebuilding: Rebuilding): AsyncGenerator<Rebuilt> {
  const { found, range } = rebuilding;
  const newestFirst = found.deliveries
    .filter(({ start_date, end_date }) => start_date < range.end_date && end_date > range.start_date)
    .toSorted((one, other) => Date.parse(other.created_at) - Date.parse(one.created_at));
  for (const delivery of newestFirst) {
    const { start_date, end_date, created_at, manifest } = delivery;
    const { account, report_id } = manifest;
    const about = {
      account,
      start_date,
      end_date,
      ...(report_id !== undefined && { report_id }),
      created_at,
    };
    yield { ...about, ...(await rebuildWindow(delivery, rebuilding)) };
  }
}

async function rebuildWindow(
  delivery: StoredDelivery,
  rebuilding: Rebuilding,
): Promise<Omit<Rebuilt, 'account' | 'created_at' | keyof DateRange>> {
  const { found, schema, bucket, workshop, range, acceptEmpty } = rebuilding;
  const { account } = found.request;
  if (schema.requests[account] !== delivery.request_hash) return { outcome: 'other_request' };
  if (delivery.lost === 'replaced') return { outcome: 'replaced' };
  const days = daysOf(delivery);
  const shown = await readShown(bucket, { ...schema, account }, days);
  // A window that failed since is rebuilt all the same: its file is there.
  const { lost: _, ...own } = delivery;
  const states = judgeDays(days, { deliveries: [own], shown, hash: delivery.request_hash });
  const isWanted = (state: DayState, at: number) => {
    const day = days[at] ?? '';
    const isHeld = state === 'held' && range.start_date <= day && day < range.end_date;
    return state === 'not_in_table' || (acceptEmpty && isHeld);
  };
  if (!states.some(isWanted)) {
    const isShown = days.some((day) => shown[day]?.report_id === versionId(delivery));
    return { outcome: isShown ? 'unchanged' : 'older' };
  }
  try {
    const after = await withRetries(() =>
      curateReport(asState(delivery, { ...found.request, ...(acceptEmpty && { accept_empty: true }) }), {
        store: bucket,
        catalog: workshop.catalog,
        target: found.target,
        maxBytes: Number.POSITIVE_INFINITY,
        millisecondsLeft: () => NO_LIMIT_MS,
      }),
    );
    return after.status === 'curated' ? describe(after as SavedWindow) : { outcome: 'replaced' };
  } catch (error) {
    if (!(error instanceof ExportError)) throw error;
    return { outcome: 'failed', problem: readMessage(error.message).happened };
  }
}

/** A list's snapshot has no report; the execution that made it stands for one. */
function versionId({ manifest }: StoredDelivery): string {
  return manifest.report_id ?? manifest.execution;
}

/** The window's state after SaveReport. CurateReport calls the platform no more, so the token does not matter. */
function asState({ manifest, created_at }: StoredDelivery, request: ExportRequest): SavedWindow {
  const { start_date, end_date, report_id, copied_at, version_id, content_encoding } = manifest;
  // The hash leaves the format out, so that of this file may be another one.
  const { format } = manifest.request;
  return {
    execution: manifest.execution,
    request: { ...request, start_date, end_date, ...(typeof format === 'string' && { format }) },
    warnings: [],
    window: { start_date, end_date },
    status: 'saved',
    wait_seconds: MIN_WAIT,
    throttled: 0,
    reports: report_id ? [{ id: report_id, created_at, useless_answers: 0, given_up: false }] : [],
    ...(report_id !== undefined && { ready_id: report_id }),
    token: { version: '', scope: '', expires_at: copied_at, unproven: false },
    begun_at: copied_at,
    replaced_copies: MAX_REPLACED_COPIES - 1,
    object: {
      key: manifest.key,
      bytes: manifest.bytes,
      crc32: manifest.checksum.value,
      copied_at,
      content_type: manifest.content_type,
      ...(content_encoding !== undefined && { content_encoding }),
      ...(version_id !== undefined && { version_id }),
    },
  };
}

function describe({
  curated = {},
  warnings,
}: SavedWindow): Omit<Rebuilt, 'account' | 'created_at' | keyof DateRange> {
  const { table, table_problem } = curated;
  const others = warnings.filter((warning) => warning !== table_problem);
  return {
    outcome: table_problem === undefined ? 'written' : 'failed',
    ...(table && { days: table.days, kept: table.kept, restated: table.restated, held: table.held }),
    ...(table_problem !== undefined && { problem: table_problem }),
    ...(others.length > 0 && { warnings: others }),
  };
}

async function withRetries<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof ServiceUnavailable) || tries === TRIES) throw error;
      await wait(PAUSE_MS * 2 ** (tries - 1));
    }
  }
}

/** Brings all months of an account to the table's columns, whatever the range. @returns how many changed */
export async function rebuildMonths({ found, schema, bucket, workshop }: Rebuilding): Promise<number> {
  const { account } = found.request;
  const columns = tableColumns(schema).map(({ name }) => name);
  const months = await readMonths(bucket, { ...schema, account }, () => true);
  const others = months.filter((month) => month.columns.join() !== columns.join());
  if (schema.kind === 'list' || others.length === 0) return 0;
  const { signal } = new AbortController();
  const { folder } = workshop;
  using database = await openDatabase(folder, signal);
  const version = { report_id: '', created_at: '', request_hash: found.hash };
  const offer = { version, rows: '', schema, account, acceptEmpty: false };
  for (const { month } of others)
    await withRetries(() => mergeMonth({ database, store: bucket, folder, signal }, month, [], offer));
  return others.length;
}
