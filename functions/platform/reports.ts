import * as z from 'zod/mini';
import { type Answer, cleanSentence, parseAnswer, requestIdOf, unreadable } from './answer.ts';
import { type Authorization, isSegment, type Platform, segment } from './connection.ts';
import { PlatformError } from './errors.ts';
import { apiCall, callApi } from './request.ts';

/** The statuses that the contract names (contract 3); others may come. */
export const STATUSES = ['CREATED', 'PROCESSING', 'READY'] as const;

/** The body of POST /reports (contract 2.2), with options that the contract does not name. */
export interface ReportRequest {
  /** YYYY-MM-DD, inclusive. */
  readonly start_date: string;
  /** YYYY-MM-DD, exclusive, at most 45 days after start_date. */
  readonly end_date: string;
  readonly advertiser_ids: readonly string[];
  readonly metrics: readonly string[];
  readonly dimensions?: readonly string[] | undefined;
  readonly granularity?: string | undefined;
  readonly format?: string | undefined;
  readonly [option: string]: unknown;
}

/** Contract 2.3. */
export interface ReportRecord {
  readonly id: string;
  /** One of STATUSES, or one that the contract does not name. */
  readonly status: string;
  /** Pre-signed: a secret for 24 hours. Not checked to be a URL. */
  readonly downloadUrl?: string | undefined;
  readonly requestId?: string | undefined;
}

/** An id goes into states, logs and the manifest, and the query of an address may be a signature. */
const ADDRESS_WITH_QUERY = /:\/\/.*(\?|%3f)/i;

// Accepts a number only if JavaScript holds it exactly: a rounded id would name another report.
const Id = z.pipe(
  z.custom<string | number>(isId, 'neither a string nor an exact integer'),
  z.pipe(
    z.transform(String),
    z.string().check(
      z.refine(isSegment, 'cannot be part of a path'),
      z.refine((id) => !ADDRESS_WITH_QUERY.test(id), 'an address with a query'),
      z.maxLength(256, 'longer than 256 characters'),
    ),
  ),
);

const Report = z.object(
  {
    id: Id,
    status: z.string('not a string').check(z.minLength(1, 'empty')),
    download_url: z.nullish(z.string('not a string')),
  },
  'not an object',
);

/** POST /reports (contract 4.3). There is no idempotency key: each call creates a report. */
export async function createReport(
  platform: Platform,
  authorization: Authorization,
  body: ReportRequest,
): Promise<ReportRecord> {
  const call = apiCall(platform, authorization, { method: 'POST', path: '/reports', body });
  return readRecord(await callApi(platform, call, 201));
}

/** GET /reports/{id} (contract 4.4). The caller must leave 10 s or more between two calls for one report. */
export async function getReport(
  platform: Platform,
  authorization: Authorization,
  id: string,
): Promise<ReportRecord> {
  const path = `/reports/${segment(id)}`;
  const call = apiCall(platform, authorization, { method: 'GET', path, reportId: id });
  const answer = await callApi(platform, call, 200);
  const record = readRecord(answer);
  // The rows of another report under this one's key would pass every later check.
  if (record.id !== id) throw unreadable(answer, 'the record of another report');
  return record;
}

/** {@link getReport} for a report that may not be there. @returns the error if the platform answers 404 */
export function findReport(...call: Parameters<typeof getReport>): Promise<ReportRecord | PlatformError> {
  return getReport(...call).catch((error: unknown) => {
    if (error instanceof PlatformError && error.status === 404) return error;
    throw error;
  });
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** The id goes into state and manifest, and an unknown status into the log, so neither may hold a secret. */
function readRecord(answer: Answer): ReportRecord {
  const { id, status, download_url } = parseAnswer(answer, Report);
  if (answer.secrets.some((secret) => id.includes(secret)))
    throw unreadable(answer, 'an id that contains the token');
  return {
    id,
    status: cleanSentence(status, answer.secrets),
    downloadUrl: download_url ?? undefined,
    requestId: requestIdOf(answer),
  };
}
