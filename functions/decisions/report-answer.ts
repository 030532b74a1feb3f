import type { ReportRecord } from '../platform/reports.ts';
import type { ReportRef } from '../workflow/state-parts.ts';
import type { WindowState } from '../workflow/states.ts';
import type { Common } from '../workflow/step.ts';
import { MIN_WAIT } from './waits.ts';

/** A report, as the answer to a GET shows it. */
interface PolledReport {
  /**
   * `useless`: there is no such report, or it is ready without a valid URL. `failed`: there will be no file.
   */
  readonly answer: 'generating' | 'useless' | 'failed' | { readonly url: string };
  /** See {@link ReportRef}. */
  readonly description: string;
  /** A person may want to know of it. */
  readonly isUnexpected: boolean;
}

/**
 * Interprets a report's record. A status that the contract does not name counts as `generating`, so the limit
 * for stuck reports bounds it.
 */
export function interpretReport({ status, meaning, downloadUrl, reason }: ReportRecord): PolledReport {
  if (status === undefined)
    return { answer: 'useless', description: 'does not exist (404)', isUnexpected: true };
  const description = `is ${status}`;
  if (meaning === 'generating') return { answer: 'generating', description, isUnexpected: false };
  if (meaning === 'failed') {
    const withReason = reason === undefined ? description : `${description}: ${reason}`;
    return { answer: 'failed', description: withReason, isUnexpected: true };
  }
  if (meaning === undefined) {
    const unnamed = `has the status ${status}, which the contract does not name`;
    return { answer: 'generating', description: unnamed, isUnexpected: true };
  }
  if (downloadUrl !== undefined && URL.canParse(downloadUrl))
    return { answer: { url: downloadUrl }, description, isUnexpected: false };
  return { answer: 'useless', description: `${description} without a valid URL`, isUnexpected: true };
}

/** Stops polling the report whose URL was refused. */
export function giveUp(reports: readonly ReportRef[], id: string | undefined): ReportRef[] {
  const description = 'was ready, but its URL was refused';
  return reports.map((report) => {
    if (report.id !== id) return report;
    return { ...report, given_up: true, last_answer: { ...report.last_answer, description } };
  });
}

/** Keeps the last answer about a report. Gives it up if it has failed, and at the second useless answer. */
export function noteAnswer(
  reports: readonly ReportRef[],
  id: string | undefined,
  last_answer: ReportRef['last_answer'],
  answer: PolledReport['answer'],
): ReportRef[] {
  return reports.map((report) => {
    if (report.id !== id) return report;
    const useless_answers = report.useless_answers + (answer === 'useless' ? 1 : 0);
    return { ...report, last_answer, useless_answers, given_up: answer === 'failed' || useless_answers >= 2 };
  });
}

/** The last answer about each report, for the message of a failure. */
export function describeLastAnswers(reports: readonly ReportRef[]): string {
  const sentences = reports.map(({ id, last_answer }) => {
    const { description, request_id } = last_answer ?? { description: 'was never polled' };
    const sentence = `report ${id} ${description}`;
    return request_id === undefined ? sentence : `${sentence}, request_id ${request_id}`;
  });
  return sentences.join('; ');
}

/** The ids for the facts of a failure. */
export function idsOf(reports: readonly ReportRef[]): { report_ids: string[]; request_ids: string[] } {
  return {
    report_ids: reports.map(({ id }) => id),
    request_ids: reports.flatMap(({ last_answer }) => last_answer?.request_id ?? []),
  };
}

/**
 * Makes a step that GETs a report wait first if its execution was redriven. A redrive
 * starts a stopped state again at once, with the input that it had, which cannot tell whether the stopped
 * call sent its GET. (A slow call may still send one after the redrive: a stop does not end a function.)
 *
 * We take `$$.Execution.RedriveCount` to be the window's own, because AWS documents that a redrive of the
 * export redrives its child executions. If it were the export's, a window that starts later would wait once.
 */
export function waitAfterRedrive<S extends WindowState, D, O>(
  step: (state: S, dependencies: D) => Promise<O>,
): (state: S, dependencies: D & Pick<Common, 'redriveCount' | 'log'>) => Promise<O | S> {
  return async (state, dependencies) => {
    const { redriveCount, log } = dependencies;
    if (redriveCount <= (state.redrive_count ?? 0)) return step(state, dependencies);
    log.info('the execution was redriven; waiting before the next GET', { redrive_count: redriveCount });
    return { ...state, wait_seconds: MIN_WAIT, redrive_count: redriveCount };
  };
}
