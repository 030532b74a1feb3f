import type { Dispatcher } from 'undici';
import { type Headers, tokenHeaders } from '../contract.ts';
import type { Log } from '../workflow/step.ts';

/**
 * Milliseconds to the response's headers, between two pieces of its body, and from the start of connecting to
 * its last byte. A load balancer gives up on its server after 60 s, so nothing useful comes later. Headers
 * and idle fit into that: 30 + 15 < 60.
 */
export const TIMEOUTS = { headers: 30_000, idle: 15_000, total: 60_000 };

/**
 * A platform may check a report before it answers its creation. If nobody waits for the answer, a report is
 * left that nobody uses. The 90 s are our number: half as much again as a load balancer's 60 s.
 */
export const CREATE_TIMEOUTS = { headers: 90_000, total: 90_000 };

/** The connection of a token request. */
export interface Connection {
  /** http(s) URL; may have a path prefix, with or without a trailing slash. */
  readonly baseUrl: string;
  readonly dispatcher: Dispatcher;
  readonly timeouts?: Partial<typeof TIMEOUTS>;
  /** Gets one line per request. Its request_id is kept for all later lines. */
  readonly log?: Pick<Log, 'info' | 'warn' | 'keep'>;
}

export interface Platform extends Connection {
  /** YYYY-MM-DD. */
  readonly revision: string;
  /** The advertisers that the export names. Default: none. */
  readonly advertiserIds?: readonly string[];
}

/** The headers of a token or a key. */
export interface Authorization {
  readonly headers: Headers;
  /** The token or key that they contain. */
  readonly secret: string;
  /** The scope that the calls need, for the words of a refusal. */
  readonly scope?: string | undefined;
}

export function authorizationOf(token: string, clientId: string): Authorization {
  return { headers: tokenHeaders({ token, clientId }), secret: token };
}

/** @param path begins with a slash */
export function endpoint(baseUrl: string, path: string): URL {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, '') + path;
  url.search = '';
  url.hash = '';
  return url;
}

/** True for a text that can be one segment of a path. No encoding protects `.` and `..`. */
export function isSegment(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && text.isWellFormed() && !/\p{Cc}/u.test(text);
}
