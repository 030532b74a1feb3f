import { expect, it } from 'vitest';
import { commonWorkflow, runExport } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

it('54: advertisers are listed once with a token of the scopes, after a 429 and a refused token (contract 4.6, 5.3)', async () => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, {
    request: {
      name: 'all-windows',
      advertiser_ids: 'all',
      start_date: '2026-08-01',
      end_date: '2026-10-03',
      table: false,
    },
    faults: ['list status=429', 'list nth=2 status=401'],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  const scopes = outcome.callsTo('token').map(({ body }) => new URLSearchParams(body).get('scope'));
  expect(scopes).toEqual(Array(2).fill('reporting:read advertisers:read'));
  expect(outcome.callsTo('list').map(({ status }) => status)).toEqual([429, 401, 200, 200]);
  const asked = outcome.callsTo('create').map(({ body }) => JSON.parse(body).advertiser_ids);
  expect(asked).toEqual(Array(2).fill(workflow.sandbox.advertiserIds.toSorted()));
  const [key] = await workflow.keys('exports/account=sandbox/export=all-windows/_advertisers');
  expect(outcome.manifest).toMatchObject({
    advertisers: { key, count: 3 },
    export_request: { advertiser_ids: 'all' },
    request: { advertiser_ids: 'all' },
  });
});
