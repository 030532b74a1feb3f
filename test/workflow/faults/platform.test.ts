import { expect, it } from 'vitest';
import { pollWait } from '../../../functions/decisions/waits.ts';
import type { WindowState } from '../../../functions/workflow/states.ts';
import type { Fault } from '../../../infra/sandbox/faults/fault.ts';
import { commonWorkflow, expectFailed, type Outcome, runExport } from '../../support/run-export.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

// Error answers of the platform's API (contract 4 and 7).
const workflow = await commonWorkflow();

const CALLS = [
  ['POST /reports', 'create'],
  ['CheckReport', 'report'],
  ['SaveReport', 'report nth=2'],
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

it.each(CALLS)('1: a second 401 in a row for %s fails', async (_, call) => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [`${call} status=401 times=2`] });
  expectFailed(outcome, 'TokenRefusedAgain');
  expect(outcome.callsTo('token')).toHaveLength(2);
  expect(outcome.calls.filter(({ status }) => status === 401)).toHaveLength(2);
});

it.each(CALLS)('4: a 403 for %s fails at once and names reporting:read', async (_, call) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=403 times=always`] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.happened).toContain('reporting:read');
  expect(outcome.calls.filter(({ status }) => status === 403)).toHaveLength(1);
  expect(outcome.failure.request_ids).toEqual([outcome.calls.at(-1)?.requestId]);
});

it.each<[string, unknown, string[]]>([
  ['an object', { end_date: 'must not be in the future' }, ['end_date: must not be in the future']],
  ['a list of objects', [{ field: 'metrics.0', message: 'unknown' }], ['metrics.0: unknown']],
  ['a list of texts', ['metrics are missing', 'granularity is'], ['metrics are missing', 'granularity is']],
  ['a string', 'metrics are missing', ['metrics are missing']],
])('5: a 422 with detail.validation as %s fails at once and shows it', async (_, validation, faults) => {
  const fault: Fault = { on: 'create', status: 422, times: 9, set: { 'error.detail': { validation } } };
  const outcome = await runExport(workflow, { faults: [fault] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.faults).toEqual(faults);
  expect(outcome.callsTo('create')).toHaveLength(1);
});

it.each([
  ['as text', { 'error.detail': 'The range is odd.' }, 'The range is odd.'],
  ['absent', {}, 'The sandbox was told to answer 422'],
])('5: a 422 with detail %s fails at once with what the platform says', async (_, set, text) => {
  const outcome = await runExport(workflow, { faults: [{ on: 'create', status: 422, times: 9, set }] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.happened).toContain(text);
  expect(outcome.callsTo('create')).toHaveLength(1);
});

it('6: an unknown revision fails at once and names the header and its value', async () => {
  const outcome = await runExport(workflow, { request: { revision: '2019-02-03' } });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.happened).toContain('X-Service-Revision was 2019-02-03');
  expect(outcome.callsTo('create').map(({ status }) => status)).toEqual([400]);
});

/** The seconds before the first retry of a call, and how often it is sent in all. */
const RETRIED = [
  [...CALLS[0], 1, 12],
  [...CALLS[1], 10, 7],
  [...CALLS[2], 10, 7],
] as const;

it.each(RETRIED)('7: a 500 for %s is retried after pauses that double', async (_, call, first) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=500 times=3`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  const pauses = pausesAfter(outcome, 500);
  expect(pauses).toHaveLength(3);
  for (const [at, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(first * 2 ** at);
});

it.each(RETRIED)('7: endless 500s for %s fail with the last request_id', async (_, call, __, tries) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=500 times=always`] });
  expectFailed(outcome, 'PlatformUnavailable');
  const failed = outcome.calls.filter(({ status }) => status === 500);
  expect(failed).toHaveLength(tries);
  expect(outcome.failure.request_ids).toEqual([failed.at(-1)?.requestId]);
});

const RETRY_AFTER = [
  ['in seconds', 'retry_after=45', 45, 46],
  ['as a date', 'retry_after=date:800', 400, 801],
  ['absent', '', 10, 11],
  ['0', 'retry_after=0', 10, 11],
  ['not a number', 'header.retry-after=soon', 10, 11],
  ['huge', 'retry_after=99999999', 900, 901],
] as const;

it.each(
  CALLS.flatMap(([name, call]) => RETRY_AFTER.map(([form, ...rest]) => [name, form, call, ...rest] as const)),
)('8: a 429 for %s with Retry-After %s is waited for in a Wait state', async (_, __, call, header, least, most) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=429 ${header}`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  expect(Math.min(...pausesAfter(outcome, 429))).toBeGreaterThanOrEqual(least);
  const waits = outcome.events.filter(
    ({ type, stateType }) => type === 'StateEntered' && stateType === 'Wait',
  );
  const fits = waits.filter(({ input, time }) => {
    const { wait_seconds, reports } = input as Pick<WindowState, 'wait_seconds' | 'reports'>;
    const [newest] = reports.slice(-1);
    // The usual wait between two polls applies if it is longer.
    const usual = newest ? pollWait(newest.created_at, new Date(time)) : 0;
    return wait_seconds >= least && wait_seconds <= Math.max(most, usual);
  });
  expect(fits).not.toEqual([]);
});

// CheckReport's endless 429s take hours: see stuck.test.ts.
it.each([CALLS[0], CALLS[2]])('8: endless 429s for %s fail after 13 tries', async (_, call) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=429 times=always`] });
  expectFailed(outcome, 'RateLimited');
  expect(outcome.calls.filter(({ status }) => status === 429)).toHaveLength(13);
  expect(outcome.failure.happened).toContain('answered 429 13 times in a row');
});
