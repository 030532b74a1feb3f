import { createHandler } from './aws/handler.ts';
import {
  afterSuccess,
  afterThrottle,
  countUselessAnswer,
  giveUp,
  type ReportAnswer,
} from './decisions/report-answer.ts';
import { isStuck, MIN_WAIT, pollWait } from './decisions/waits.ts';
import { type PlatformAccess, pollReport, RetryAfter } from './token/call-platform.ts';
import { createPlatformAccess } from './token/platform-access.ts';
import { AnswerUnreadable, RequestRefused } from './workflow/errors.ts';
import { type ReportRef, ReportWindow } from './workflow/states.ts';

/**
 * Looks once at each report that is watched, the oldest first: the first READY one wins, also where it was replaced
 * meanwhile (contract 3). Returns a status and never the URL.
 */
export async function checkReport(
  { caught, ...state }: ReportWindow,
  access: PlatformAccess,
): Promise<ReportWindow> {
  // Nothing is asked, so that nothing can come between and have the URL fetched once more.
  if (caught?.Error === 'UrlExpired') return abandonReady(state, access.now());
  let { reports } = state;
  for (const report of watched(state)) {
    const answer = await look(report, state, access);
    // The count goes on until a whole round went through: the first of several reports may always be let pass.
    if (answer instanceof RetryAfter)
      return waitOut(afterThrottle({ ...state, reports }, answer), access.now());
    if (answer === 'useless') reports = countUselessAnswer(reports, report.id);
    else if (answer !== 'generating') {
      return {
        ...afterSuccess(state),
        reports,
        status: 'ready',
        ready_id: report.id,
        wait_seconds: MIN_WAIT,
      };
    }
  }
  return decideWait({ ...afterSuccess(state), reports }, access.now());
}

/** Each one once: a platform may answer the same request with the same report, and two GETs of it would follow each other. */
function watched({ reports }: ReportWindow): ReportRef[] {
  const isLast = (id: string, at: number) => reports.findLastIndex((report) => report.id === id) === at;
  return reports.filter(({ id, given_up }, at) => !given_up && isLast(id, at));
}

/** A report whose URL was refused, fresh as it was, is watched no more. */
function abandonReady({ ready_id, ...window }: ReportWindow, now: Date): ReportWindow {
  return decideWait({ ...window, reports: giveUp(window.reports, ready_id) }, now);
}

/** An answer about a report that was replaced must not fail the window whose new report may be fine. */
async function look(
  report: ReportRef,
  state: ReportWindow,
  access: PlatformAccess,
): Promise<ReportAnswer | RetryAfter> {
  try {
    return await pollReport(report, state, access);
  } catch (error) {
    const isHopeless = error instanceof RequestRefused || error instanceof AnswerUnreadable;
    if (!isHopeless || report.id === state.reports.at(-1)?.id) throw error;
    access.log.warn('a replaced report cannot be looked at', { report_id: report.id, error: error.name });
    return 'useless';
  }
}

/** Who may not look cannot know that a report is stuck: it may well be READY, and a replacement would be asked for in vain. */
function waitOut(window: ReportWindow, now: Date): ReportWindow {
  const newest = window.reports.at(-1);
  const usual = newest ? pollWait(newest.created_at, now) : MIN_WAIT;
  return { ...window, status: 'pending', wait_seconds: Math.max(usual, window.wait_seconds) };
}

/** Nothing is READY: the newest report decides whether to wait on or to replace it. */
function decideWait(window: ReportWindow, now: Date): ReportWindow {
  const newest = window.reports.at(-1);
  if (!newest || newest.given_up || isStuck(newest.created_at, now)) {
    return { ...window, status: 'planned', wait_seconds: MIN_WAIT };
  }
  return { ...window, status: 'pending', wait_seconds: pollWait(newest.created_at, now) };
}

export const handler = createHandler(ReportWindow, checkReport, createPlatformAccess);
