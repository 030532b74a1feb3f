import type { Endpoint } from '../exchange.ts';
import type { Fault, FaultEffect } from './fault.ts';
import { parseFault } from './parse-fault.ts';

export type FaultList = {
  /** Adds a fault, as an object or as a line for {@link parseFault}. It counts requests from now on. */
  add(fault: string | Fault): void;
  clear(): void;
  /** Counts a request and returns the combined effects of the faults that apply. Later faults override earlier ones. */
  take(request: FaultTarget): FaultEffect;
};

/** `ordinal` is that of the report that the request is about. */
export type FaultTarget = { endpoint: Endpoint; path: string; ordinal: number | undefined };

export function createFaultList(initial: readonly (string | Fault)[]): FaultList {
  const entries: { fault: Fault; matched: number }[] = [];
  const add = (fault: string | Fault): void => {
    entries.push({ fault: typeof fault === 'string' ? parseFault(fault) : fault, matched: 0 });
  };
  initial.forEach(add);
  return {
    add,
    clear: () => void entries.splice(0),
    take(request) {
      const matching = entries.filter(({ fault }) => matches(fault, request));
      for (const entry of matching) entry.matched += 1;
      return matching.filter(({ fault, matched }) => applies(fault, matched)).reduce(combine, {});
    },
  };
}

function matches({ on, path, report }: Fault, request: FaultTarget): boolean {
  return (
    (on === 'any' || on === request.endpoint) &&
    (path === undefined || path === request.path) &&
    (report === undefined || report === request.ordinal)
  );
}

function applies({ nth = 1, times = 1 }: Fault, matched: number): boolean {
  return matched >= nth && matched < nth + times;
}

function combine(before: FaultEffect, { fault }: { fault: Fault }): FaultEffect {
  const { on: _on, path: _path, report: _report, nth: _nth, times: _times, ...effect } = fault;
  return {
    ...before,
    ...effect,
    headers: { ...before.headers, ...effect.headers },
    set: { ...before.set, ...effect.set },
    omit: [...(before.omit ?? []), ...(effect.omit ?? [])],
    withoutHeaders: [...(before.withoutHeaders ?? []), ...(effect.withoutHeaders ?? [])],
  };
}
