import { createHandler } from './aws/handler.ts';
import { type Copy, type Left, openCopy, type StoredFile } from './copy/open.ts';
import type { Ends } from './copy/open-ends.ts';
import { waitAfterRedrive } from './decisions/redrive.ts';
import { afterSuccess, afterThrottle, countUselessAnswer } from './decisions/report-answer.ts';
import { MIN_WAIT } from './decisions/waits.ts';
import { type PlatformAccess, pollReport, RetryAfter } from './token/call-platform.ts';
import { createPlatformAccess } from './token/platform-access.ts';
import type { Copying } from './workflow/copying.ts';
import { DownloadRefused } from './workflow/errors.ts';
import { objectKey } from './workflow/keys.ts';
import { ReadyWindow, type ReportWindow, type SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** What is on its way when a call stops has half of it to arrive, and the state machine is to hear of the rest. */
const STOP_BEFORE_MS = 60_000;

/** The 12 h of a window hold 51 calls of 14 min. More of them, and shorter, mean a host that breaks off after each part. */
export const MAX_CALLS = 60;

interface Dependencies extends PlatformAccess, Pick<Common, 'millisecondsLeft'>, Pick<Ends, 'abandon'> {
  readonly copy: Copy;
}

/**
 * Fetches the READY report's URL itself and copies the file to its key, so that the URL never leaves this step and is
 * fresh at each try. The object becomes visible only when it is complete and its checksum agrees. If the file takes
 * longer than one call, the next call resumes it.
 *
 * @throws UrlExpired, CopyFailed, DownloadRefused, AccessRefused beside what a call to the platform throws
 */
export async function saveReport(
  state: ReadyWindow,
  dependencies: Dependencies,
): Promise<ReportWindow | SavedWindow> {
  const report = state.reports.find(({ id }) => id === state.ready_id);
  if (!report) throw new Error(`The state names no report ${state.ready_id}`);
  const answer = await pollReport(report, state, dependencies);
  if (answer instanceof RetryAfter) return afterThrottle(state, answer);
  const window = afterSuccess(state);
  if (answer === 'useless' || answer === 'generating') return watchAgain(window);

  const copying = await mine(window, dependencies);
  const left = await save(window, answer.url, copying, dependencies);
  if (!('position' in left)) return saved(window, left as StoredFile, dependencies);
  return later(window, { ...left, report_id: state.ready_id, calls: window.copying?.calls ?? 0 });
}

/** It was READY and is not any more: that counts against it, or it could go on like this for ever. */
function watchAgain({ ready_id, ...window }: ReadyWindow): ReportWindow {
  return {
    ...window,
    status: 'pending',
    reports: countUselessAnswer(window.reports, ready_id),
    wait_seconds: MIN_WAIT,
  };
}

/** What an earlier call has left of this very report; the file of another one is given up. */
async function mine(window: ReadyWindow, { abandon }: Dependencies): Promise<Copying | undefined> {
  const { copying, ready_id } = window;
  if (copying === undefined) return undefined;
  if (copying.report_id === ready_id && copying.calls < MAX_CALLS) return copying;
  await abandon(keyOf(window), copying.upload_id);
  if (copying.report_id !== ready_id) return undefined;
  throw new DownloadRefused(`The file did not come in ${MAX_CALLS} calls of 15 minutes.`, {
    report_id: ready_id,
  });
}

function save(
  window: ReadyWindow,
  url: string,
  copying: Copying | undefined,
  { copy, millisecondsLeft }: Dependencies,
): Promise<StoredFile | Left> {
  const { format } = window.request;
  const deadline = AbortSignal.timeout(Math.max(0, millisecondsLeft() - STOP_BEFORE_MS));
  return copy({ url, key: keyOf(window), format, copying, deadline, divides: false });
}

function saved(window: ReadyWindow, file: StoredFile, { now }: Dependencies): SavedWindow {
  const { copying: _, ...rest } = window;
  return {
    ...rest,
    status: 'saved',
    object: { key: keyOf(window), ...file, copied_at: now().toISOString() },
  };
}

function later(window: ReadyWindow, copying: Copying): ReportWindow {
  const { calls } = copying;
  return { ...window, status: 'ready', wait_seconds: MIN_WAIT, copying: { ...copying, calls: calls + 1 } };
}

function keyOf({ request, window }: ReadyWindow): string {
  return objectKey(request, window);
}

export const handler = createHandler(ReadyWindow, waitAfterRedrive(saveReport), (settings) => ({
  ...createPlatformAccess(settings),
  ...openCopy(settings),
}));
