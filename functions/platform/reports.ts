import * as z from 'zod/mini';
import {
  CREATE_STATUSES,
  type Fields,
  type Meaning,
  pollRequest,
  type Request,
  readCreated,
  readReport,
  reportRequest,
  STATUSES,
} from '../contract.ts';
import { isObject, type JsonObject } from '../workflow/json.ts';
import { addDays, describeDays } from '../workflow/request/dates.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import { cleanIn, cleanSentence, type ReceivedAnswer, requestIdOf } from './answer.ts';
import { type Authorization, isSegment, type Platform } from './connection.ts';
import { parseAnswer, readFacts, unreadableAnswer } from './failures.ts';
import { refusedAdvertisers } from './refused-advertisers.ts';
import { apiCall, callerOf, requireSuccess, send } from './send.ts';

/** A report, as the answer to a GET describes it. */
export interface ReportRecord {
  readonly id: string;
  /** The platform's word; undefined if the report does not exist (404). */
  readonly status: string | undefined;
  /** The meaning of that word; undefined if the contract does not name it. */
  readonly meaning?: Meaning | undefined;
  /** Pre-signed: a secret. Not checked to be a URL. */
  readonly downloadUrl?: string | undefined;
  /** Why the report failed, in a sentence. */
  readonly reason?: string | undefined;
  readonly requestId?: string | undefined;
}

/** Characters. A window's state and the failure report of an export have room for little more. */
const MAX_REASON = 200;

// Accepts a number only if JavaScript holds it exactly: a rounded id would name another report.
const Id = z.pipe(
  z.custom<string | number>(
    (id) => typeof id === 'string' || Number.isSafeInteger(id),
    'neither a string nor an exact integer',
  ),
  z.pipe(
    z.transform(String),
    z
      .string()
      .check(z.refine(isSegment, 'cannot be part of a path'), z.maxLength(256, 'longer than 256 characters')),
  ),
);

const Body = z.custom<Fields>(isObject, 'must be of type object');

const CreatedReport = z.object({ id: Id });

const PollAnswer = z.object({
  id: Id,
  status: z.string().check(z.minLength(1, 'empty')),
  url: z.nullish(z.string()),
  reason: z.optional(z.unknown()),
});

/** The body that creates a report. */
export function reportBody(request: ReportRequest, window: Window): JsonObject {
  return createReportRequest(request, window).body ?? {};
}

/** @param ids in place of the request's */
function createReportRequest(request: ReportRequest, window: Window, ids = request.advertiser_ids): Request {
  const { options, metrics, dimensions, granularity, format } = request;
  const { start_date, end_date } = window;
  const days = { start_date, end_date, last_date: addDays(end_date, -1) };
  return reportRequest({ ...days, advertiser_ids: ids, metrics, dimensions, granularity, format, options });
}

/**
 * Creates a report. There is no idempotency key, so each call creates another report.
 *
 * @param all the ids, if the request is for all advertisers. Advertisers that the platform refuses by name
 *   are left out once; a refusal has created nothing
 */
export async function postReport(
  platform: Platform,
  authorization: Authorization,
  request: ReportRequest,
  window: Window,
  all: readonly string[] = [],
): Promise<{ readonly id: string; readonly refused: readonly string[] }> {
  const about = { doing: `creating a report for ${describeDays(window)}`, creates: true };
  const post = (ids: readonly string[]) => {
    const named = ids.length > 0 ? [...ids] : request.advertiser_ids;
    return send(
      platform,
      apiCall(platform, authorization, createReportRequest(request, window, named), about),
    );
  };
  const first = await post(all);
  const refused = refusedAdvertisers(first, request, window, all);
  const accepted = all.filter((id) => !refused.includes(id));
  const answer = refused.length > 0 && accepted.length > 0 ? await post(accepted) : first;
  const body = parseAnswer(requireSuccess(answer, ...CREATE_STATUSES), Body);
  const { id } = readFacts(answer, { id: readCreated({ status: answer.status, body }) }, CreatedReport);
  return { id: requireHarmless(id, answer), refused };
}

/** GETs a report. The caller must leave MIN_WAIT or more between two calls for one report. */
export async function getReport(
  platform: Platform,
  authorization: Authorization,
  id: string,
): Promise<ReportRecord> {
  if (!isSegment(id)) throw new TypeError(`${JSON.stringify(id)} cannot be a segment of a path`);
  const about = { doing: `polling report ${id}`, facts: { report_id: id } };
  const answer = await send(
    platform,
    apiCall(platform, authorization, pollRequest(id, callerOf(platform)), about),
  );
  if (answer.status === 404) return { id, status: undefined, requestId: requestIdOf(answer) };
  const body = parseAnswer(requireSuccess(answer, 200), Body);
  const record = readFacts(answer, { ...readReport({ id, body }) }, PollAnswer);
  // The rows of another report under this one's key would pass every later check.
  if (requireHarmless(record.id, answer) !== id)
    throw unreadableAnswer(answer, 'the record of another report');
  const { secrets } = answer.call;
  return {
    id,
    // An unknown status goes into the log, and a reason into state and log.
    status: cleanSentence(record.status, secrets),
    meaning: Object.hasOwn(STATUSES, record.status) ? STATUSES[record.status] : undefined,
    downloadUrl: record.url ?? undefined,
    reason: describeReason(record.reason, secrets),
    requestId: requestIdOf(answer),
  };
}

function describeReason(reason: unknown, secrets: readonly string[]): string | undefined {
  if (reason === undefined || reason === null || reason === '') return undefined;
  // Within JSON, a token or a URL may be written in another way, so each text is cleaned before.
  try {
    const text = typeof reason === 'string' ? reason : JSON.stringify(reason, cleanIn(secrets));
    return cleanSentence(text, secrets).slice(0, MAX_REASON);
  } catch {
    // Nested too deep for the stack.
    return undefined;
  }
}

/** The id goes into state and manifest, so it may not hold the token. */
function requireHarmless(id: string, answer: ReceivedAnswer): string {
  if (answer.call.secrets.some((secret) => id.includes(secret)))
    throw unreadableAnswer(answer, 'an id that contains the token');
  return id;
}
