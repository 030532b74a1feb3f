import { describe, expect, it } from 'vitest';
import type { ExportResult } from '../../functions/workflow/states.ts';
import { commonWorkflow, expectFailed, type Outcome, runExport } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();
const [one = '', two = '', three = ''] = workflow.sandbox.advertiserIds;
const NEW = 'd4a6b8c0-3e5f-4b7d-8c9e-1f2a3b4c5d04';

const RANGE = { start_date: '2026-10-01', end_date: '2026-10-03' };
const request = (name: string, fields = {}) => ({ name, advertiser_ids: 'all', ...RANGE, ...fields });

function askedFor({ callsTo }: Outcome): unknown[] {
  return callsTo('create').map(({ body }) => JSON.parse(body).advertiser_ids);
}

describe('an export of all advertisers', () => {
  it('54: lists them once with a token of its scopes, after a 429 and a refused token (contract 4.6, 5.3)', async () => {
    await forgetTokens(workflow);
    const outcome = await runExport(workflow, {
      request: request('all-windows', { start_date: '2026-08-01', end_date: '2026-10-03', table: false }),
      faults: ['list status=429', 'list nth=2 status=401'],
    });
    expect(outcome.status).toBe('SUCCEEDED');
    const scopes = outcome.callsTo('token').map(({ body }) => new URLSearchParams(body).get('scope'));
    expect(scopes).toEqual(Array(2).fill('reporting:read advertisers:read'));
    expect(outcome.callsTo('list').map(({ status }) => status)).toEqual([429, 401, 200, 200]);
    expect(askedFor(outcome)).toEqual(Array(2).fill([one, two, three].toSorted()));
    const [key] = await workflow.keys('exports/account=sandbox/export=all-windows/_advertisers');
    expect(outcome.manifest).toMatchObject({
      advertisers: { key, count: 3 },
      export_request: { advertiser_ids: 'all' },
      request: { advertiser_ids: 'all' },
    });
  });

  it('54: keeps its hash when there is a newcomer', async () => {
    const first = await runExport(workflow, { request: request('newcomer') });
    const second = await runExport(workflow, {
      request: request('newcomer'),
      sandbox: { addedAdvertisers: [NEW] },
    });
    expect(askedFor(second)).toEqual([[one, two, three, NEW].toSorted()]);
    expect(second.manifest?.advertisers).toMatchObject({ count: 4, newcomers: { advertiser_ids: [NEW] } });
    const { newcomers } = second.output as ExportResult;
    expect(newcomers).toEqual({ count: 1, advertiser_ids: [NEW] });
    expect(second.manifest?.request_hash).toBe(first.manifest?.request_hash);
  });

  it('54: leaves a refused advertiser out, and names it in the result', async () => {
    const outcome = await runExport(workflow, {
      request: request('refused'),
      sandbox: { refusedAdvertisers: [two] },
    });
    const warning = `the platform refused 1 advertiser of its own list, so the report is without: ${two}`;
    expect(outcome.output).toMatchObject({ warnings: [warning] });
    expect(outcome.manifest).toMatchObject({ advertisers: { count: 2, refused: 1 }, warnings: [warning] });
  });

  it('54: fails if all are refused, or if there is none', async () => {
    const refused = await runExport(workflow, {
      request: request('all-refused'),
      sandbox: { refusedAdvertisers: [one, two, three] },
    });
    expectFailed(refused, 'RequestRefused');
    expect(refused.failure.faults).toHaveLength(3);
    const none = await runExport(workflow, {
      request: request('none'),
      faults: ['list body="[]"'],
    });
    expectFailed(none, 'RequestRefused');
    expect(none.callsTo('create')).toEqual([]);
  });
});
