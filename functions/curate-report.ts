import { type Catalog, catalogOf } from './aws/catalog.ts';
import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { type RequestTarget, requestHash, targetOf } from './decisions/request-hash.ts';
import { MAX_REPLACED_COPIES, MIN_WAIT } from './decisions/waits.ts';
import { NOT_READ, shortenTexts } from './decisions/warnings.ts';
import {
  type Curation,
  curateList,
  curateRows,
  findWindowRows,
  type TableFile,
} from './tables/curate-file.ts';
import { openDatabase, openScratchFolder } from './tables/database.ts';
import type { AcceptedAt, LostReport } from './tables/decide-day.ts';
import { curateTotal } from './tables/reconcile.ts';
import { limitOf, notWritten, otherRequest, reasonOf, TableProblem } from './tables/report.ts';
import { count } from './workflow/count.ts';
import type { ListRequest, ReportRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import { type AuthorizedWindow, SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';
import { reportColumns, type TableSchema, tableOf } from './workflow/table.ts';

/** DuckDB stops this long before Lambda would kill the function, so that the step can still say why. */
const STOP_BEFORE_MS = 60_000;

/** Bytes of the warnings that the step adds to the window's state. The manifest shows them. */
const MAX_WARNINGS = 4_000;

interface Dependencies extends Pick<Common, 'millisecondsLeft'> {
  readonly store: Pick<ObjectStore, 'getFile' | 'putFile'>;
  /** Undefined if the stack has no tables. */
  readonly catalog: Catalog | undefined;
  readonly target: RequestTarget;
  /** The largest file that is read. */
  readonly maxBytes: number;
  /** Default: when the file arrived, if the request has accept_empty. */
  readonly acceptedAt?: AcceptedAt;
  /** For `rebuild`. */
  readonly lost?: LostReport;
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
  const { request, window } = state;
  switch (request.kind) {
    case 'purchases':
      return finishCounted(state);
    case 'list':
      if (!dependencies.catalog) return finishCounted(state);
      return curateWith(curateList, state, request, dependencies);
    case 'report':
      if (window.content === 'total') return curateWith(curateTotal, state, request, dependencies);
      return curateWith(curateRows, state, request, dependencies);
  }
}

/** The rows were counted when the file was written. */
function finishCounted(state: SavedWindow): AuthorizedWindow {
  return finish(state, {}, { curated: {}, warnings: [] });
}

/** Finds the table, reads the file, and does with it what its kind needs. */
async function curateWith(
  curate: (state: SavedWindow, file: TableFile) => Promise<Curation>,
  state: SavedWindow,
  request: ReportRequest | ListRequest,
  dependencies: Dependencies,
): Promise<AuthorizedWindow | SavedWindow> {
  const { object, window, replaced_copies = 0 } = state;
  const { maxBytes, millisecondsLeft, store, catalog } = dependencies;
  const hash = requestHash(request, dependencies.target);
  const table = await findTable(request, catalog, hash);
  const { schema } = table;
  const deliverWithoutTable = (reason: string) => {
    // The platform's total has no days that a table could lack.
    const hasTable = schema && window.content !== 'total';
    const table_problem = hasTable ? notWritten(schema.table, reason) : undefined;
    const warnings = [table_problem ?? `${NOT_READ}${reason}`];
    return finish(state, table, { curated: { table_problem }, warnings });
  };
  if (object.bytes > maxBytes)
    return deliverWithoutTable(
      `the file has ${count(object.bytes, 'byte')}, more than max_curate_bytes (${maxBytes}) allows`,
    );

  const signal = AbortSignal.timeout(Math.max(0, millisecondsLeft() - STOP_BEFORE_MS));
  try {
    await using scratch = await openScratchFolder('curate-report');
    const { folder, copy } = scratch;
    // Without versions, another run may have replaced it: its rows would get the label of another report.
    const stored = await store.getFile(object.key, copy, signal, object.version_id);
    if (stored?.crc32 !== object.crc32) {
      if (replaced_copies < MAX_REPLACED_COPIES) return copyAgain(state);
      return deliverWithoutTable(`other runs replaced the file ${count(MAX_REPLACED_COPIES + 1, 'time')}`);
    }
    const file = await findWindowRows(state, schema, copy, signal);
    const accepted_at = request.accept_empty ? object.copied_at : undefined;
    const { acceptedAt = () => accepted_at, lost } = dependencies;
    using database = await openDatabase(folder, signal, countColumns(request, schema));
    const tableFile = { database, store, folder, signal, catalog, file, schema, hash, acceptedAt, lost };
    return finish(state, table, await curate(state, tableFile));
  } catch (error) {
    const problem = error instanceof TableProblem ? error : limitOf(error, signal);
    if (problem) return deliverWithoutTable(problem.message);
    throw error;
  }
}

/** DuckDB needs memory by the columns of a file. */
function countColumns(request: ReportRequest | ListRequest, schema: TableSchema | undefined): number {
  if (schema) return schema.columns.length;
  return request.kind === 'report' ? reportColumns(request).length : 0;
}

/** The table of an export, or the reason why nothing may be written. Neither if it has no table. */
interface ExportTable {
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
  request: ReportRequest | ListRequest,
  catalog: Catalog | undefined,
  hash: string,
): Promise<ExportTable> {
  const table = tableOf(request);
  if (catalog === undefined || table === undefined) return {};
  try {
    const schema = await catalog.getTable(table);
    if (!schema) return { warning: notWritten(table, 'the deployed config has no such table') };
    if (schema.requests[request.account] === hash) return { schema };
    return { warning: notWritten(table, otherRequest(request.account)) };
  } catch (error) {
    // A refusal by Glue or Lake Formation concerns the table only.
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return { problem: notWritten(table, reason) };
  }
}

function finish(
  state: SavedWindow,
  { warning, problem }: ExportTable,
  { rows, curated, warnings }: Curation,
): AuthorizedWindow {
  const notAllowed = problem ?? warning;
  const added = [...(notAllowed === undefined ? [] : [notAllowed]), ...warnings];
  const curatedWindow: SavedWindow = {
    ...state,
    status: 'curated',
    object: { ...state.object, rows: rows ?? state.object.rows },
    curated: { ...curated, table_problem: problem ?? curated.table_problem },
    warnings: [...state.warnings, ...shortenTexts(added, MAX_WARNINGS)],
  };
  return curatedWindow;
}

/** The manifest must not name a file that another run has replaced. */
function copyAgain({ object, replaced_copies = 0, ...window }: SavedWindow): AuthorizedWindow {
  return { ...window, status: 'ready', wait_seconds: MIN_WAIT, replaced_copies: replaced_copies + 1 };
}

export const handler = createHandler(READS.CurateReport, SavedWindow, curateReport, (settings) => {
  return {
    store: createObjectStore(settings),
    catalog: catalogOf(settings),
    target: targetOf(settings),
    maxBytes: Number(settings.MAX_CURATE_BYTES),
  };
});
