import { type Copy, openCopy } from './aws/copy/open.ts';
import { openPlatform } from './workflow/connect.ts';
import { objectKey } from './workflow/keys.ts';
import { ReadyWindow, type ReportWindow, type SavedWindow } from './workflow/states.ts';
import { step } from './workflow/step.ts';
import { MIN_WAIT } from './workflow/waits.ts';
import { countUseless, lookAt, type PlatformAccess, proven, Throttled } from './workflow/watch.ts';

interface Dependencies extends PlatformAccess {
  readonly copy: Copy;
}

/**
 * Fetches the READY report's URL itself and copies the file to its key, so that the URL never leaves this step and is
 * fresh at each try. The object becomes visible only when it is complete and its checksum agrees.
 *
 * @throws UrlExpired, CopyFailed, DownloadRefused, AccessRefused beside what a call to the platform throws
 */
export async function saveReport(
  state: ReadyWindow,
  dependencies: Dependencies,
): Promise<ReportWindow | SavedWindow> {
  const report = state.reports.find(({ id }) => id === state.ready_id);
  if (!report) throw new Error(`The state names no report ${state.ready_id}`);
  const sight = await lookAt(report, state, dependencies);
  if (sight instanceof Throttled) {
    return { ...state, wait_seconds: sight.seconds, throttled: state.throttled + 1 };
  }
  const window = proven(state);
  if (sight === 'useless' || sight === 'generating') return watchAgain(window);

  const { request } = window;
  const key = objectKey(request, window.window);
  const copied = await dependencies.copy({ url: sight.url, key, format: request.format });
  const object = { key, ...copied, copied_at: dependencies.now().toISOString() };
  return { ...window, status: 'saved', object };
}

/** It was READY and is not any more: that counts against it, or it could go on like this for ever. */
function watchAgain({ ready_id, ...window }: ReadyWindow): ReportWindow {
  return {
    ...window,
    status: 'pending',
    reports: countUseless(window.reports, ready_id),
    wait_seconds: MIN_WAIT,
  };
}

export const handler = step(ReadyWindow, saveReport, (settings) => ({
  ...openPlatform(settings),
  copy: openCopy(settings),
}));
