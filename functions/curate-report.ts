import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCatalog } from './aws/catalog.ts';
import { createHandler } from './aws/handler.ts';
import { createObjectStore } from './aws/objects.ts';
import { type Curation, curateList, curateRows, type TableAccess } from './curate/curate-file.ts';
import { type FoundTable, findTable } from './curate/find-table.ts';
import { describeLimit } from './curate/problems.ts';
import { readCopy } from './curate/read-copy.ts';
import { CurateLimit } from './curate/report.ts';
import { hasRows } from './curate/spool.ts';
import { platformName } from './decisions/platform-request.ts';
import { type RequestTarget, requestHash } from './decisions/request-hash.ts';
import { MAX_REPLACED_COPIES, MIN_WAIT } from './decisions/waits.ts';
import { shortenWarnings } from './decisions/warnings.ts';
import { READS } from './workflow/settings.ts';
import { type AuthorizedWindow, SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** DuckDB stops this long before the function's timeout, so that the step can still say why. Lambda would just kill it. */
const STOP_BEFORE_MS = 60_000;

/** Bytes of the warnings that the step adds to the window's state. The manifest shows them. */
const MAX_WARNINGS = 4_000;

interface Dependencies extends TableAccess, Pick<Common, 'millisecondsLeft'> {
  readonly target: RequestTarget;
  /** The largest file that is read. */
  readonly maxBytes: number;
}

/**
 * Reads the rows of the file that was copied, and writes them into the export's table: one object per day. The file is
 * delivered even if the table cannot take it: the reason becomes a warning.
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
  const table = await findTable(request, { catalog, hash });
  const unread = (reason: string) => finish(state, table, withoutRows(table, reason));
  if (request.kind === 'report' && !hasRows(request.format))
    return unread(`files of format ${request.format} cannot be read`);
  // The rows of a list were counted when it was written, so only its table needs them.
  if (request.kind !== 'report' && !table.schema) return finish(state, table, { curated: {}, warnings: [] });
  if (object.bytes > maxBytes)
    return unread(`the file has ${object.bytes} bytes, more than max_curate_bytes (${maxBytes}) allows`);

  const signal = AbortSignal.timeout(Math.max(0, millisecondsLeft() - STOP_BEFORE_MS));
  try {
    await using scratch = await openScratchFolder();
    const { folder } = scratch;
    const file = await readCopy(object, request, {
      store,
      folder,
      signal,
      dateColumn: table.schema?.date_column,
    });
    if (file) {
      const curate = request.kind === 'list' ? curateList : curateRows;
      const work = { file, schema: table.schema, hash, signal, folder };
      return finish(state, table, await curate(state, work, dependencies));
    }
  } catch (error) {
    if (error instanceof CurateLimit) return unread(describeLimit(error));
    throw error;
  }
  if ((state.replaced_copies ?? 0) < MAX_REPLACED_COPIES) return copyAgain(state);
  return unread(`other runs replaced the file ${MAX_REPLACED_COPIES + 1} times`);
}

/** The function's own folder. A call that was killed may have left its files there: Lambda keeps them. */
async function openScratchFolder(): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = join(tmpdir(), 'curate-report');
  const remove = () => rm(folder, { recursive: true, force: true });
  await remove();
  await mkdir(folder, { recursive: true });
  return { folder, [Symbol.asyncDispose]: remove };
}

function withoutRows({ schema }: FoundTable, reason: string): Curation {
  const warning = `the rows were not read: ${reason}`;
  return { curated: { ...(schema && { table_problem: warning }) }, warnings: [warning] };
}

function finish(
  state: SavedWindow,
  { warning, problem }: FoundTable,
  { rows, curated, warnings }: Curation,
): SavedWindow {
  const refused = problem ?? warning;
  const added = [...(refused === undefined ? [] : [refused]), ...warnings];
  const table_problem = problem ?? curated.table_problem;
  return {
    ...state,
    status: 'curated',
    object: { ...state.object, ...(rows !== undefined && { rows }) },
    curated: { ...curated, ...(table_problem !== undefined && { table_problem }) },
    warnings: [...state.warnings, ...shortenWarnings(added, MAX_WARNINGS)],
  };
}

/** The manifest must not name a file that another run has replaced. */
function copyAgain({ object, replaced_copies = 0, ...window }: SavedWindow): AuthorizedWindow {
  return { ...window, status: 'ready', wait_seconds: MIN_WAIT, replaced_copies: replaced_copies + 1 };
}

export const handler = createHandler(READS.CurateReport, SavedWindow, curateReport, (settings) => {
  const { BUCKET, GLUE_DATABASE } = settings;
  return {
    store: createObjectStore(settings),
    catalog: GLUE_DATABASE === undefined ? undefined : createCatalog({ BUCKET, GLUE_DATABASE }),
    target: {
      platform: platformName(settings.PLATFORM_BASE_URL),
      revision: settings.PLATFORM_REVISION,
    },
    maxBytes: Number(settings.MAX_CURATE_BYTES),
  };
});
