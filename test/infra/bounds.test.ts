import { describe, expect, it } from 'vitest';
import {
  isStuck,
  MAX_LOST_ANSWERS,
  MAX_RENEWALS,
  MAX_REPORTS,
  MAX_RETRY_AFTER,
  MAX_THROTTLED_IN_ALL,
  MAX_WINDOW_HOURS,
  pollWait,
} from '../../functions/decisions/waits.ts';
import { TIMEOUTS } from '../../functions/platform/connection.ts';
import { MAX_CALLS } from '../../functions/save-report.ts';
import { MAX_WINDOWS } from '../../functions/workflow/request/report.ts';
import {
  following,
  hasCircleWithout,
  type Machine,
  machineOf,
  mostEvents,
  secondsIn,
  secondsOfCall,
  statesIn,
  sum,
} from '../support/bounds.ts';
import { synthesizeStack } from '../support/stack.ts';

const HOUR = 3600;
const stack = synthesizeStack();
const machine = machineOf(stack);
const window = machine.States.ExportWindows?.ItemProcessor as Machine;

/** States that ask the platform: what they do first is to see whether the window is out of time. */
const ASKING = ['CreateReport', 'CheckReport', 'SaveReport', 'QueryPurchases', 'ExportList'];

/** The longest that a Wait state waits. Seconds. */
const LONGEST_WAIT = MAX_RETRY_AFTER;

/** Looks at a report, one after the other, until it is stuck. */
function polls(): number {
  const created = new Date(0);
  let count = 1;
  for (let now = new Date(0); !isStuck(created.toISOString(), now); count += 1)
    now = new Date(now.getTime() + pollWait(created.toISOString(), now) * 1000);
  return count;
}

/** How often a window may enter each state, by what the steps count. */
function entriesOf(kind: 'report' | 'purchases' | 'list'): Record<string, number> {
  const isReport = kind === 'report';
  // What is READY is delivered, or its URL is refused, or the next answer about it is of no use, which it may be once.
  const ready = MAX_REPORTS * 2;
  // Calls that left the rest of a file to a later one.
  const calls = isReport ? MAX_CALLS : 0;
  const again = MAX_RENEWALS + MAX_THROTTLED_IN_ALL;
  const asking = {
    CreateReport: isReport ? MAX_REPORTS + MAX_LOST_ANSWERS : 0,
    // Where a URL was refused, it only gives the report up.
    CheckReport: isReport ? MAX_REPORTS * (polls() + 1) + ready + MAX_REPORTS : 0,
    // A refused token, or an answer 429, has the state that met it entered once more: this one has the most repetitions.
    SaveReport: isReport ? ready + calls + again : 0,
    QueryPurchases: kind === 'purchases' ? 1 + again : 0,
    ExportList: kind === 'list' ? 1 + again : 0,
  };
  const GetWindowToken = 1 + MAX_RENEWALS;
  const WaitForReport = sum(Object.values(asking));
  return {
    ...asking,
    ...{ GetWindowToken, WaitForReport, WhatNext: WaitForReport + GetWindowToken },
    IsSaved: WaitForReport,
    ...{ PublishWindow: 1, DescribeWindowFailure: 1 },
  };
}

/**
 * The longest way to the end of a window that runs out of time in one of the states: that one takes all it may, and the
 * next one that asks the platform comes to say so.
 */
function longestEnd({ States }: Machine): number {
  const goOn = (name: string, seen: readonly string[]): number => {
    const state = States[name];
    if (!state) throw new Error(`There is no state ${name}`);
    const isLast = ASKING.includes(name) && seen.some((before) => ASKING.includes(before));
    const next = isLast
      ? (state.Catch ?? []).filter(({ ErrorEquals }) => ErrorEquals[0] === 'States.ALL')
      : [];
    const ways = (isLast ? next.map((each) => each.Next) : following(state)).filter(
      (way) => !seen.includes(way) || States[way]?.Type === 'Choice',
    );
    const rest = Math.max(0, ...ways.map((way) => goOn(way, [...seen, name])));
    return secondsOf(name, isLast) + rest;
  };
  const secondsOf = (name: string, isLast: boolean): number => {
    const state = States[name];
    if (state?.Type === 'Wait') return LONGEST_WAIT;
    return state?.Type === 'Task' ? secondsIn(state, stack, isLast ? 'unsaid' : 'all') : 0;
  };
  return Math.max(...ASKING.filter((name) => name in States).map((name) => goOn(name, [])));
}

const first = window.States[window.StartAt];
const longestWindow =
  (first ? secondsIn(first, stack) : Number.NaN) + MAX_WINDOW_HOURS * HOUR + longestEnd(window);
const longestParent = sum(
  Object.values(machine.States)
    .filter(({ Type }) => Type === 'Task')
    .map((state) => secondsIn(state, stack)),
);

describe('P4: a window', () => {
  it('goes round only over a wait or the count of its tokens, and never without asking the platform', () => {
    expect(hasCircleWithout(window, [])).toBe(true);
    expect(hasCircleWithout(window, ['WaitForReport', 'GetWindowToken'])).toBe(false);
    expect(hasCircleWithout(window, [...ASKING, 'GetWindowToken'])).toBe(false);
  });

  // A refused credential is read again and tried again; each of the reports may have to be watched.
  it.each([
    ['GetWindowToken', 2],
    ['CreateReport', 1],
    ['CheckReport', MAX_REPORTS],
  ])('lets %s wait for the answers of %i requests, and say itself that none came', (name, requests) => {
    const call = secondsOfCall(window.States[name] ?? { Type: '' }, stack);
    expect(call).toBeGreaterThanOrEqual((requests * TIMEOUTS.total) / 1000 + 20);
  });

  it('ends within the 24 hours for which a URL is valid (contract 2.3, 8)', () => {
    expect(longestWindow / HOUR).toBeLessThan(24);
    expect(longestWindow / HOUR).toBeGreaterThan(MAX_WINDOW_HOURS);
  });

  it.each([
    'report',
    'purchases',
    'list',
  ] as const)('of a %s writes less than the 25,000 events of a history', (kind) => {
    const entries = entriesOf(kind);
    for (const [name] of statesIn(window))
      expect(entries, 'say how often it is entered').toHaveProperty(name);
    expect(mostEvents(window, entries, longestWindow)).toBeLessThan(25_000);
  });
});

describe('P4: an export', () => {
  it('enters no state twice', () => {
    expect(hasCircleWithout(machine, [])).toBe(false);
  });

  it('has the time for 100 windows, one after the other, all of which take as long as one can', () => {
    const longest = MAX_WINDOWS * longestWindow + longestParent;
    const { TimeoutSeconds = 0 } = machine;
    expect(TimeoutSeconds).toBeGreaterThan(longest);
    expect(TimeoutSeconds).toBeLessThanOrEqual(365 * 24 * HOUR);
  });

  it('writes less than the 25,000 events of a history, and leaves room for ten redrives', () => {
    const entries = Object.fromEntries(Object.keys(machine.States).map((name) => [name, 1]));
    expect(11 * mostEvents(machine, entries, Number.POSITIVE_INFINITY)).toBeLessThan(25_000);
  });
});
