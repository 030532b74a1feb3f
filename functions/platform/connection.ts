import type { Dispatcher } from 'undici';
import type { NoAnswer } from './errors.ts';

/** Milliseconds. */
export interface Timeouts {
  /** From the request to the answer's headers. */
  readonly headers: number;
  /** Between two pieces of the answer's body. */
  readonly idle: number;
  /** From the first attempt to connect to the last byte of the answer. */
  readonly total: number;
}

// An API answer is one small record. A load balancer gives up on its server after 60 s, so headers after 30 s are
// late and nothing useful comes after 60 s. Idle and headers both fit inside the total: 30 + 15 < 60.
export const TIMEOUTS: Timeouts = { headers: 30_000, idle: 15_000, total: 60_000 };

/** Where the platform is and how it is reached; the transport is handed in. All that a token request needs. */
export interface Connection {
  /** http(s) URL; may have a path prefix, with or without a trailing slash. */
  readonly baseUrl: string;
  readonly dispatcher: Dispatcher;
  readonly timeouts?: Partial<Timeouts>;
  /** Milliseconds since the epoch; Retry-After may be a date. Default: Date.now. */
  readonly now?: () => number;
  /** Told of each request, once it is known what became of it. */
  readonly heard?: (exchange: Exchange) => void;
}

/** One request, and what became of it. */
export interface Exchange {
  readonly method: 'GET' | 'POST';
  /** Relative to the base URL, without the query. */
  readonly path: string;
  /** Until the answer was read; where the caller reads the body itself, until its headers were there. */
  readonly milliseconds: number;
  readonly outcome: Answered | NoAnswer;
}

/** An answer, as far as it was read. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text?: string;
  /** Values that may stand in it and must not be repeated. */
  readonly secrets: readonly string[];
}

/** What an API call needs. */
export interface Platform extends Connection {
  /** YYYY-MM-DD, sent as X-Service-Revision, and never to the token endpoint (contract 9). */
  readonly revision: string;
}

/** How a call identifies itself: contract 5.1, or 5.7 for the reporting endpoints until 2027-01-01. */
export interface Authorization {
  readonly scheme: 'Bearer' | 'ApiKey';
  readonly value: string;
}

/** @param path begins with a slash; what varies in it has gone through {@link segment} */
export function endpoint(baseUrl: string, path: string): URL {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, '') + path;
  url.search = '';
  url.hash = '';
  return url;
}

/** One segment of a path, whatever it holds. Throws a TypeError on `.` and `..`, which no encoding keeps in place. */
export function segment(text: string): string {
  if (!isSegment(text)) throw new TypeError(`${JSON.stringify(text)} cannot be a segment of a path`);
  return encodeURIComponent(text);
}

export function isSegment(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && text.isWellFormed();
}
