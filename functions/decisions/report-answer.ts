import { type ReportRecord, STATUSES } from '../platform/reports.ts';
import type { ReportRef } from '../workflow/state-parts.ts';
import type { AuthorizedWindow, WindowState } from '../workflow/states.ts';

/** The meaning of one GET of a report. `useless`: the report is not there, or is READY without a valid URL. */
export type ReportAnswer = 'generating' | 'useless' | { readonly url: string };

interface Meaning {
  readonly answer: ReportAnswer;
  /** The text of a warning to log. */
  readonly warning?: string;
}

/**
 * Reads the meaning of a report's record (contract 3). An unknown status counts as `generating`, so it is bounded by the
 * limit for stuck reports.
 *
 * @param record undefined if the platform answered 404
 */
export function readReport(record: ReportRecord | undefined): Meaning {
  if (record === undefined) return { answer: 'useless', warning: 'the report does not exist (404)' };
  const { status, downloadUrl } = record;
  if (!(STATUSES as readonly string[]).includes(status)) {
    return { answer: 'generating', warning: 'the contract does not name this status' };
  }
  if (status !== 'READY') return { answer: 'generating' };
  if (downloadUrl !== undefined && URL.canParse(downloadUrl)) return { answer: { url: downloadUrl } };
  return { answer: 'useless', warning: 'the report is READY without a valid URL' };
}

/** The window after a 429: it waits and counts the 429. */
export function afterThrottle<W extends WindowState>(
  window: W,
  { seconds }: { readonly seconds: number },
): W {
  const { throttled, throttled_in_all = 0 } = window;
  return {
    ...window,
    wait_seconds: seconds,
    throttled: throttled + 1,
    throttled_in_all: throttled_in_all + 1,
  };
}

/** The window after a call that was neither throttled nor refused: the token works, and the count of 429s in a row starts again. */
export function afterSuccess<W extends AuthorizedWindow>(window: W): W {
  return { ...window, throttled: 0, token: { ...window.token, unproven: false } };
}

/** Stops polling the report with this id. */
export function giveUp(reports: readonly ReportRef[], id: string | undefined): ReportRef[] {
  return reports.map((report) => (report.id === id ? { ...report, given_up: true } : report));
}

/** Counts one more useless answer for a report, and gives the report up at the second. */
export function countUselessAnswer(reports: readonly ReportRef[], id: string): ReportRef[] {
  return reports.map((report) => {
    if (report.id !== id) return report;
    const useless_answers = report.useless_answers + 1;
    return { ...report, useless_answers, given_up: useless_answers >= 2 };
  });
}
