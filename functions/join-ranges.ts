import { VOID } from './copy/copy-range.ts';
import type { Ends } from './copy/open-ends.ts';
import { type JoinRanges, openRanges } from './copy/open-ranges.ts';
import { MIN_WAIT } from './decisions/waits.ts';
import { asEnded, type CopyRange } from './workflow/copying.ts';
import { CopyFailed, DownloadRefused, UrlExpired } from './workflow/errors.ts';
import { objectKey } from './workflow/keys.ts';
import { DividedWindow, type ReportWindow, type SavedWindow } from './workflow/states.ts';
import { type Common, step } from './workflow/step.ts';

/** Rounds in a row that may bring no range further, until the file is begun again as one. */
const IDLE_ROUNDS_MAX = 3;

/** Nothing that ranges could mend; SaveReport meets it again, and says what it is. */
const FINAL = /^(DownloadRefused|AccessRefused|RequestRefused)$/;

interface Dependencies extends Pick<Common, 'log' | 'now'>, Pick<Ends, 'abandon'> {
  readonly joinRanges: JoinRanges;
}

/**
 * What becomes of a file whose ranges have come as far as they could: an object, if all of them are stored. Otherwise
 * SaveReport looks at the report again and goes on with what is missing, or begins again without ranges.
 *
 * @throws UrlExpired where a fresh URL was refused as well; DownloadRefused, AccessRefused, ServiceUnavailable
 */
export async function joinRanges(
  divided: DividedWindow,
  dependencies: Dependencies,
): Promise<ReportWindow | SavedWindow> {
  const { copying } = divided;
  const ranges = asEnded(copying.ranges, copying.ended);
  const state = { ...divided, copying: { ...copying, ranges, ended: [] } };
  if (ranges.every(({ status }) => status === 'stored')) return join(state, dependencies);
  if (ranges.some(({ status, error = '' }) => status === 'void' || FINAL.test(error)))
    return beginAgain(state, dependencies);
  if (ranges.some(({ error }) => error === 'UrlExpired')) {
    throw new UrlExpired('The storage host refuses the report’s URLs, a fresh one as well.', {
      report_id: state.ready_id,
    });
  }
  return goOn(state, dependencies);
}

async function join(state: DividedWindow, dependencies: Dependencies): Promise<ReportWindow | SavedWindow> {
  const { copying, ...window } = state;
  const { format } = state.request;
  try {
    const joined = await dependencies.joinRanges({ key: keyOf(state), format, copying });
    if (joined === VOID) return await beginAgain(state, dependencies);
    const object = { key: keyOf(state), ...joined, copied_at: dependencies.now().toISOString() };
    return { ...window, status: 'saved', object };
  } catch (error) {
    // Whole, and wrong: none of it is of use.
    if (error instanceof CopyFailed) return beginAgain(state, dependencies);
    if (error instanceof DownloadRefused) await dependencies.abandon(keyOf(state), copying.upload_id);
    throw error;
  }
}

async function goOn(state: DividedWindow, dependencies: Dependencies): Promise<ReportWindow> {
  const { copying } = state;
  const stored_before = copying.ranges.reduce((sum, { from, at }) => sum + at - from, 0);
  const isIdle = stored_before === (copying.stored_before ?? 0);
  const idle_rounds = isIdle ? (copying.idle_rounds ?? 0) + 1 : 0;
  if (idle_rounds === IDLE_ROUNDS_MAX) return beginAgain(state, dependencies);
  return {
    ...state,
    status: 'ready',
    wait_seconds: MIN_WAIT,
    copying: { ...copying, idle_rounds, stored_before },
  };
}

async function beginAgain(state: DividedWindow, { abandon, log }: Dependencies): Promise<ReportWindow> {
  const { copying, ...window } = state;
  log.warn('the file is begun again as one', { ranges: copying.ranges.map(summary) });
  await abandon(keyOf(state), copying.upload_id);
  return { ...window, status: 'ready', wait_seconds: MIN_WAIT, undivided: true };
}

function summary({ first, status, error = '' }: CopyRange): string {
  return `part ${first} on: ${status} ${error}`.trim();
}

function keyOf({ request, window }: DividedWindow): string {
  return objectKey(request, window);
}

export const handler = step(DividedWindow, joinRanges, (settings) => openRanges(settings));
