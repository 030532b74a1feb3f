import type { Endpoint } from '../exchange.ts';

/** The effects of a fault on a request. The docstring of `parseFault` explains each of them. */
export type FaultEffect = {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  withoutHeaders?: readonly string[];
  retryAfter?: { seconds: number; as: 'seconds' | 'date' };
  body?: string;
  /** By dotted path: `{ 'error.status': 500 }`. */
  set?: Readonly<Record<string, unknown>>;
  /** Dotted paths. */
  omit?: readonly string[];
  processed?: boolean;
  revoke?: boolean;
  hang?: boolean;
  /** Milliseconds of real time, whatever the sandbox's clock says. */
  trickle?: number;
  reset?: 'before' | 'after';

  // Only on the storage host:
  resetAfter?: number;
  cutAfter?: number;
  stallAfter?: number;
  framing?: 'length' | 'chunked' | 'close';
  etag?: 'weak' | 'none';
  changed?: boolean;
  ignoreRange?: boolean;
  gzip?: 'right' | 'wrong';
  endless?: boolean;
};

/** A fault: the requests that it affects, and its effects on them. */
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
