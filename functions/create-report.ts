import { createHandler } from './aws/handler.ts';
import { reportBody } from './decisions/platform-request.ts';
import { afterSuccess, afterThrottle } from './decisions/report-answer.ts';
import { MAX_LOST_ANSWERS, MAX_REPORTS, MIN_WAIT } from './decisions/waits.ts';
import { createReport as postReport } from './platform/reports.ts';
import { callPlatform, type PlatformAccess, RetryAfter } from './token/call-platform.ts';
import { createPlatformAccess } from './token/platform-access.ts';
import { AnswerLost, AnswerUnreadable, ReportStuck } from './workflow/errors.ts';
import { ReportWindow } from './workflow/states.ts';

/**
 * Creates the window's report, or a replacement for one that is stuck or of no use any more (contract 4.3). It is
 * looked at 10 s later for the first time. An answer that was lost may have left a report behind, so only one in a
 * window's life is followed by another try.
 *
 * @throws ReportStuck where all replacements are used up, AnswerLost and AnswerUnreadable for the second one
 */
export async function createReport(
  { caught, ...window }: ReportWindow,
  access: PlatformAccess,
): Promise<ReportWindow> {
  const { reports } = window;
  if (reports.length >= MAX_REPORTS) throw replacementsUsedUp(window);

  const { start_date, end_date } = window.window;
  const about = { doing: `creating a report for ${start_date} to ${end_date}`, creates: true, facts: {} };
  const created = await callPlatform(window, access, about, (platform, authorization) =>
    postReport(platform, authorization, reportBody(window.request, window.window)),
  ).catch((error: unknown) => passOver(error, window, access));
  if (created === 'lost') {
    const lost_answers = (window.lost_answers ?? 0) + 1;
    return { ...window, status: 'planned', wait_seconds: MIN_WAIT, lost_answers };
  }
  if (created instanceof RetryAfter) return { ...afterThrottle(window, created), status: 'planned' };
  const created_at = access.now().toISOString();
  return {
    ...afterSuccess(window),
    reports: [...reports, { id: created.id, created_at, useless_answers: 0, given_up: false }],
    status: 'pending',
    wait_seconds: MIN_WAIT,
  };
}

/** A value, not an error, because it has to be counted in the window's state. */
function passOver(error: unknown, { lost_answers = 0 }: ReportWindow, { log }: PlatformAccess): 'lost' {
  const isLost = error instanceof AnswerLost || error instanceof AnswerUnreadable;
  if (!isLost || lost_answers >= MAX_LOST_ANSWERS) throw error;
  log.warn('the answer was lost, and the report is created once more', { error: error.name, ...error.facts });
  return 'lost';
}

function replacementsUsedUp({ reports, window }: ReportWindow): ReportStuck {
  const ids = reports.map(({ id }) => id);
  const happened =
    `None of ${ids.length} reports for ${window.start_date} to ${window.end_date} could be delivered ` +
    `(${ids.join(', ')}). Ask the platform about them, and run the export again.`;
  return new ReportStuck(happened, { report_ids: ids });
}

export const handler = createHandler(ReportWindow, createReport, createPlatformAccess);
