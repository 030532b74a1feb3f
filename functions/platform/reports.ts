import * as z from 'zod/mini';
import type { JsonObject } from '../workflow/json.ts';
import { describeDays } from '../workflow/request/dates.ts';
import type { ReportRequest } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import { type Answer, cleanSentence, requestIdOf } from './answer.ts';
import { type Authorization, isSegment, type Platform, segment } from './connection.ts';
import { parseAnswer, unreadable } from './failures.ts';
import { refusedAdvertisers } from './refused-advertisers.ts';
import { apiCall, requireSuccess, send } from './request.ts';

/** The statuses that the contract names (contract 3); others may come. */
export const STATUSES = ['CREATED', 'PROCESSING', 'READY'] as const;

/** Contract 2.3. */
export interface ReportRecord {
  readonly id: string;
  /** One of STATUSES, or one that the contract does not name. Undefined: there is no such report (404). */
  readonly status: string | undefined;
  /** Pre-signed: a secret for 24 hours. Not checked to be a URL. */
  readonly downloadUrl?: string | undefined;
  readonly requestId?: string | undefined;
}

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

const Report = z.object({
  id: Id,
  status: z.string().check(z.minLength(1, 'empty')),
  download_url: z.nullish(z.string()),
});

/** The body of POST /reports (contract 2.2). */
export function reportBody(
  { options, advertiser_ids, metrics, dimensions, granularity, format }: ReportRequest,
  window: Window,
): JsonObject {
  const fields = { advertiser_ids, metrics, ...(dimensions && { dimensions }), granularity, format };
  const { start_date, end_date } = window;
  return { ...options, start_date, end_date, ...fields };
}

/**
 * POST /reports (contract 4.3). There is no idempotency key: each call creates a report.
 *
 * @param all the ids, if the request is for all advertisers. Advertisers that the platform refuses by name
 *   are left out once; a refusal has created nothing
 */
export async function createReport(
  platform: Platform,
  authorization: Authorization,
  request: ReportRequest,
  window: Window,
  all: readonly string[] = [],
): Promise<ReportRecord & { readonly refused: readonly string[] }> {
  const doing = `creating a report for ${describeDays(window)}`;
  const post = (ids: readonly string[]) => {
    const body = { ...reportBody(request, window), ...(ids.length > 0 && { advertiser_ids: ids }) };
    const call = { method: 'POST', path: '/reports', body, doing, creates: true } as const;
    return send(platform, apiCall(platform, authorization, call));
  };
  const first = await post(all);
  const refused = refusedAdvertisers(first, reportBody(request, window), all);
  const accepted = all.filter((id) => !refused.includes(id));
  const answer = refused.length > 0 && accepted.length > 0 ? await post(accepted) : first;
  return { ...readRecord(requireSuccess(answer, 201)), refused };
}

/** GET /reports/{id} (contract 4.4). The caller must leave 10 s or more between two calls for one report. */
export async function getReport(
  platform: Platform,
  authorization: Authorization,
  id: string,
): Promise<ReportRecord> {
  const about = { doing: `polling report ${id}`, facts: { report_id: id } };
  const get = { method: 'GET', path: `/reports/${segment(id)}`, ...about } as const;
  const answer = await send(platform, apiCall(platform, authorization, get));
  if (answer.status === 404) return { id, status: undefined, requestId: requestIdOf(answer) };
  const record = readRecord(requireSuccess(answer, 200));
  // The rows of another report under this one's key would pass every later check.
  if (record.id !== id) throw unreadable(answer, 'the record of another report');
  return record;
}

/** The id goes into state and manifest, and an unknown status into the log, so neither may hold a secret. */
function readRecord(answer: Answer): ReportRecord {
  const { id, status, download_url } = parseAnswer(answer, Report);
  if (answer.call.secrets.some((secret) => id.includes(secret)))
    throw unreadable(answer, 'an id that contains the token');
  return {
    id,
    status: cleanSentence(status, answer.call.secrets),
    downloadUrl: download_url ?? undefined,
    requestId: requestIdOf(answer),
  };
}
