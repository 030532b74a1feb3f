import { createHandler } from './aws/handler.ts';
import { giveUp, interpretReport, noteAnswer, waitAfterRedrive } from './decisions/report-answer.ts';
import { isStuck, MIN_WAIT, pollWait } from './decisions/waits.ts';
import { getReport } from './platform/reports.ts';
import { callPlatform, createPlatformAccess, type PlatformAccess } from './token/call-platform.ts';
import { READS } from './workflow/settings.ts';
import type { ReportRef } from './workflow/state-parts.ts';
import { ReportWindow } from './workflow/states.ts';

/**
 * Polls each report of the window once, oldest first. The first one that is ready wins, even if it was
 * replaced meanwhile. Returns a status, never the URL.
 */
export async function checkReport(
  { caught, ...state }: ReportWindow,
  access: PlatformAccess,
): Promise<ReportWindow> {
  // SaveReport already got a fresh URL that was refused too, so the report is given up without another GET.
  if (caught?.Error === 'UrlExpired') {
    const { ready_id, ...window } = state;
    return waitOrReplace({ ...window, reports: giveUp(window.reports, ready_id) }, access.now());
  }
  let { reports } = state;
  let after: ReportWindow = state;
  for (const report of reportsToPoll(state)) {
    // Only a whole round resets `throttled`: the platform may throttle the later reports.
    const { window, answer: record } = await callPlatform(state, access, (...platform) =>
      getReport(...platform, report.id),
    );
    if (!record) return waitAfterThrottle({ ...window, reports }, access.now());
    after = window;
    const { answer, description, isUnexpected } = interpretReport(record);
    if (isUnexpected) access.log.warn(`the report ${description}`, { report_id: report.id });
    const last_answer = { description, request_id: record.requestId };
    reports = noteAnswer(reports, report.id, last_answer, answer);
    if (typeof answer === 'object') {
      return { ...after, reports, ready_id: report.id, status: 'ready', wait_seconds: MIN_WAIT };
    }
  }
  return waitOrReplace({ ...after, reports }, access.now());
}

/** Polls an id only once, because the platform may answer two POSTs with the same report. */
function reportsToPoll({ reports }: ReportWindow): ReportRef[] {
  const isLast = (id: string, index: number) => reports.findLastIndex((report) => report.id === id) === index;
  return reports.filter(({ id, given_up }, index) => !given_up && isLast(id, index));
}

/** Keeps the newest report, even if it looks stuck: it may be ready, but the poll was throttled. */
function waitAfterThrottle(window: ReportWindow, now: Date): ReportWindow {
  const newest = window.reports.at(-1);
  const wait = newest ? pollWait(newest.created_at, now) : MIN_WAIT;
  return { ...window, status: 'pending', wait_seconds: Math.max(wait, window.wait_seconds) };
}

/** Replaces the newest report if it is stuck or given up, and otherwise polls again later. */
function waitOrReplace(window: ReportWindow, now: Date): ReportWindow {
  const newest = window.reports.at(-1);
  if (!newest || newest.given_up || isStuck(newest.created_at, now))
    return { ...window, status: 'planned', wait_seconds: MIN_WAIT };
  return { ...window, status: 'pending', wait_seconds: pollWait(newest.created_at, now) };
}

export const handler = createHandler(
  READS.CheckReport,
  ReportWindow,
  waitAfterRedrive(checkReport),
  createPlatformAccess,
);
