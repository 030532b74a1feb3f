import { createHandler } from './aws/handler.ts';
import { createObjectStore, type ObjectStore } from './aws/objects.ts';
import { idsOf, sayLastAnswers } from './decisions/report-answer.ts';
import { sayNoTotal } from './decisions/total.ts';
import { MAX_LOST_ANSWERS, MAX_REPORTS, MIN_WAIT, throttleWait } from './decisions/waits.ts';
import { truncate } from './decisions/warnings.ts';
import { readAdvertisers } from './deliveries/advertisers.ts';
import { createReport as postReport } from './platform/reports.ts';
import { callPlatform, createPlatformAccess, type PlatformAccess } from './token/call-platform.ts';
import { count } from './workflow/count.ts';
import { AnswerLost, AnswerUnreadable, ExportError, ReportStuck, TokenRefused } from './workflow/errors.ts';
import { READS } from './workflow/settings.ts';
import type { ReportRef } from './workflow/state-parts.ts';
import { ReportWindow } from './workflow/states.ts';

/** Bytes of a warning in the state: about 20 ids. */
const MAX_WARNING = 1_000;

interface Dependencies extends PlatformAccess {
  readonly store: Pick<ObjectStore, 'getText'>;
}

/**
 * Creates the window's report, or a replacement for one that is stuck or useless (contract 4.3). The first
 * poll follows 10 s later. If the request reconciles, the platform's total comes in between: in an entry of
 * its own, so that no failure repeats the first report. A lost answer may have left a report behind, so it is
 * repeated only once.
 *
 * @throws ReportStuck if all replacements are used up
 * @throws AnswerLost, AnswerUnreadable for the second lost answer
 */
export async function createReport(
  { caught, ...state }: ReportWindow,
  { store, ...access }: Dependencies,
): Promise<ReportWindow> {
  const { reports, request, window, advertisers, lost_answers = 0 } = state;
  // The platform's total is not replaced.
  if (reports.length >= (state.main ? 1 : MAX_REPORTS))
    // It begins with the last answers, because an export shows only its first 400 bytes.
    throw new ReportStuck(`No report could be delivered: ${sayLastAnswers(reports)}.`, idsOf(reports));
  const { advertiser_ids: all } = advertisers
    ? await readAdvertisers(store, advertisers.key)
    : { advertiser_ids: [] };
  // A report is replaced only after it was polled.
  if (request.reconcile && reports[0] && !reports[0].last_answer) return createTotal(state, access, all);
  const called = await callPlatform(state, access, (...platform) =>
    postReport(...platform, request, window, all),
  ).catch((error: unknown) => acceptLostAnswer(error, lost_answers, access));
  if ('retry_after' in called)
    return {
      ...state,
      status: 'planned',
      wait_seconds: throttleWait(called.retry_after, 0),
      lost_answers: lost_answers + 1,
    };
  const { window: after, answer } = called;
  if (!answer) return { ...after, status: 'planned' };
  return {
    ...leaveOut(after, all, answer.refused),
    reports: [...reports, newReport(answer, access)],
    status: request.reconcile && reports.length === 0 ? 'planned' : 'pending',
    wait_seconds: MIN_WAIT,
  };
}

function newReport({ id }: { readonly id: string }, { now }: PlatformAccess): ReportRef {
  return { id, created_at: now().toISOString(), useless_answers: 0, given_up: false };
}

/**
 * Creates the platform's total. After a second 429, and any failure that a new token does not cure, the
 * window is delivered without it.
 *
 * @throws TokenRefused unless the token is new
 */
async function createTotal(
  state: ReportWindow,
  access: PlatformAccess,
  all: readonly string[],
): Promise<ReportWindow> {
  const { dimensions, ...request } = state.request;
  const called = await callPlatform(state, access, (...platform) =>
    postReport(...platform, request, state.window, all),
  ).catch((error: Error) => error);
  if (called instanceof TokenRefused && !state.token.unproven) throw called;
  const next = { status: 'pending', wait_seconds: MIN_WAIT } as const;
  const withoutTotal = (reason: string) => {
    return { ...state, ...next, warnings: [...state.warnings, sayNoTotal(reason)] };
  };
  if (called instanceof Error)
    return withoutTotal(called instanceof ExportError ? called.happened : 'it was not created');
  const { window, answer } = called;
  if (answer) return { ...window, ...next, total: newReport(answer, access) };
  return state.throttled === 0 ? window : withoutTotal('the platform answered 429 again');
}

/** Each window has the same words, so an export's result has them once. */
function leaveOut(
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
    advertisers: { ...counted, refused: refused.length },
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
