import type { Endpoint } from '../exchange.ts';

/** What happens to a request. All effects can be combined; `parse-fault.ts` lists them as an operator writes them. */
export type FaultEffect = {
  /**
   * The status of the response. From 300 on the request is not processed (see `processed`). Below 300 it is processed,
   * and the response gets this status.
   */
  status?: number;
  /** Headers to add or replace. */
  headers?: Readonly<Record<string, string>>;
  /** Names of headers to remove. */
  withoutHeaders?: readonly string[];
  /** Retry-After, in seconds or as the HTTP date so many seconds from now. */
  retryAfter?: { seconds: number; as: 'seconds' | 'date' };
  /** The response body. */
  body?: string;
  /** Values to set in a JSON response, by dotted path: `{ 'error.status': 500 }`. */
  set?: Readonly<Record<string, unknown>>;
  /** Dotted paths to remove from a JSON response. */
  omit?: readonly string[];
  /** Processes the request although `status` or `hang` hides that from the client. */
  processed?: boolean;
  /** Revokes every access token before the request is processed. */
  revoke?: boolean;
  /** Never responds. */
  hang?: boolean;
  /** Milliseconds of real time between two bytes of the body. */
  trickle?: number;
  /** Resets the connection before the request is processed, or after it. */
  reset?: 'before' | 'after';

  // Only on the storage host:

  /** Resets the connection after so many bytes of the body. */
  resetAfter?: number;
  /** Closes the connection normally after so many bytes of the body. */
  cutAfter?: number;
  /** Stops sending after so many bytes of the body and keeps the connection open. */
  stallAfter?: number;
  /** How the end of the body is marked. With `close`, the client cannot tell a complete body from a truncated one. */
  framing?: 'length' | 'chunked' | 'close';
  etag?: 'weak' | 'none';
  /** Replaces the file with other bytes of the same length and a new ETag, from this request on. */
  changed?: boolean;
  /** Answers a Range request with 200 and the whole file. */
  ignoreRange?: boolean;
  /** Sends Content-Encoding: gzip. The body is gzip only if this is `right`. */
  gzip?: 'right' | 'wrong';
  /** Never ends the body. */
  endless?: boolean;
};

/** Which requests go wrong, and how. */
export type Fault = FaultEffect & {
  on: Endpoint | 'any';
  /** Only requests with this path (without the base path). */
  path?: string;
  /** Only requests about the Nth report created, counted from 1. */
  report?: number;
  /** The first matching request that goes wrong, counted from 1. Default: 1. */
  nth?: number;
  /** How many matching requests in a row go wrong. Default: 1. Infinity: all. */
  times?: number;
};
