import { createReport as postReport } from './platform/reports.ts';
import { bodyOf } from './workflow/asked.ts';
import { openPlatform } from './workflow/connect.ts';
import { ReportStuck } from './workflow/errors.ts';
import { type ReportRef, ReportWindow } from './workflow/states.ts';
import { step } from './workflow/step.ts';
import { MAX_REPORTS, MIN_WAIT } from './workflow/waits.ts';
import { callPlatform, type PlatformAccess, proven, Throttled } from './workflow/watch.ts';

/**
 * Creates the window's report, or a replacement for one that is stuck or of no use any more (contract 4.3). It is
 * looked at 10 s later for the first time.
 *
 * @throws ReportStuck where all replacements are used up
 */
export async function createReport(state: ReportWindow, access: PlatformAccess): Promise<ReportWindow> {
  const { caught, ready_id, ...window } = state;
  const reports = caught?.Error === 'UrlExpired' ? giveUp(window.reports, ready_id) : window.reports;
  if (reports.length >= MAX_REPORTS) throw replacementsUsedUp(window);

  const { start_date, end_date } = window.window;
  const about = { doing: `create a report for ${start_date} to ${end_date}`, creates: true, facts: {} };
  const created = await callPlatform(window, access, about, (platform, authorization) =>
    postReport(platform, authorization, bodyOf(window.request, window.window)),
  );
  if (created instanceof Throttled) {
    return {
      ...window,
      reports,
      status: 'planned',
      wait_seconds: created.seconds,
      throttled: window.throttled + 1,
    };
  }
  const created_at = access.now().toISOString();
  return {
    ...proven(window),
    reports: [...reports, { id: created.id, created_at, useless_answers: 0, given_up: false }],
    status: 'pending',
    wait_seconds: MIN_WAIT,
  };
}

function giveUp(reports: readonly ReportRef[], id: string | undefined): ReportRef[] {
  return reports.map((report) => (report.id === id ? { ...report, given_up: true } : report));
}

function replacementsUsedUp({ reports, window }: ReportWindow): ReportStuck {
  const ids = reports.map(({ id }) => id);
  const happened =
    `None of ${ids.length} reports for ${window.start_date} to ${window.end_date} could be delivered ` +
    `(${ids.join(', ')}). Ask the platform about them, and run the export again.`;
  return new ReportStuck(happened, { report_ids: ids });
}

export const handler = step(ReportWindow, createReport, openPlatform);
