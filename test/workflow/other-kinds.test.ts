import { expect, it } from 'vitest';
import type { PlanOfAll, WindowState } from '../../functions/workflow/states.ts';
import { commonWorkflow, deliver, keysOf, runExport } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

const RANGE = { start_date: '2026-01-01', end_date: '2026-10-01' };

it('1, 7, 8, 11: a purchase query is sent until answered, and announced like a report (contract 4.5)', async () => {
  const outcome = await deliver(workflow, {
    request: { name: 'purchases', kind: 'purchases', ...RANGE },
    faults: [
      ...['purchases status=401', 'purchases nth=2 reset=after', 'purchases nth=3 status=429'],
      'purchases nth=4 body="<html>" header.content-type=text/html',
    ],
  });
  const [advertiser_id] = workflow.sandbox.advertiserIds;
  const sent = outcome.callsTo('purchases').map(({ body }) => JSON.parse(body));
  expect(sent).toEqual(Array(5).fill({ advertiser_id, ...RANGE }));
  const prefix = 'exports/account=sandbox/export=purchases/start_date=2026-01-01/end_date=2026-10-01/';
  expect(await keysOf(workflow, 'purchases')).toEqual([`${prefix}_manifest.json`, `${prefix}purchases.json`]);
  expect(outcome.manifest).toMatchObject({
    kind: 'purchases',
    key: `${prefix}purchases.json`,
    bytes: outcome.object?.length,
    content_type: 'application/json',
  });
  expect(outcome.manifest).not.toHaveProperty('report_id');
  expect(outcome.announced).toMatchObject([{ detail: { kind: 'purchases' } }]);
});

it('8, 5: a list goes on after a 429 and a 401, with a token of its scope (contract 5.3)', async () => {
  await forgetTokens(workflow);
  const { output, callsTo, events } = await runExport(workflow, {
    request: { name: 'all', kind: 'list', limit: 20 },
    faults: ['list nth=2 status=429 retry_after=45', 'list nth=4 times=2 status=401'],
  });
  expect(output).toMatchObject({ kind: 'list', rows: 57 });
  const waits = events.filter(({ type, state }) => type === 'StateEntered' && state === 'WaitForReport');
  expect(waits.map(({ input }) => (input as WindowState).wait_seconds)).toEqual([45, 10, 10]);
  const offsets = callsTo('list').map(({ query }) => new URLSearchParams(query).get('offset'));
  expect(offsets).toEqual(['0', '20', '20', '40', '40', '40', '57']);
  const scopes = callsTo('token').map(({ body }) => new URLSearchParams(body).get('scope'));
  expect(scopes).toEqual(['campaigns:read', 'campaigns:read']);
});

it('54: advertisers are listed once with a scoped token, after 429s and a 401 (contract 4.6, 5.3)', async () => {
  await forgetTokens(workflow);
  const outcome = await deliver(workflow, {
    request: {
      name: 'all-windows',
      advertiser_ids: 'all',
      start_date: '2026-08-01',
      end_date: '2026-10-03',
      table: false,
    },
    faults: [
      ...['list page=1 times=always', 'list status=429', 'list nth=2 status=401'],
      'list nth=4 status=429 retry_after=45',
    ],
  });
  const waits = outcome.events.filter(
    ({ type, state }) => type === 'StateEntered' && state === 'WaitForAdvertisers',
  );
  expect(waits.map(({ input }) => (input as PlanOfAll).listing?.wait_seconds)).toEqual([10, 45]);
  const scopes = outcome.callsTo('token').map(({ body }) => new URLSearchParams(body).get('scope'));
  expect(scopes).toEqual(Array(2).fill('reporting:read advertisers:read'));
  expect(outcome.callsTo('list').map(({ status }) => status)).toEqual([
    ...[429, 401, 200],
    ...[429, 200, 200, 200],
  ]);
  const asked = outcome.callsTo('create').map(({ body }) => JSON.parse(body).advertiser_ids);
  expect(asked).toEqual(Array(2).fill(workflow.sandbox.advertiserIds.toSorted()));
  const [key] = await workflow.keys('exports/account=sandbox/export=all-windows/_advertisers');
  expect(outcome.manifest).toMatchObject({
    advertisers: { key, count: 3 },
    export_request: { advertiser_ids: 'all' },
    request: { advertiser_ids: 'all' },
  });
});

it('60: a list that is refused in the middle replaces nothing, and no report is created', async () => {
  const faults = ['list page=2 times=always', 'list nth=2 times=always status=404'];
  const list = { name: 'refused-list', kind: 'list' };
  const ended = await runExport(workflow, { request: list, faults });
  expect(ended).toMatchObject({ status: 'FAILED', error: 'AnswerUnreadable' });
  expect((await keysOf(workflow, 'refused-list')).join()).not.toMatch(/campaigns\.ndjson|_manifest/);
  const all = { name: 'refused-all', advertiser_ids: 'all', ...RANGE, end_date: '2026-01-02' };
  const report = await runExport(workflow, { request: all, faults });
  expect(report).toMatchObject({ status: 'FAILED', error: 'AnswerUnreadable' });
  expect(report.callsTo('create')).toEqual([]);
});

it('60: a list that is refused behind its end is delivered', async () => {
  const faults = ['list page=20 beyond=404 times=always'];
  const { output } = await runExport(workflow, { request: { name: 'ended', kind: 'list' }, faults });
  expect(output).toMatchObject({ rows: 57 });
});
