import { expect, it } from 'vitest';
import { pollWait } from '../../../functions/decisions/waits.ts';
import type { WindowState } from '../../../functions/workflow/states.ts';
import type { Fault } from '../../../infra/local/sandbox/faults/fault.ts';
import { expectFailed, forgetTokens, runExport, shareWorkflow } from '../../support/run-export.ts';

// What the platform's API does (contract 4, 7). A report is READY when it is first looked at, so that the GETs are known
// beforehand: the first is CheckReport's, the second SaveReport's.
const workflow = await shareWorkflow({
  speed: 1000,
  sandbox: { tokenSeconds: 86_400, report: { secondsToProcessing: 0, secondsToReady: 0 } },
});

const CALLS = [
  ['on create', 'create'],
  ['in mid-poll', 'report'],
  ['on save', 'report nth=2'],
] as const;

it.each(CALLS)('1: a 401 %s brings one new token, and the same report goes on', async (_, call) => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [`${call} status=401`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.to('token')).toHaveLength(2);
  expect(outcome.reports).toHaveLength(1);
});

it.each(CALLS)('1: a second 401 in a row %s, with a fresh token, fails typed', async (_, call) => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [`${call} status=401 times=2`] });
  expectFailed(outcome, 'TokenRefusedAgain');
  expect(outcome.to('token')).toHaveLength(2);
});

it.each(CALLS)('4: a 403 %s fails at once, and names reporting:read', async (_, call) => {
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
])('5: a 422 whose detail.validation is %s fails at once, and shows it', async (_, validation, faults) => {
  const fault: Fault = { on: 'create', status: 422, times: 9, set: { 'error.detail': { validation } } };
  const outcome = await runExport(workflow, { faults: [fault] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.faults).toEqual(faults);
  expect(outcome.to('create')).toHaveLength(1);
});

it.each([
  ['as text', 'The range is odd.'],
  ['absent', undefined],
])('5: a 422 whose detail is %s fails at once, with what the platform says', async (_, detail) => {
  const set = detail === undefined ? {} : { 'error.detail': detail };
  const outcome = await runExport(workflow, { faults: [{ on: 'create', status: 422, times: 9, set }] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.happened).toContain(detail ?? 'The sandbox was told to answer 422');
  expect(outcome.to('create')).toHaveLength(1);
});

it('6: a revision that the platform does not know fails at once, naming the header and its value', async () => {
  const outcome = await runExport(workflow, { request: { revision: '2019-02-03' } });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.happened).toContain('X-Service-Revision was 2019-02-03');
  expect(outcome.to('create').map(({ status }) => status)).toEqual([400]);
});

/** A call, the seconds before its first retry, and how often it is sent in all. */
const RETRIED = [
  ['create', 1, 12],
  ['report', 10, 7],
  ['report nth=2', 10, 7],
] as const;

it.each(
  RETRIED,
)('7: retries %s after a 500, first after %i s, then twice as late each time', async (call, first) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=500 times=3`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  const failed = outcome.calls.flatMap(({ status }, index) => (status === 500 ? [index] : []));
  const pauses = failed.map((at) => ((outcome.calls[at + 1]?.at ?? 0) - (outcome.calls[at]?.at ?? 0)) / 1000);
  for (const [at, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(first * 2 ** at);
});

it.each(
  RETRIED,
)('7: fails with the last request_id when %s (first retried after %i s) is 500 %i times', async (call, _, tries) => {
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
  ['of 0', 'retry_after=0', 10, 11],
  ['that is no number', 'header.retry-after=soon', 10, 11],
  ['that is huge', 'retry_after=99999999', 900, 901],
] as const;

it.each(
  CALLS.flatMap(([where, call]) =>
    RETRY_AFTER.map(([form, ...rest]) => [where, form, call, ...rest] as const),
  ),
)('8: a 429 %s with Retry-After %s is waited for in a Wait state', async (_where, _form, call, header, least, most) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=429 ${header}`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  const at = outcome.calls.findIndex(({ status }) => status === 429);
  const pause = ((outcome.calls[at + 1]?.at ?? 0) - (outcome.calls[at]?.at ?? 0)) / 1000;
  expect(pause).toBeGreaterThanOrEqual(least);
  const waits = outcome.events.filter(
    ({ type, stateType }) => type === 'StateEntered' && stateType === 'Wait',
  );
  const fits = waits.filter(({ input, time }) => {
    const { wait_seconds, reports } = input as Pick<WindowState, 'wait_seconds' | 'reports'>;
    const [newest] = reports.slice(-1);
    // Between two polls it is the usual wait where that is longer.
    const usual = newest ? pollWait(newest.created_at, new Date(time)) : 0;
    return wait_seconds >= least && wait_seconds <= Math.max(most, usual);
  });
  expect(fits).not.toEqual([]);
});

it.each(
  CALLS.filter(([where]) => where !== 'in mid-poll'),
)('8: a 429 %s for ever fails, typed, after a bounded number of tries', async (_, call) => {
  const outcome = await runExport(workflow, { faults: [`${call} status=429 times=always`] });
  expectFailed(outcome, 'RateLimited');
  expect(outcome.calls.filter(({ status }) => status === 429)).toHaveLength(13);
  expect(outcome.failure.happened).toContain('answered 429 13 times in a row');
});
