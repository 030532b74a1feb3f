import { expect, it } from 'vitest';
import { commonWorkflow, runExport } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

it('8: a list arrives page by page with a token of its scope, and starts again after a 429 (contract 4.6, 5.3, 8)', async () => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, {
    request: { name: 'all', kind: 'list', snapshot_date: '2026-11-20' },
    sandbox: { lists: { campaigns: { count: 12_345 } } },
    faults: ['list nth=2 status=429 retry_after=45'],
  });
  expect(outcome).toMatchObject({ status: 'SUCCEEDED', output: { kind: 'list', rows: 12_345 } });
  const lines = String(outcome.object).split('\n').slice(0, -1);
  expect(new Set(lines.map((line) => JSON.parse(line).id)).size).toBe(12_345);
  const scopes = outcome.callsTo('token').map(({ body }) => new URLSearchParams(body).get('scope'));
  expect(scopes).toEqual(['campaigns:read']);
  const queries = outcome.callsTo('list').map(({ query }) => Object.fromEntries(new URLSearchParams(query)));
  const offsets = ['0', '5000', '0', '5000', '10000', '12345'];
  expect(queries).toEqual(offsets.map((offset) => ({ limit: '5000', offset })));
  expect(outcome.manifest).toMatchObject({
    kind: 'list',
    rows: 12_345,
    content_type: 'application/x-ndjson',
    key: 'exports/account=sandbox/export=all/start_date=2026-11-20/end_date=2026-11-21/campaigns.ndjson',
    request: { resource: 'campaigns', limit: 5000 },
  });
});
