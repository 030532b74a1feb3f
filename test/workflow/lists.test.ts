import { expect, it } from 'vitest';
import {
  type Conditions,
  commonWorkflow,
  expectFailed,
  type Outcome,
  runExport,
} from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();

function list(fields: Record<string, unknown> = {}, conditions: Conditions = {}): Promise<Outcome> {
  const asked = { kind: 'list', snapshot_date: '2026-11-20', ...fields };
  return runExport(workflow, { ...conditions, request: asked });
}

function idsOf({ object }: Outcome): string[] {
  const lines = String(object).split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { id: string }).id);
}

it('4.6: a list of 12,345 campaigns arrives as 12,345 lines in 3 requests (contract 8)', async () => {
  const outcome = await list({ name: 'all' }, { sandbox: { lists: { campaigns: { count: 12_345 } } } });
  expect(outcome).toMatchObject({ status: 'SUCCEEDED', output: { kind: 'list', rows: 12_345 } });
  expect(new Set(idsOf(outcome)).size).toBe(12_345);
  const queries = outcome.callsTo('list').map(({ query }) => Object.fromEntries(new URLSearchParams(query)));
  expect(queries).toEqual(['0', '5000', '10000'].map((offset) => ({ limit: '5000', offset })));
  expect(outcome.manifest).toMatchObject({
    kind: 'list',
    rows: 12_345,
    content_type: 'application/x-ndjson',
    key: 'exports/account=sandbox/export=all/start_date=2026-11-20/end_date=2026-11-21/campaigns.ndjson',
    request: { resource: 'campaigns', limit: 5000 },
  });
});

it('8: a list whose page is answered with 429 waits and starts again', async () => {
  const outcome = await list({}, { faults: ['list status=429 retry_after=45'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('list').map(({ status }) => status)).toEqual([429, 200, 200]);
});

it('5.3: the scope of a list is that of its resource, and leaves a report’s token cached', async () => {
  await forgetTokens(workflow);
  const outcomes = [await runExport(workflow), await list(), await runExport(workflow)];
  const asked = outcomes.map((outcome) =>
    outcome.callsTo('token').map(({ body }) => new URLSearchParams(body).get('scope')),
  );
  expect(asked).toEqual([['reporting:read'], ['campaigns:read'], []]);
  const refused = await list({}, { faults: ['list status=403 times=always'] });
  expectFailed(refused, 'RequestRefused');
  expect(refused.failure.happened).toContain('campaigns:read');
});
