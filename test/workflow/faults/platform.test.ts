import { expect, it } from 'vitest';
import { commonWorkflow, expectFailed, gapsIn, type Outcome, runExport } from '../../support/run-export.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

// The state machine after an answer of the platform's API. test/functions judges how a step reads the answers.
const workflow = await commonWorkflow();

/** The calls of a window, with the seconds before the first retry of each. */
const CALLS = [
  ['POST /reports', 'create', 1],
  ['CheckReport', 'report', 10],
  ['SaveReport', 'report nth=2', 10],
] as const;

/** Seconds between each call with this status and the call after it. */
function pausesAfter({ calls }: Outcome, status: number): number[] {
  const pauses = calls.map(({ at }, index) => ((calls[index + 1]?.at ?? at) - at) / 1000);
  return pauses.filter((_, index) => calls[index]?.status === status);
}

it.each(CALLS)('1: a 401 for %s brings one new token, and the same report goes on', async (_, call) => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [`${call} status=401`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('token')).toHaveLength(2);
  expect(outcome.reports).toHaveLength(1);
});

it('1: a second 401 in a row fails', async () => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: ['report status=401 times=2'] });
  expectFailed(outcome, 'TokenRefusedAgain');
  expect(outcome.callsTo('token')).toHaveLength(2);
});

it('4: a 403 fails at once, names reporting:read and keeps the request_id', async () => {
  const outcome = await runExport(workflow, { faults: ['report nth=2 status=403 times=always'] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.happened).toContain('reporting:read');
  expect(outcome.calls.filter(({ status }) => status === 403)).toHaveLength(1);
  expect(outcome.failure.request_ids).toEqual([outcome.calls.at(-1)?.requestId]);
});

it.each(CALLS)('7: a 500 for %s is retried after pauses that double', async (_, call, first) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=500 times=3`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  const pauses = pausesAfter(outcome, 500);
  expect(pauses).toHaveLength(3);
  for (const [at, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(first * 2 ** at);
});

it('7: endless 500s fail with the last request_id', async () => {
  const outcome = await runExport(workflow, { faults: ['report status=500 times=always'] });
  expectFailed(outcome, 'PlatformUnavailable');
  const failed = outcome.calls.filter(({ status }) => status === 500);
  expect(failed).toHaveLength(7);
  expect(outcome.failure.request_ids).toEqual([failed.at(-1)?.requestId]);
});

it.each(CALLS)('8: a 429 for %s is waited for in a Wait state', async (_, call) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=429 retry_after=45`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  expect(Math.min(...pausesAfter(outcome, 429))).toBeGreaterThanOrEqual(45);
  const waits = outcome.events.filter(
    ({ type, state }) => type === 'StateEntered' && state === 'WaitForReport',
  );
  expect(waits.map(({ input }) => input)).toContainEqual(expect.objectContaining({ throttled: 1 }));
});

it('10: if the answer to POST /reports is lost, one more report is created and one is delivered', async () => {
  const outcome = await runExport(workflow, { faults: ['create reset=after'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.manifest?.report_id).toBe(outcome.reports[1]?.id);
});

it.each(CALLS)('11: an HTML page for %s is retried once', async (_, call) => {
  const { status } = await runExport(workflow, { faults: [`${call} body="<html>Bad gateway</html>"`] });
  expect(status).toBe('SUCCEEDED');
});

it.each([
  ['13', 'not found', 'status=404'],
  ['15', 'READY without a URL', 'omit=download_url'],
])('%s: a report that is %s twice is replaced, and the manifest names both', async (_, __, fault) => {
  const outcome = await runExport(workflow, { faults: [`report ${fault} times=2`] });
  expect(outcome.status).toBe('SUCCEEDED');
  const [first, second] = outcome.reports.map(({ id }) => id);
  expect(outcome.reports).toHaveLength(2);
  expect(outcome.manifest).toMatchObject({ report_id: second, abandoned_report_ids: [first] });
});

it('14, 15: a report that SaveReport no longer finds READY is polled again', async () => {
  const outcome = await runExport(workflow, { faults: ['report nth=2 set.status=QUEUED omit=download_url'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  // CheckReport, SaveReport, and both again.
  expect(gapsIn(outcome)).toHaveLength(4);
});
