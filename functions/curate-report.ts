import { mkdtempDisposable, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Catalog, createCatalog } from './aws/catalog.ts';
import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { platformName, type RequestTarget, requestHash } from './decisions/request-hash.ts';
import { MAX_REPLACED_COPIES, MIN_WAIT } from './decisions/waits.ts';
import { shortenWarnings } from './decisions/warnings.ts';
import { type Curation, curateList, curateRows } from './tables/curate-file.ts';
import { openDatabase } from './tables/database.ts';
import { limitOf, notWritten, type ReportFile, reasonOf, TableProblem } from './tables/report.ts';
import { hasRows, readReportFile } from './tables/report-file.ts';
import { ExportError, ServiceUnavailable } from './workflow/errors.ts';
import type { ExportRequest, ReportRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import type { StoredObject } from './workflow/state-parts.ts';
import { type AuthorizedWindow, SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';
import { reportColumns, type TableSchema, tableOf } from './workflow/table.ts';

/**
 * DuckDB stops this long before the function's timeout, so that the step can still say why. Lambda would just
 * kill it.
 */
const STOP_BEFORE_MS = 60_000;

/** Bytes of the warnings that the step adds to the window's state. The manifest shows them. */
const MAX_WARNINGS = 4_000;

interface Dependencies extends Pick<Common, 'millisecondsLeft'> {
  readonly store: Pick<ObjectStore, 'open' | 'getFile' | 'putFile'>;
  /** Undefined if the stack has no tables. */
  readonly catalog: Catalog | undefined;
  readonly target: RequestTarget;
  /** The largest file that is read. */
  readonly maxBytes: number;
  /** Days of the table that a file without rows for them may empty. Default: what the request says. */
  readonly acceptEmpty?: (day: string) => boolean;
}

/**
 * Reads the rows of the file that was copied, and writes them into the export's table, one object per month,
 * and into the ledger. The file is delivered even if the table cannot take it: the reason becomes a warning.
 *
 * @throws DownloadRefused if the file is not a report of this window
 * @throws ServiceUnavailable; AccessRefused if the file cannot be read
 */
export async function curateReport(
  { caught, ...state }: SavedWindow,
  dependencies: Dependencies,
): Promise<AuthorizedWindow | SavedWindow> {
  const { request, object } = state;
  const { catalog, target, maxBytes, millisecondsLeft, store } = dependencies;
  const hash = request.kind === 'purchases' ? '' : requestHash(request, target);
  const table = await findTable(request, catalog, hash);
  const unread = (reason: string) => finish(state, table, withoutRows(table, reason));
  if (request.kind === 'report' && !hasRows(request.format))
    return unread(`files of format ${request.format} cannot be read`);
  // The rows of these were counted when the file was written.
  if (request.kind === 'purchases' || (request.kind === 'list' && !catalog))
    return finish(state, table, { curated: {}, warnings: [] });
  if (object.bytes > maxBytes)
    return unread(`the file has ${object.bytes} bytes, more than max_curate_bytes (${maxBytes}) allows`);

  const signal = AbortSignal.timeout(Math.max(0, millisecondsLeft() - STOP_BEFORE_MS));
  try {
    await using scratch = await openScratchFolder();
    const { folder } = scratch;
    const file = await readCopy(object, request, { store, folder, signal });
    if (file) {
      const curate = request.kind === 'list' ? curateList : curateRows;
      const { accept_empty = false } = request;
      const { acceptEmpty = () => accept_empty } = dependencies;
      const columns = table.schema?.columns ?? (request.kind === 'report' ? reportColumns(request) : []);
      using database = await openDatabase(folder, signal, columns.length);
      const merging = { database, store, folder, signal };
      const work = { ...merging, catalog, file, schema: table.schema, hash, acceptEmpty };
      return finish(state, table, await curate(state, work));
    }
  } catch (error) {
    if (error instanceof TableProblem) return unread(error.message);
    throw error;
  }
  if ((state.replaced_copies ?? 0) < MAX_REPLACED_COPIES) return copyAgain(state);
  return unread(`other runs replaced the file ${MAX_REPLACED_COPIES + 1} times`);
}

/**
 * The table of an export, or the reason why nothing may be written. An export without a table has neither.
 */
interface FoundTable {
  readonly schema?: TableSchema;
  /** Expected of a request that nobody configured. */
  readonly warning?: string;
  /** A person has to act: raises an alarm. */
  readonly problem?: string;
}

/**
 * Only the configured request may write: another one of the same name, such as one for fewer advertisers,
 * would erase rows.
 *
 * @throws ServiceUnavailable
 */
async function findTable(
  request: ExportRequest,
  catalog: Catalog | undefined,
  hash: string,
): Promise<FoundTable> {
  const table = tableOf(request);
  if (catalog === undefined || table === undefined) return {};
  try {
    const schema = await catalog.getTable(table);
    if (!schema) return { warning: notWritten(table, 'the deployed config has no such table') };
    if (schema.requests[request.account] === hash) return { schema };
    const reason = `the request differs from the one that account ${request.account} has in the deployed config`;
    return { warning: notWritten(table, reason) };
  } catch (error) {
    // A refusal by Glue or Lake Formation concerns the table only.
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return { problem: notWritten(table, reason) };
  }
}

/** Begins the name of a folder, before the id of its process. */
const SCRATCH = 'curate-report-';

/** Those of this process. */
const openFolders = new Set<string>();

/** Makes a call's folder. Removes folders of killed calls, which Lambda keeps: only one call fits. */
async function openScratchFolder(): Promise<AsyncDisposable & { readonly folder: string }> {
  const parent = tmpdir();
  const names = (await readdir(parent)).filter((name) => name.startsWith(SCRATCH) && !openFolders.has(name));
  const left = names.filter((name) => !isRunning(Number.parseInt(name.slice(SCRATCH.length), 10)));
  for (const name of left) await rm(join(parent, name), { recursive: true, force: true });
  const { path: folder, remove } = await mkdtempDisposable(join(parent, `${SCRATCH}${process.pid}-`));
  const name = basename(folder);
  openFolders.add(name);
  const dispose = async () => {
    await remove();
    openFolders.delete(name);
  };
  return { folder, [Symbol.asyncDispose]: dispose };
}

/** True for another process that has not ended. */
function isRunning(id: number): boolean {
  try {
    return id !== process.pid && process.kill(id, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * Reads the object that was copied into a file. Another run of the window may have replaced it since: then
 * its rows would get the label of the wrong report.
 *
 * @returns undefined if the object has other bytes now
 * @throws TableProblem at a limit; AccessRefused, ServiceUnavailable
 */
async function readCopy(
  { key, version_id, crc32, bytes, ...kind }: StoredObject,
  request: ExportRequest,
  { store, folder, signal }: Pick<Dependencies, 'store'> & { folder: string; signal: AbortSignal },
): Promise<ReportFile | undefined> {
  const { format, rows }: Partial<ReportRequest> = request.kind === 'report' ? request : {};
  try {
    const body = await store.open(key, version_id, signal);
    if (body === undefined) return undefined;
    const { content_type, content_encoding } = kind;
    const read = await readReportFile(body, join(folder, 'copy'), {
      format,
      rows,
      content_type,
      content_encoding,
      signal,
    });
    return read.crc32 === crc32 && read.bytes === bytes ? read.file : undefined;
  } catch (error) {
    const limit = limitOf(error, signal);
    if (limit) throw limit;
    throw error instanceof ExportError ? error : new ServiceUnavailable(`Reading ${key} broke off.`, { key });
  }
}

function withoutRows({ schema }: FoundTable, reason: string): Curation {
  const warning = `the rows were not read: ${reason}`;
  return { curated: { table_problem: schema && warning }, warnings: [warning] };
}

function finish(
  state: SavedWindow,
  { warning, problem }: FoundTable,
  { rows, curated, warnings }: Curation,
): SavedWindow {
  const refused = problem ?? warning;
  const added = [...(refused === undefined ? [] : [refused]), ...warnings];
  return {
    ...state,
    status: 'curated',
    object: { ...state.object, rows: rows ?? state.object.rows },
    curated: { ...curated, table_problem: problem ?? curated.table_problem },
    warnings: [...state.warnings, ...shortenWarnings(added, MAX_WARNINGS)],
  };
}

/** The manifest must not name a file that another run has replaced. */
function copyAgain({ object, replaced_copies = 0, ...window }: SavedWindow): AuthorizedWindow {
  return { ...window, status: 'ready', wait_seconds: MIN_WAIT, replaced_copies: replaced_copies + 1 };
}

export const handler = createHandler(READS.CurateReport, SavedWindow, curateReport, (settings) => {
  const { GLUE_DATABASE } = settings;
  return {
    store: createObjectStore(settings),
    catalog: GLUE_DATABASE === undefined ? undefined : createCatalog({ GLUE_DATABASE }),
    target: {
      platform: platformName(settings.PLATFORM_BASE_URL),
      revision: settings.PLATFORM_REVISION,
    },
    maxBytes: Number(settings.MAX_CURATE_BYTES),
  };
});
