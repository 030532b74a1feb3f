import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { readAdvertisers } from './days/advertisers.ts';
import { countAdvertisers } from './decisions/newcomers.ts';
import { describeLastAnswers, idsOf } from './decisions/report-answer.ts';
import { FIRST_POLL_WAIT, MAX_LOST_ANSWERS, MAX_REPORTS, throttleWait } from './decisions/waits.ts';
import { truncate } from './decisions/warnings.ts';
import { postReport } from './platform/reports.ts';
import { callPlatform, createPlatformAccess, type PlatformAccess } from './token/call-platform.ts';
import { count } from './workflow/count.ts';
import { AccessRefused, AnswerLost, AnswerUnreadable, ReportStuck } from './workflow/errors.ts';
import type { ReportRequest } from './workflow/request/request.ts';
import { READS } from './workflow/settings.ts';
import type { ReportRef, Window } from './workflow/state-parts.ts';
import { ReportWindow } from './workflow/states.ts';

/** Bytes of a warning in the state: about 20 ids. */
const MAX_WARNING = 1_000;

interface Dependencies extends PlatformAccess {
  readonly store: Pick<ObjectStore, 'getText'>;
}

/**
 * Creates the window's report, or a replacement for one that is stuck, failed or useless. The first
 * poll follows after the shortest wait. A lost answer may have left a report behind, so it is repeated only
 * once.
 *
 * @throws ReportStuck if all replacements are used up
 * @throws AnswerLost, AnswerUnreadable for the second lost answer
 * @throws AccessRefused if the list of advertisers was damaged or removed
 */
export async function createReport(
  { caught, ...state }: ReportWindow,
  { store, ...access }: Dependencies,
): Promise<ReportWindow> {
  const { reports, request, window, advertisers, lost_answers = 0 } = state;
  if (reports.length >= MAX_REPORTS)
    // The message begins with the last answers, because an export shows only its first 400 bytes.
    throw new ReportStuck(`No report could be delivered: ${describeLastAnswers(reports)}.`, idsOf(reports));
  const all = advertisers ? await readAdvertisers(store, advertisers.key) : [];
  if (!all)
    throw new AccessRefused(
      `The list of advertisers ${advertisers?.key} was damaged or removed. A new run writes the list again.`,
      { account: request.account },
    );
  const outcome = await callPlatform(state, access, (...platform) =>
    postReport(...platform, requestFor(request, window), window, all),
  ).catch((error: unknown) => acceptLostAnswer(error, lost_answers, access));
  if ('retry_after' in outcome)
    return {
      ...state,
      status: 'planned',
      wait_seconds: throttleWait(outcome.retry_after, 0),
      lost_answers: lost_answers + 1,
    };
  const { window: after, answer } = outcome;
  if (!answer) return { ...after, status: 'planned' };
  return {
    ...leaveOutRefused(after, all, answer.refused),
    reports: [...reports, newReport(answer, access)],
    status: 'pending',
    wait_seconds: FIRST_POLL_WAIT,
  };
}

/** Without dimensions, the platform adds the rows of a day up itself. */
function requestFor({ dimensions, ...request }: ReportRequest, { content }: Window): ReportRequest {
  return content === 'total' || dimensions === undefined ? request : { ...request, dimensions };
}

function newReport({ id }: { readonly id: string }, { now }: PlatformAccess): ReportRef {
  return { id, created_at: now().toISOString(), useless_answers: 0, given_up: false };
}

/** The warning of each window has the same words, so an export's result has it once. */
function leaveOutRefused(
  { advertisers, ...state }: ReportWindow,
  all: readonly string[],
  refused: readonly string[],
): ReportWindow {
  if (!advertisers) return state;
  const counted = { ...advertisers, count: all.length - refused.length };
  if (refused.length === 0) return { ...state, advertisers: counted };
  const warning = `the platform refused ${count(refused.length, 'advertiser')} of its own list, so the report is without: ${refused.join(', ')}`;
  return {
    ...state,
    advertisers: { ...counted, refused: countAdvertisers(refused) },
    warnings: [...new Set([...state.warnings, truncate(warning, MAX_WARNING)])],
  };
}

/** Returns a value instead of an error, because the window's state has to count it. */
function acceptLostAnswer(
  error: unknown,
  lostAnswers: number,
  { log }: PlatformAccess,
): { readonly retry_after: number | undefined } {
  const isLost = error instanceof AnswerLost || error instanceof AnswerUnreadable;
  if (!isLost || lostAnswers >= MAX_LOST_ANSWERS) throw error;
  log.warn('the answer was lost; the report will be created once more', {
    error: error.name,
    ...error.facts,
  });
  return { retry_after: error.facts.retry_after as number | undefined };
}

export const handler = createHandler(READS.CreateReport, ReportWindow, createReport, (settings) => ({
  ...createPlatformAccess(settings),
  store: createObjectStore(settings),
}));
