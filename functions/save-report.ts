import { createHandler } from './aws/handler.ts';
import { type Copy, type CopyCheckpoint, createCopy } from './copy/copy.ts';
import { interpretReport, noteAnswer, waitAfterRedrive } from './decisions/report-answer.ts';
import { MIN_WAIT } from './decisions/waits.ts';
import { getReport } from './platform/reports.ts';
import {
  callPlatform,
  createPlatformAccess,
  type PlatformAccess,
  waitAsTold,
} from './token/call-platform.ts';
import { CopyFailed, DownloadRefused } from './workflow/errors.ts';
import { objectKey } from './workflow/keys.ts';
import { READS } from './workflow/settings.ts';
import type { Checkpoint, ReportRef } from './workflow/state-parts.ts';
import { ReadyWindow, type ReportWindow, type SavedWindow } from './workflow/states.ts';
import type { Common } from './workflow/step.ts';

/** In half of this time, the parts on their way arrive. The rest is for the calls that end the copy. */
const STOP_BEFORE_MS = 60_000;

/**
 * Calls that left a checkpoint, over all reports of the window. Its 12 h hold 51 calls of 14 min. More calls
 * mean that the host breaks off after every few parts, and each break costs a call and MIN_WAIT: 60 × 10 s =
 * 10 min.
 */
export const MAX_CALLS = 60;

interface Dependencies extends PlatformAccess, Pick<Common, 'millisecondsLeft'> {
  readonly copy: Copy;
}

/**
 * Gets the report's URL itself and copies the file to its key, so the URL never leaves this step, and each
 * try has a fresh URL. The object becomes visible only when it is complete and its checksum agrees. If the
 * download breaks off, or takes longer than one call, the next call resumes it.
 *
 * @throws UrlExpired, CopyFailed, DownloadRefused, AccessRefused, and the errors of a platform call
 */
export async function saveReport(
  state: ReadyWindow,
  dependencies: Dependencies,
): Promise<ReportWindow | SavedWindow> {
  const report = state.reports.find(({ id }) => id === state.ready_id);
  if (!report) throw new Error(`The state names no report ${state.ready_id}`);
  const { window, answer: record } = await callPlatform(state, dependencies, (...platform) =>
    getReport(...platform, report.id),
  );
  if (!record) return window;
  const { answer, description, isUnexpected } = interpretReport(record);
  if (isUnexpected) dependencies.log.warn(`the report ${description}`, { report_id: report.id });
  const last_answer = { description, request_id: record.requestId };
  if (typeof answer === 'string') return watchAgain(window, last_answer, answer);

  const checkpoint = findCheckpoint(window);
  const deadline = AbortSignal.timeout(Math.max(0, dependencies.millisecondsLeft() - STOP_BEFORE_MS));
  const copied = await dependencies
    .copy({
      url: answer.url,
      key: objectKey(window.request, window.window),
      checkpoint,
      deadline,
    })
    .catch((error: unknown) => {
      // The GET before the copy has set the count of the window back.
      if (error instanceof CopyFailed && error.facts.retry_after !== undefined)
        return waitAsTold({ ...window, throttled: state.throttled }, error);
      throw error;
    });
  if ('reports' in copied) return copied;
  if ('upload_id' in copied) return continueLater(window, copied);
  const { checkpoint: _, ...rest } = window;
  return { ...rest, status: 'saved', object: { ...copied, copied_at: dependencies.now().toISOString() } };
}

/** Counts it as a useless answer if a report is no longer ready. Otherwise this could repeat forever. */
function watchAgain(
  { ready_id: id, ...window }: ReadyWindow,
  last_answer: ReportRef['last_answer'],
  answer: 'generating' | 'useless' | 'failed',
): ReportWindow {
  return {
    ...window,
    status: 'pending',
    reports: noteAnswer(window.reports, id, last_answer, answer === 'failed' ? 'failed' : 'useless'),
    wait_seconds: MIN_WAIT,
  };
}

/** A report that was replaced leaves parts in S3. The bucket's lifecycle rule removes them. */
function findCheckpoint({ checkpoint, ready_id }: ReadyWindow): Checkpoint | undefined {
  if (checkpoint?.report_id !== ready_id) return undefined;
  if (checkpoint.calls < MAX_CALLS) return checkpoint;
  throw new DownloadRefused(`The file could not be copied in ${MAX_CALLS} calls of at most 15 minutes.`, {
    report_id: ready_id,
  });
}

function continueLater(window: ReadyWindow, left: CopyCheckpoint): ReportWindow {
  const calls = (window.checkpoint?.calls ?? 0) + 1;
  const checkpoint = { ...left, report_id: window.ready_id, calls };
  return { ...window, status: 'ready', wait_seconds: MIN_WAIT, checkpoint };
}

export const handler = createHandler(
  READS.SaveReport,
  ReadyWindow,
  waitAfterRedrive(saveReport),
  (settings) => ({
    ...createPlatformAccess(settings),
    copy: createCopy(settings),
  }),
);
