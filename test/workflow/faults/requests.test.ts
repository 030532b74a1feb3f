import { describe, expect, it } from 'vitest';
import { commonWorkflow, expectFailed, keysOf, runExport } from '../../support/run-export.ts';

// Faulty requests, and requests that only the platform can judge.
const workflow = await commonWorkflow();
const [ADVERTISER] = workflow.sandbox.advertiserIds;

describe('36: a request', () => {
  it.each<[string, Record<string, unknown>, string[]]>([
    ['of 0 days', { end_date: '2026-10-01' }, ['end_date']],
    ['with an end before its start', { end_date: '2026-09-01' }, ['end_date']],
    ['from 30 February', { start_date: '2026-02-30' }, ['start_date']],
    ['with an id that is not a UUID', { advertiser_ids: ['acme'] }, ['advertiser_ids[0]']],
    [
      'with empty lists',
      { advertiser_ids: [], metrics: [], dimensions: [] },
      ['advertiser_ids', 'metrics', 'dimensions'],
    ],
    [
      'with duplicates',
      { advertiser_ids: [ADVERTISER, ADVERTISER], metrics: ['spend', 'spend'] },
      ['advertiser_ids', 'metrics'],
    ],
    ['with unknown fields', { metric: ['spend'], dry_run: true }, ['metric', 'dry_run']],
    ['with names that fit no key', { name: '../etc', account: 'a/b' }, ['name', 'account']],
    ['of an account without a credential', { account: 'elsewhere' }, ['account']],
    [
      'with one fault of each kind',
      { end_date: '2026-10-01', advertiser_ids: ['x'], metrics: [], dimensions: ['a', 'a'], colour: 'red' },
      ['end_date', 'advertiser_ids[0]', 'metrics', 'dimensions', 'colour'],
    ],
  ])('36: %s is refused before any call, with every fault named', async (_, fields, named) => {
    const outcome = await runExport(workflow, { request: fields });
    expectFailed(outcome, 'InvalidInput');
    const faults = outcome.failure.faults?.map((fault) => fault.split(':')[0]) ?? [];
    expect(faults.sort()).toEqual([...named].sort());
    expect([outcome.calls, outcome.secrets, outcome.reports]).toEqual([[], [], []]);
  });

  it.each([['text'], [true], [[]], [7]])('36: that is %j is refused before any call', async (input) => {
    const before = workflow.sandbox.journal.length;
    const ended = await workflow.run(input);
    expect([ended.status, ended.error]).toEqual(['FAILED', 'InvalidInput']);
    expect(workflow.sandbox.journal).toHaveLength(before);
  });

  it('36: with a very long name gets a failure report that can be read', async () => {
    const outcome = await runExport(workflow, { request: { name: 'x'.repeat(100_000) } });
    expectFailed(outcome, 'InvalidInput');
    expect(outcome.failure).toMatchObject({ account: 'sandbox', export: 'x'.repeat(64) });
    expect(outcome.cause?.length).toBeLessThan(32_768);
  });
});

it.each([
  ['conv_integration_id', 'event_source_id'],
  ['conv_integration_os', 'event_source_platform'],
])('37: the dimension %s is refused before any call, and %s is named', async (legacy, current) => {
  const outcome = await runExport(workflow, { request: { dimensions: ['campaign_id', legacy] } });
  expectFailed(outcome, 'InvalidInput');
  expect(outcome.failure.faults?.join()).toContain(legacy);
  expect(outcome.failure.faults?.join()).toContain(current);
  expect(outcome.calls).toEqual([]);
});

describe('38: a metric or dimension that the contract does not list', () => {
  it('38: is delivered with a warning if the platform knows it', async () => {
    const outcome = await runExport(workflow, {
      request: { metrics: ['spend', 'clicks'], dimensions: ['country'] },
    });
    expect(outcome.status).toBe('SUCCEEDED');
    const warnings = [expect.stringContaining('clicks'), expect.stringContaining('country')];
    expect(outcome.output).toMatchObject({ warnings });
    expect(outcome.manifest).toMatchObject({ warnings });
    expect(outcome.logged.join()).toMatch(/clicks.*country/s);
  });

  it('5, 38: fails the export if the platform refuses it, with one report in Cause, event and bucket', async () => {
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
});
