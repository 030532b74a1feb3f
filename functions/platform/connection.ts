import type { Dispatcher } from 'undici';
import type { Log } from '../workflow/step.ts';

/**
 * Milliseconds to the response's headers, between two pieces of its body, and from the start of connecting to
 * its last byte. A load balancer gives up on its server after 60 s, so nothing useful comes later. Headers
 * and idle fit into that: 30 + 15 < 60.
 */
export const TIMEOUTS = { headers: 30_000, idle: 15_000, total: 60_000 };

/**
 * A platform may check a report before it answers its creation. An answer that is not waited for leaves a
 * report behind that nobody uses. The 90 s are our number: half as much again as a load balancer's 60 s.
 */
export const CREATE_TIMEOUTS = { headers: 90_000, total: 90_000 };

/** The way to the platform. This is enough for token requests. */
export interface Connection {
  /** http(s) URL; may have a path prefix, with or without a trailing slash. */
  readonly baseUrl: string;
  readonly dispatcher: Dispatcher;
  readonly timeouts?: Partial<typeof TIMEOUTS>;
  /** Gets one line per request. Its request_id is kept for all later lines. */
  readonly log?: Pick<Log, 'info' | 'warn' | 'keep'>;
}

export interface Platform extends Connection {
  /** YYYY-MM-DD, sent as X-Service-Revision; never sent to the token endpoint (contract 9). */
  readonly revision: string;
}

/** The header that authorizes API calls. */
export interface Authorization {
  /** In lower case. */
  readonly header: string;
  /** Its last word is a secret. */
  readonly value: string;
  /** The scope that the calls need, for the words of a refusal. */
  readonly scope?: string | undefined;
}

/** Contract 5.1. */
export function bearer(token: string): Authorization {
  return { header: 'authorization', value: `Bearer ${token}` };
}

/** @param path begins with a slash; variable parts must come from {@link segment} */
export function endpoint(baseUrl: string, path: string): URL {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, '') + path;
  url.search = '';
  url.hash = '';
  return url;
}

/**
 * Encodes text as one segment of a path.
 *
 * @throws TypeError for `.` and `..`, which no encoding protects, and for control characters
 */
export function segment(text: string): string {
  if (!isSegment(text)) throw new TypeError(`${JSON.stringify(text)} cannot be a segment of a path`);
  return encodeURIComponent(text);
}

export function isSegment(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && text.isWellFormed() && !/\p{Cc}/u.test(text);
}
