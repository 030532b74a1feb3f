import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../functions/contract.ts';
import { LAST_PAGE_MS } from '../../../functions/copy/stored-pages.ts';
import {
  isStuck,
  LEASE_SECONDS,
  MAX_LOST_ANSWERS,
  MAX_RENEWALS,
  MAX_REPLACED_COPIES,
  MAX_REPORTS,
  MAX_RETRY_AFTER,
  MAX_THROTTLED_IN_ALL,
  MAX_WINDOW_HOURS,
  pollWait,
  TOKEN_SECONDS,
} from '../../../functions/decisions/waits.ts';
import { CREATE_TIMEOUTS, TIMEOUTS } from '../../../functions/platform/connection.ts';
import { MAX_CALLS } from '../../../functions/save-report.ts';
import { MAX_WINDOWS } from '../../../functions/workflow/request/report.ts';
import {
  following,
  hasCycleWithout,
  type Machine,
  machineOf,
  mostEvents,
  secondsIn,
  secondsOfCall,
  statesIn,
  sum,
} from '../../support/bounds.ts';
import { synthesizeStack } from '../../support/stack.ts';

const HOUR = 3600;
const stack = synthesizeStack();
const machine = machineOf(stack);
const window = machine.States.ExportWindows?.ItemProcessor as Machine;

/** States that call the platform. Each first checks whether the window is out of time. */
const CALLS_PLATFORM = ['CreateReport', 'CheckReport', 'SaveReport', 'QueryPurchases', 'ExportList'];

/** After each redrive, a step that GETs a report waits once more. */
const REDRIVES = 10;

/** Calls of a list that end because their time is up: 62. */
const LIST_CALLS = Math.ceil((MAX_WINDOW_HOURS * HOUR) / (15 * 60 - LAST_PAGE_MS / 1000));

/** The times that an export can enter the states that list its advertisers, ten redrives aside. */
const LISTINGS = 1 + MAX_RENEWALS + MAX_THROTTLED_IN_ALL + LIST_CALLS;

/** The number of polls of a report until it is stuck. */
function polls(): number {
  const created = new Date(0);
  let count = 1;
  for (let now = new Date(0); !isStuck(created.toISOString(), now); count += 1)
    now = new Date(now.getTime() + pollWait(created.toISOString(), now) * 1000);
  return count;
}

/** The times that a window can enter each state, from the limits that the steps count. */
function entriesOf(kind: 'report' | 'purchases' | 'list'): Record<string, number> {
  const isReport = kind === 'report';
  // The platform's total has no replacement.
  const reports = MAX_REPORTS + 1;
  // A READY report can give one useless answer, and then its URL can be refused.
  const ready = reports * 2;
  // A file that takes several calls, and a total that takes two.
  const calls = isReport ? MAX_CALLS + 1 : 0;
  // A refused token or a 429 leads to the same state again. SaveReport has the most retries: it gets all.
  const again = MAX_RENEWALS + MAX_THROTTLED_IN_ALL;
  const platformCalls = {
    CreateReport: isReport ? reports + MAX_LOST_ANSWERS : 0,
    // It also only gives up a report whose URL was refused.
    CheckReport: isReport ? reports * (polls() + 1) + ready + reports : 0,
    SaveReport: isReport ? ready + calls + again + REDRIVES + MAX_REPLACED_COPIES : 0,
    QueryPurchases: kind === 'purchases' ? 1 + again : 0,
    ExportList: kind === 'list' ? 1 + again + LIST_CALLS + MAX_REPLACED_COPIES : 0,
  };
  const CurateReport = kind === 'purchases' ? 0 : 1 + MAX_REPLACED_COPIES;
  const WaitForReport = sum(Object.values(platformCalls));
  return {
    ...platformCalls,
    GetWindowToken: 1,
    RenewToken: MAX_RENEWALS,
    WaitForReport,
    WhatNext: WaitForReport + 1,
    IsSaved: WaitForReport,
    CurateReport,
    IsCurated: WaitForReport + CurateReport,
    PublishWindow: 1,
    DescribeWindowFailure: 1,
  };
}

/**
 * Seconds of the longest path to the end of a window that runs out of time. The state that is running then
 * uses up its retries, and the next one that calls the platform throws OutOfTime.
 */
function longestEnd({ States }: Machine): number {
  const secondsFrom = (name: string, seen: readonly string[]): number => {
    const state = States[name];
    if (!state) throw new Error(`There is no state ${name}`);
    const isOutOfTime = CALLS_PLATFORM.includes(name) && seen.some((step) => CALLS_PLATFORM.includes(step));
    const caught = (state.Catch ?? []).filter(({ ErrorEquals }) => ErrorEquals[0] === 'States.ALL');
    const ways = (isOutOfTime ? caught.map(({ Next }) => Next) : following(state)).filter(
      (way) => !seen.includes(way) || States[way]?.Type === 'Choice',
    );
    const rest = Math.max(0, ...ways.map((way) => secondsFrom(way, [...seen, name])));
    if (state.Type === 'Wait') return MAX_RETRY_AFTER + rest;
    return (state.Type === 'Task' ? secondsIn(state, stack, isOutOfTime ? 'aws' : 'all') : 0) + rest;
  };
  return Math.max(...CALLS_PLATFORM.map((name) => secondsFrom(name, [])));
}

const first = window.States[window.StartAt] ?? { Type: '' };
const longestWindow = secondsIn(first, stack) + MAX_WINDOW_HOURS * HOUR + longestEnd(window);
const tasks = Object.values(machine.States).filter(({ Type }) => Type === 'Task');
/** An export begins no call to list its advertisers after so many hours. */
const longestParent = MAX_WINDOW_HOURS * HOUR + 2 * sum(tasks.map((state) => secondsIn(state, stack)));

describe('P4: a window', () => {
  it('has no cycle without a wait, and none without a call to the platform', () => {
    expect(hasCycleWithout(window, [])).toBe(true);
    expect(hasCycleWithout(window, ['WaitForReport'])).toBe(false);
    expect(hasCycleWithout(window, CALLS_PLATFORM)).toBe(false);
  });

  // CheckReport may poll every report. CreateReport may leave out advertisers.
  it.each([
    ['GetWindowToken', TOKEN_SECONDS],
    ['RenewToken', TOKEN_SECONDS],
    ['CreateReport', (2 * CREATE_TIMEOUTS.total) / 1000],
    ['CheckReport', (MAX_REPORTS * TIMEOUTS.total) / 1000],
  ])('gives %s the %i s of requests that time out, and 20 s more', (name, requests) => {
    const call = secondsOfCall(window.States[name] ?? { Type: '' }, stack);
    expect(call).toBeGreaterThanOrEqual(requests + 20);
  });

  it('40: ends a call of GetToken before its lease, by a clock that is 5 s ahead', () => {
    const states = [machine.States.GetToken, window.States.GetWindowToken, window.States.RenewToken];
    const seconds = states.map((state) => secondsOfCall(state ?? { Type: '' }, stack));
    expect(Math.min(...seconds)).toBeGreaterThan(0);
    expect(Math.max(...seconds) + 5).toBeLessThanOrEqual(LEASE_SECONDS);
  });

  it('ends while a URL is valid (contract 2.3, 8)', () => {
    expect(longestWindow / HOUR).toBeLessThan(LIMITS.urlHours);
    expect(longestWindow / HOUR).toBeGreaterThan(MAX_WINDOW_HOURS);
  });

  const KINDS = ['report', 'purchases', 'list'] as const;
  it.each(KINDS)('of kind %s writes fewer than the 25,000 events of a history', (kind) => {
    const entries = entriesOf(kind);
    for (const [name] of statesIn(window))
      expect(entries, 'each state needs a number of entries').toHaveProperty(name);
    expect(mostEvents(window, entries, longestWindow)).toBeLessThan(25_000);
  });
});

describe('P4: an export', () => {
  it('enters no state twice, but for those that list advertisers', () => {
    expect(hasCycleWithout(machine, ['ListAdvertisers'])).toBe(false);
  });

  it('has time for 100 windows that run one at a time for as long as a window can', () => {
    const longest = MAX_WINDOWS * longestWindow + longestParent;
    const { TimeoutSeconds = 0 } = machine;
    expect(TimeoutSeconds).toBeGreaterThan(longest);
    expect(TimeoutSeconds).toBeLessThanOrEqual(365 * 24 * HOUR);
  });

  it('writes fewer than the 25,000 events of a history, ten redrives included', () => {
    const once = Object.fromEntries(Object.keys(machine.States).map((name) => [name, 1]));
    const renewals = { GetToken: 1 + MAX_RENEWALS, IsForAll: 1 + MAX_RENEWALS };
    const lists = ['ListAdvertisers', 'AreAdvertisersListed', 'WaitForAdvertisers'];
    const listings = Object.fromEntries(lists.map((name) => [name, LISTINGS]));
    // After a redrive, the list and its token may be asked for once more.
    const twice = Object.fromEntries([...Object.keys(renewals), ...lists].map((name) => [name, 2]));
    // The plan counts the interruptions of the list, and a redrive goes on with that count.
    const listed = mostEvents(machine, { ...once, ...renewals, ...listings }, MAX_WINDOW_HOURS * HOUR);
    const redriven = REDRIVES * mostEvents(machine, { ...once, ...twice }, Number.POSITIVE_INFINITY);
    expect(listed + redriven).toBeLessThan(25_000);
  });

  it('of the 250 accounts that a stack has room for does so too', () => {
    const inside = Object.keys(machine.States.ExportAccounts?.ItemProcessor?.States ?? {});
    const entries = Object.fromEntries(inside.map((name) => [name, 250]));
    expect(mostEvents(machine, entries, Number.POSITIVE_INFINITY)).toBeLessThan(25_000 / 2);
  });
});
