import { openPlatform } from './workflow/connect.ts';
import { AuthorizedWindow, type ReportRef } from './workflow/states.ts';
import { step } from './workflow/step.ts';
import { isStuck, MIN_WAIT, pollWait } from './workflow/waits.ts';
import { countUseless, lookAt, type PlatformAccess, Throttled } from './workflow/watch.ts';

/**
 * Looks once at each report that is watched, the oldest first: the first READY one wins, also where it was replaced
 * meanwhile (contract 3). Returns a status and never the URL.
 */
export async function checkReport(
  state: AuthorizedWindow,
  access: PlatformAccess,
): Promise<AuthorizedWindow> {
  let window = state;
  for (const report of state.reports.filter(({ given_up }) => !given_up)) {
    const sight = await lookAt(report, window, access);
    if (sight instanceof Throttled) {
      return { ...window, wait_seconds: sight.seconds, throttled: window.throttled + 1 };
    }
    window = { ...window, throttled: 0, token: { ...window.token, unproven: false } };
    if (sight === 'useless') window = { ...window, reports: countUseless(window.reports, report.id) };
    else if (sight !== 'generating') {
      return { ...window, status: 'ready', ready_id: report.id, wait_seconds: MIN_WAIT };
    }
  }
  return decideWait(window, access.now());
}

/** Nothing is READY: the newest report decides whether to wait on or to replace it. */
function decideWait(window: AuthorizedWindow, now: Date): AuthorizedWindow {
  const newest: ReportRef | undefined = window.reports.at(-1);
  if (!newest || newest.given_up || isStuck(newest.created_at, now)) {
    return { ...window, status: 'planned', wait_seconds: MIN_WAIT };
  }
  return { ...window, status: 'pending', wait_seconds: pollWait(newest.created_at, now) };
}

export const handler = step(AuthorizedWindow, checkReport, openPlatform);
