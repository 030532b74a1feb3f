import type { Endpoint } from '../exchange.ts';
import { parseFault } from './parse-fault.ts';

/** What goes wrong. The first group is for any endpoint, the second for the storage host. */
export type Misbehaviour = {
  /** 300 and more: the request is not processed (but see `processed`). Below: processed, and answered with this. */
  status?: number;
  /** Added to the answer, replacing its own. */
  headers?: Readonly<Record<string, string>>;
  /** Names of headers left out of the answer. */
  withoutHeaders?: readonly string[];
  /** Retry-After in seconds, or as an HTTP date that many seconds ahead by the sandbox's clock. */
  retryAfter?: { seconds: number; as: 'seconds' | 'date' };
  /** The whole body, as text; '' for an empty one. */
  body?: string;
  /** Values set in a JSON answer, by dotted path: `{ 'error.status': 500 }`. */
  set?: Readonly<Record<string, unknown>>;
  /** Dotted paths taken out of a JSON answer. */
  omit?: readonly string[];
  /** Processes the request even though `status`, `reset` or `hang` hides it from the client. */
  processed?: boolean;
  /** Every access token dies before the request is looked at. */
  revoke?: boolean;
  /** Never answers. */
  hang?: boolean;
  /** One byte of the body each so many milliseconds of real time. */
  trickle?: number;
  /** Destroys the connection: before the request is processed, or after it, so that the answer is lost. */
  reset?: 'before' | 'after';

  /** Resets the connection after so many bytes of the body. */
  resetAfter?: number;
  /** Ends the connection in an orderly way after so many bytes, as if that were all. */
  cutAfter?: number;
  /** Sends so many bytes and then nothing more. */
  stallAfter?: number;
  /** How the body's end is told. 'close' is by closing alone, which cannot be told from a cut. */
  framing?: 'length' | 'chunked' | 'close';
  etag?: 'weak' | 'none';
  /** From this call on the object is another one: other bytes, another ETag. */
  changed?: boolean;
  /** Answers a Range with 200 and the whole object. */
  ignoreRange?: boolean;
  /** 'right' sends gzip and says so; 'wrong' says so and does not. */
  gzip?: 'right' | 'wrong';
  /** The body never ends. */
  endless?: boolean;
};

/** Which calls, and what happens to them. */
export type Fault = Misbehaviour & {
  on: Endpoint | 'any';
  /** Only calls of this path, as the platform has it without the base path. */
  path?: string;
  /** Only calls about the nth report that was created, counted from 1. */
  report?: number;
  /** The first call that goes wrong, counted from 1 among those that match. Default 1. */
  nth?: number;
  /** How many calls go wrong from there. Default 1; Infinity for all. */
  times?: number;
};

export type FaultControl = {
  /** As text (see {@link parseFault}) or as an object. Counts from now. */
  add(fault: string | Fault): void;
  clear(): void;
  /** Counts a call and says what happens to it: all faults that match, the later ones over the earlier. */
  take(call: FaultedCall): Misbehaviour;
};

export type FaultedCall = { endpoint: Endpoint; path: string; ordinal?: number | undefined };

export function faultControl(initial: readonly (string | Fault)[]): FaultControl {
  const armed: { fault: Fault; calls: number }[] = [];
  const add = (given: string | Fault): void => {
    armed.push({ fault: typeof given === 'string' ? parseFault(given) : given, calls: 0 });
  };
  initial.forEach(add);
  return {
    add,
    clear: () => void armed.splice(0),
    take(call) {
      const matching = armed.filter(({ fault }) => matches(fault, call));
      for (const one of matching) one.calls += 1;
      return matching.filter(({ fault, calls }) => strikes(fault, calls)).reduce(merge, {});
    },
  };
}

function matches(fault: Fault, call: FaultedCall): boolean {
  return (
    (fault.on === 'any' || fault.on === call.endpoint) &&
    (fault.path === undefined || fault.path === call.path) &&
    (fault.report === undefined || fault.report === call.ordinal)
  );
}

function strikes({ nth = 1, times = 1 }: Fault, call: number): boolean {
  return call >= nth && call < nth + times;
}

function merge(one: Misbehaviour, { fault }: { fault: Fault }): Misbehaviour {
  const { on: _on, path: _path, report: _report, nth: _nth, times: _times, ...effect } = fault;
  return {
    ...one,
    ...effect,
    headers: { ...one.headers, ...effect.headers },
    set: { ...one.set, ...effect.set },
    omit: [...(one.omit ?? []), ...(effect.omit ?? [])],
    withoutHeaders: [...(one.withoutHeaders ?? []), ...(effect.withoutHeaders ?? [])],
  };
}
