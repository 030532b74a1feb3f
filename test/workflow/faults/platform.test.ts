import { expect, it } from 'vitest';
import type { WindowState } from '../../../functions/workflow/states.ts';
import { commonWorkflow, deliver, gapsIn, type Outcome } from '../../support/run-export.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

// The state machine after an answer of the platform's API. test/functions judges how steps read answers.
const workflow = await commonWorkflow();

/** The same fault of POST /reports, of CheckReport's GET and of SaveReport's, each this often. */
function ofEachCall(fault: string, times = 1): string[] {
  const calls = ['create', 'report', `report nth=${times + 2}`];
  return calls.map((call) => `${call} ${fault} times=${times}`);
}

/** Seconds between each call with this status and the call after it. */
function pausesAfter({ calls }: Outcome, status: number): number[] {
  const pauses = calls.map(({ at }, index) => ((calls[index + 1]?.at ?? at) - at) / 1000);
  return pauses.filter((_, index) => calls[index]?.status === status);
}

it('1, 35: a 401 for any call brings one new token, and the same report goes on', async () => {
  await forgetTokens(workflow);
  const outcome = await deliver(workflow, { faults: ofEachCall('status=401') });
  expect(outcome.calls.map(({ endpoint, status }) => `${endpoint} ${status}`)).toEqual([
    ...['token 200', 'create 401', 'token 200', 'create 201'],
    ...['report 401', 'token 200', 'report 200'],
    ...['report 401', 'token 200', 'report 200', 'storage 200'],
  ]);
});

it('59: after a 429 with a long Retry-After, a 401 renews the token at once, with the shortest wait', async () => {
  await forgetTokens(workflow);
  const faults = ['report status=429 retry_after=300', 'report nth=2 status=401'];
  const { events } = await deliver(workflow, { faults });
  const entered = events.filter(({ type, window }) => type === 'StateEntered' && window !== undefined);
  const waits = entered.map(({ state, input }) => [state, (input as WindowState).wait_seconds] as const);
  const refused = waits.findIndex(([state]) => state === 'RenewToken');
  expect(waits.slice(refused - 3, refused + 2)).toEqual([
    ['WaitForReport', 300],
    ['WhatNext', 300],
    ['CheckReport', 300],
    ['RenewToken', 300],
    ['WaitForReport', 10],
  ]);
});

it('7: a 500 for any call is retried after pauses that double', async () => {
  const outcome = await deliver(workflow, { faults: ofEachCall('status=500', 3) });
  expect(outcome.reports).toHaveLength(1);
  const pauses = pausesAfter(outcome, 500);
  const least = [1, 2, 4, 10, 20, 40, 10, 20, 40];
  expect(pauses).toHaveLength(least.length);
  for (const [at, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(least[at] ?? 0);
});

it('67: a 503 with Retry-After for any call is waited for like a 429, also from the storage host', async () => {
  const faults = [...ofEachCall('status=503 retry_after=400'), 'storage status=503 retry_after=400'];
  const outcome = await deliver(workflow, { faults });
  expect(outcome.reports).toHaveLength(1);
  expect(pausesAfter(outcome, 503)).toHaveLength(4);
  expect(Math.min(...pausesAfter(outcome, 503))).toBeGreaterThanOrEqual(399);
});

it('8: a 429 for any call is waited for in a Wait state', async () => {
  const outcome = await deliver(workflow, { faults: ofEachCall('status=429 retry_after=45') });
  expect(outcome.reports).toHaveLength(1);
  expect(Math.min(...pausesAfter(outcome, 429))).toBeGreaterThanOrEqual(45);
  const waits = outcome.events.filter(
    ({ type, state }) => type === 'StateEntered' && state === 'WaitForReport',
  );
  expect(waits.filter(({ input }) => (input as { throttled: number }).throttled === 1)).toHaveLength(3);
});

it('10: if the answer to POST /reports is lost, one more report is created and one is delivered', async () => {
  const outcome = await deliver(workflow, { faults: ['create reset=after'] });
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.manifest?.report_id).toBe(outcome.reports[1]?.id);
});

it('11: an HTML page for any call is retried once', async () => {
  const outcome = await deliver(workflow, { faults: ofEachCall('body="<html>Bad gateway</html>"') });
  expect(outcome.callsTo('create')).toHaveLength(2);
  expect(outcome.callsTo('report')).toHaveLength(4);
});

it('13, 15: a report that is not found, then READY without a URL, is replaced; the manifest names both', async () => {
  const faults = ['report status=404', 'report nth=2 omit=download_url'];
  const outcome = await deliver(workflow, { faults });
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
});

it('14, 15: a report that SaveReport no longer finds READY is polled again', async () => {
  const outcome = await deliver(workflow, { faults: ['report nth=2 set.status=QUEUED omit=download_url'] });
  expect(outcome.reports).toHaveLength(1);
  // CheckReport, SaveReport, and both again.
  expect(gapsIn(outcome)).toHaveLength(4);
});
