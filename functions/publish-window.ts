import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { writeManifest } from './days/manifest.ts';
import { type RequestTarget, targetOf } from './decisions/request-hash.ts';
import { shortenTexts, truncate } from './decisions/warnings.ts';
import { readCause } from './workflow/errors.ts';
import { manifestKey } from './workflow/keys.ts';
import { READS } from './workflow/settings.ts';
import { TableChanges } from './workflow/state-parts.ts';
import { type DeliveredWindow, SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';
import { tableOf } from './workflow/table.ts';

/**
 * Bytes of a window's warnings and of its table problem in the export's state. Its other fields have at most
 * 1,000 bytes, so a delivered window is not larger than a failed one, for which that state has room (see
 * MAX_WINDOWS).
 */
const MAX_WARNINGS = 700;
const MAX_PROBLEM = 300;

interface Dependencies extends RequestTarget, Pick<Common, 'now'> {
  readonly store: Pick<ObjectStore, 'bucket' | 'getTagged' | 'putJson'>;
  readonly hasTables: boolean;
}

/**
 * Writes the window's manifest last: a reader of the manifest can rely on the object that it names. If
 * another execution has delivered a newer report of the window, its manifest stays.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function publishWindow(
  { caught, ...state }: SavedWindow,
  dependencies: Dependencies,
): Promise<DeliveredWindow> {
  const { request, window, object, ready_id, curated, export_warnings = state.warnings.length } = state;
  const [happened] = readCause(caught?.Cause).happened.split('\n', 1);
  // If CurateReport was killed, it may have written some months. The file is delivered all the same.
  const death = caught && `the rows were not read, or the table may lack days (${caught.Error}): ${happened}`;
  const warnings = [...state.warnings, ...(death === undefined ? [] : [death])];
  // An export without a table lacks no days, and the platform's total has none.
  const hasDays = dependencies.hasTables && tableOf(request) !== undefined && window.content !== 'total';
  const table_problem = (hasDays ? death : undefined) ?? curated?.table_problem;
  const newer = await writeManifest({ ...state, warnings }, table_problem, dependencies);
  if (newer)
    warnings.push(
      `execution ${newer.execution} delivered a newer report of this window, so its manifest stays`,
    );
  return {
    outcome: 'delivered',
    window,
    key: object.key,
    manifest_key: manifestKey(request, window),
    report_id: ready_id,
    bytes: object.bytes,
    rows: object.rows,
    table_problem: table_problem && truncate(table_problem, MAX_PROBLEM),
    ...(curated?.table && TableChanges.parse(curated.table)),
    ...(warnings.length > export_warnings && {
      warnings: shortenTexts(warnings.slice(export_warnings), MAX_WARNINGS),
    }),
  };
}

export const handler = createHandler(READS.PublishWindow, SavedWindow, publishWindow, (settings) => ({
  store: createObjectStore(settings),
  ...targetOf(settings),
  hasTables: settings.GLUE_DATABASE !== undefined,
}));
