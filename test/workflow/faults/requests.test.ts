import { expect, it } from 'vitest';
import { commonWorkflow, expectFailed, keysOf, runExport } from '../../support/run-export.ts';

// A faulty request, and one that only the platform can judge.
const workflow = await commonWorkflow();

it('36: a request that is no object is refused before any call', async () => {
  const before = workflow.sandbox.journal.length;
  const ended = await workflow.run('text');
  expect([ended.status, ended.error]).toEqual(['FAILED', 'InvalidInput']);
  expect(workflow.sandbox.journal).toHaveLength(before);
});

it('5, 38: a metric that the dictionary does not list fails the export if the platform refuses it, with one report in Cause, event and bucket', async () => {
  const outcome = await runExport(workflow, { request: { name: 'refused', metrics: ['no_such_metric'] } });
  expectFailed(outcome, 'RequestRefused');
  const { failure, announced } = outcome;
  expect(failure).toMatchObject({ version: '1', account: 'sandbox', export: 'refused', windows_failed: 1 });
  expect(failure.request_ids).toEqual([outcome.callsTo('create')[0]?.requestId]);
  expect(failure.faults?.join()).toContain('no_such_metric');
  expect(announced).toMatchObject([{ 'detail-type': 'Report Export Failed', detail: failure }]);
  const [plan, key = '', ...others] = await keysOf(workflow, 'refused');
  expect([plan, others]).toEqual([expect.stringContaining('/_plans/'), []]);
  expect(key).toMatch(/_failure\.json$/);
  expect(JSON.parse(String(await workflow.object(key)))).toEqual(failure);
  expect(outcome.callsTo('create')).toHaveLength(1);
  expect(outcome.logged.join()).toContain('no_such_metric');
});
