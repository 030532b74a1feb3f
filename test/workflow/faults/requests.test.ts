import { expect, it } from 'vitest';
import { commonWorkflow, expectFailed, keysOf, runExport } from '../../support/run-export.ts';

// Faulty requests, and requests that only the platform can judge.
const workflow = await commonWorkflow();

it.each<[string, Record<string, unknown>, string[]]>([
  [
    'with one fault of each kind',
    { end_date: '2026-10-01', advertiser_ids: ['x'], metrics: [], dimensions: ['a', 'a'], colour: 'red' },
    ['end_date', 'advertiser_ids[0]', 'metrics', 'dimensions', 'colour'],
  ],
  ['of an account without a credential', { account: 'elsewhere' }, ['account']],
])('36: a request %s is refused before any call, with every fault named', async (_, fields, named) => {
  const outcome = await runExport(workflow, { request: fields });
  expectFailed(outcome, 'InvalidInput');
  const faults = outcome.failure.faults?.map((fault) => fault.split(':')[0]) ?? [];
  expect(faults.sort()).toEqual(named.sort());
  expect([outcome.calls, outcome.secrets, outcome.reports]).toEqual([[], [], []]);
});

it.each([['text'], [7]])('36: a request that is %j is refused before any call', async (input) => {
  const before = workflow.sandbox.journal.length;
  const ended = await workflow.run(input);
  expect([ended.status, ended.error]).toEqual(['FAILED', 'InvalidInput']);
  expect(workflow.sandbox.journal).toHaveLength(before);
});

it('37: an old dimension is refused before any call, and the new one is named', async () => {
  const request = { dimensions: ['campaign_id', 'conv_integration_os'] };
  const outcome = await runExport(workflow, { request });
  expectFailed(outcome, 'InvalidInput');
  expect(outcome.failure.faults?.join()).toMatch(/conv_integration_os.*event_source_platform/);
  expect(outcome.calls).toEqual([]);
});

it('5, 38: a metric that the dictionary does not list fails the export if the platform refuses it, with one report in Cause, event and bucket', async () => {
  const outcome = await runExport(workflow, { request: { name: 'refused', metrics: ['no_such_metric'] } });
  expectFailed(outcome, 'RequestRefused');
  const { failure, announced } = outcome;
  expect(failure).toMatchObject({ version: '1', account: 'sandbox', export: 'refused', windows_failed: 1 });
  expect(failure.request_ids).toEqual([outcome.callsTo('create')[0]?.requestId]);
  expect(failure.faults?.join()).toContain('no_such_metric');
  expect(announced).toMatchObject([{ 'detail-type': 'Report Export Failed', detail: failure }]);
  const [key = '', ...others] = await keysOf(workflow, 'refused');
  expect(others).toEqual([]);
  expect(key).toMatch(/_failure\.json$/);
  expect(JSON.parse(String(await workflow.object(key)))).toEqual(failure);
  expect(outcome.callsTo('create')).toHaveLength(1);
  expect(outcome.logged.join()).toContain('no_such_metric');
});
