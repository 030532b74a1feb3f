import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Catalog, createCatalog } from '../../../functions/aws/catalog.ts';
import { createObjectStore, type ObjectStore } from '../../../functions/aws/objects.ts';
import { findTable } from '../../../functions/curate/find-table.ts';
import { curateReport } from '../../../functions/curate-report.ts';
import { requestHash } from '../../../functions/decisions/request-hash.ts';
import { compareVersions, type DayVersion, readVersion } from '../../../functions/workflow/day-metadata.ts';
import { ExportError, readMessage, ServiceUnavailable } from '../../../functions/workflow/errors.ts';
import { daysOf } from '../../../functions/workflow/request/dates.ts';
import type { SavedWindow } from '../../../functions/workflow/states.ts';
import { dayKey, listKey, TABLES_PREFIX, type TableSchema } from '../../../functions/workflow/table.ts';
import { MEMORY } from '../../config/cost.ts';
import { startGlue } from '../../local/glue.ts';
import { createRequestTables } from '../../local/request-tables.ts';
import { ACCOUNT, CREDENTIALS, startS3 } from '../../local/s3/server.ts';
import type { ExportedObjects } from '../bucket.ts';
import { OUTPUTS_FILE, readDeployedPlace, readOutput } from '../deployment.ts';
import { UsageError } from '../errors.ts';
import { loadConfig } from '../options.ts';
import type { Copy } from './copies.ts';

/** Where the files and the tables are, as CurateReport reaches them: with this person's AWS credentials, or on this machine. */
export interface Place extends AsyncDisposable {
  readonly store: ObjectStore;
  readonly catalog: Catalog;
}

/** @throws UsageError if no stack with tables was deployed from here */
export async function openDeployedPlace(bucket: string): Promise<Place> {
  const GLUE_DATABASE = await readOutput('database');
  const { region, awsAccount } = await readDeployedPlace();
  if (GLUE_DATABASE === undefined || region === undefined || awsAccount === undefined)
    throw new UsageError([
      `${OUTPUTS_FILE} names no database: run 'npm run deploy', and do not switch tables off in cdk.json`,
    ]);
  process.env.AWS_REGION = region;
  return createPlace({ BUCKET: bucket, BUCKET_OWNER: awsAccount, GLUE_DATABASE });
}

/** In a folder, the request that was delivered last counts as the configured one, as in the run that delivered it. */
export async function openLocalPlace(out: string, copies: readonly Copy[]): Promise<Place> {
  await using started = new AsyncDisposableStack();
  const [{ bucket } = { bucket: '' }] = copies;
  const s3 = started.use(await startS3({ directory: out, buckets: [bucket] }));
  const glue = started.use(await startGlue({ directory: out }));
  const oldestFirst = copies.toSorted((one, other) => order(one) - order(other));
  const defineTable = createRequestTables({ glue, bucket, configured: loadConfig().exports });
  for (const { input, target } of oldestFirst) defineTable(input, target);
  Object.assign(process.env, {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ENDPOINT_URL_GLUE: glue.endpoint,
  });
  const place = createPlace({ BUCKET: bucket, BUCKET_OWNER: ACCOUNT, GLUE_DATABASE: glue.database });
  const running = started.move();
  running.defer(() => place[Symbol.asyncDispose]());
  return { ...place, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function order({ state }: Copy): number {
  return Date.parse(state.object.copied_at);
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The step's clients read the Region and the endpoints from the environment, as in Lambda. */
function createPlace(settings: { BUCKET: string; BUCKET_OWNER: string; GLUE_DATABASE: string }): Place {
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
    store: createObjectStore(settings),
    catalog: createCatalog(settings),
    async [Symbol.asyncDispose]() {
      remove();
      process.off('exit', remove);
      for (const signal of STOP_SIGNALS) process.off(signal, stop);
    },
  };
}

/** The outcome of rebuilding one window. */
export interface Rebuilt {
  readonly account: string;
  readonly start_date: string;
  readonly end_date: string;
  readonly report_id?: string;
  readonly created_at: string;
  /**
   * `written` · `unchanged`: the table shows it, or newer reports, already · `other_request`: not the configured one, so it may
   * not write · `replaced`: the object is no longer the one that the manifest names · `failed`
   */
  readonly outcome: 'written' | 'unchanged' | 'other_request' | 'replaced' | 'failed';
  /** Days that show this report now, those that keep a newer one, and those whose values changed. */
  readonly days?: number;
  readonly kept?: number;
  readonly restated?: number;
  /** The reason of `failed`. */
  readonly problem?: string;
  readonly warnings?: readonly string[];
}

export interface Rebuilding {
  readonly schema: TableSchema;
  readonly place: Place;
  readonly bucket: ExportedObjects;
}

/** S3 and Glue are called once per try: in the workflow, the state machine repeats the step. */
const TRIES = 4;
const PAUSE_MS = 2_000;

/** Of one BatchGetPartition. */
const MAX_PARTITIONS = 1_000;

/** A person may stop the command at any time. */
const NO_LIMIT_MS = 24 * 60 * 60 * 1000;

/** Writes the days of a delivered file into the table again, as CurateReport did or would have done. */
export async function rebuildWindow(copy: Copy, { schema, place, bucket }: Rebuilding): Promise<Rebuilt> {
  const { state, target, created_at, hasLedger } = copy;
  const { request, window, ready_id } = state;
  const about = { account: request.account, ...window, ...(ready_id && { report_id: ready_id }), created_at };
  const version = versionOf(copy);
  if (schema.requests[request.account] !== version.request_hash)
    return { ...about, outcome: 'other_request' };
  const { catalog } = place;
  if (await isShown(copy, schema, bucket)) {
    // Readers may fail on days that are shown with other types than the table has now.
    const { problem } = await withRetries(() => findTable(request, { catalog, hash: version.request_hash }));
    return problem === undefined
      ? { ...about, outcome: 'unchanged' }
      : { ...about, outcome: 'failed', problem };
  }
  // The ledger of the delivery tells what that restated. It stays, unless the delivery did not write the table.
  const store = { ...place.store, ...(hasLedger && { putJson: async () => {} }) };
  const limits = { maxBytes: Number.POSITIVE_INFINITY, millisecondsLeft: () => NO_LIMIT_MS };
  try {
    const after = await withRetries(() => curateReport(state, { ...limits, store, catalog, target }));
    if (after.status !== 'curated') return { ...about, outcome: 'replaced' };
    return { ...about, ...describe(after as SavedWindow) };
  } catch (error) {
    if (!(error instanceof ExportError)) throw error;
    return { ...about, outcome: 'failed', problem: readMessage(error.message).happened };
  }
}

function describe({ curated = {}, warnings }: SavedWindow): Pick<Rebuilt, 'outcome' | 'warnings'> {
  const { table, table_problem } = curated;
  const others = warnings.filter((warning) => warning !== table_problem);
  return {
    outcome: table_problem === undefined ? 'written' : 'failed',
    ...(table && { days: table.days, kept: table.kept, restated: table.restated }),
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

/** A list's snapshot has no report; the execution that made it stands for one. */
function versionOf({ state, target, created_at }: Copy): DayVersion {
  const { request, ready_id = state.execution } = state;
  const hash = request.kind === 'purchases' ? '' : requestHash(request, target);
  return { report_id: ready_id, created_at, request_hash: hash };
}

/** Each of the window's objects shows this report or a newer one: a command that was stopped goes on after them. */
async function isShown(copy: Copy, { table }: TableSchema, bucket: ExportedObjects): Promise<boolean> {
  const { request, window } = copy.state;
  const { account, kind } = request;
  const keys =
    kind === 'list' ? [listKey(table, account)] : daysOf(window).map((day) => dayKey(table, account, day));
  for (const key of keys) if ((await compare(copy, key, bucket)) === 'replace') return false;
  return true;
}

async function compare(copy: Copy, key: string, bucket: ExportedObjects) {
  const head = await bucket.head(key);
  return compareVersions(head && readVersion(head.metadata), versionOf(copy));
}

/**
 * Days that show a report although a newer one was delivered before it: the newer one's file is gone, because both were of the same
 * window.
 */
export async function findOlderDays(copies: readonly Copy[], { schema, bucket }: Rebuilding) {
  const days = copies.flatMap((copy) => copy.keptDays.map((date) => ({ copy, date })));
  const older: { account: string; date: string; report_id: string; created_at: string }[] = [];
  for (const { copy, date } of days) {
    const { account } = copy.state.request;
    if ((await compare(copy, dayKey(schema.table, account, date), bucket)) !== 'same') continue;
    const { report_id, created_at } = versionOf(copy);
    older.push({ account, date, report_id, created_at });
  }
  return older;
}

/** Registers objects of the table that have no partition, such as those of an export that was removed from the config and is back. */
export async function registerFound(
  accounts: readonly string[],
  { schema, place, bucket }: Rebuilding,
): Promise<number> {
  let registered = 0;
  for (const account of accounts) {
    const keys = await bucket.list(`${TABLES_PREFIX}${schema.table}/account=${account}/`);
    const values = keys.map((key) => [account, ...(/\/date=([^/]+)\//.exec(key)?.slice(1) ?? [])]);
    for (let start = 0; start < values.length; start += MAX_PARTITIONS) {
      const some = values.slice(start, start + MAX_PARTITIONS);
      const existing = await place.catalog.getPartitions(schema.table, some);
      const known = new Set(existing.map((partition) => partition.values.join('/')));
      const absent = some.filter((value) => !known.has(value.join('/')));
      if (absent.length > 0) await place.catalog.registerPartitions(schema, absent);
      registered += absent.length;
    }
  }
  return registered;
}
