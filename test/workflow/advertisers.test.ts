import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ExportResult } from '../../functions/workflow/states.ts';
import { runCommand } from '../support/cli.ts';
import { queryDays } from '../support/day-sums.ts';
import { commonWorkflow, type Outcome, runExport } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await commonWorkflow();
const [one = '', two = '', three = ''] = workflow.sandbox.advertiserIds;
const NEW = 'd4a6b8c0-3e5f-4b7d-8c9e-1f2a3b4c5d04';

const RANGE = { start_date: '2026-10-01', end_date: '2026-10-03' };
const request = (name: string, fields = {}) => ({ name, advertiser_ids: 'all', ...RANGE, ...fields });

function askedFor({ callsTo }: Outcome): unknown[] {
  return callsTo('create').map(({ body }) => JSON.parse(body).advertiser_ids);
}

it('55: an added metric and an added advertiser leave the days that were exported before as they are', async () => {
  const fields = { name: 'grows', advertiser_ids: [one], metrics: ['spend', 'clicks'] };
  const read = () =>
    queryDays(join(workflow.out, workflow.bucket, 'tables/grows'), 'sandbox', ['spend', 'clicks']);
  const days = { start_date: '2026-10-01', end_date: '2026-10-04' };
  await runExport(workflow, { request: { ...fields, ...days } });
  const before = await read();
  const later = { start_date: '2026-10-03', end_date: '2026-10-05' };
  const more = { metrics: ['spend', 'clicks', 'impressions'], advertiser_ids: [one, two] };
  const grown = await runExport(workflow, { request: { ...fields, ...later, ...more } });
  expect(grown.output).toMatchObject({ restated: 1, first_restated: '2026-10-03' });
  const after = await read();
  expect([...after.keys()].sort()).toEqual(['2026-10-01', '2026-10-02', '2026-10-03', '2026-10-04']);
  for (const day of ['2026-10-01', '2026-10-02']) expect(after.get(day)).toEqual(before.get(day));
  const place = ['--account', 'sandbox', '--local', '--out', workflow.out];
  const { stdout } = await runCommand(['missing', 'grows', ...place]);
  expect(stdout).toContain('0 of 4 days are not delivered, 2 of an older request until 2026-10-02');
  expect(stdout).toContain('without impressions, 1 of the advertisers');
});

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

  it('54: names a newcomer with the command for the days before, leaves out a refused one, and keeps its hash', async () => {
    const first = await runExport(workflow, { request: request('newcomer') });
    const second = await runExport(workflow, {
      request: request('newcomer', { start_date: '2026-10-02' }),
      sandbox: { addedAdvertisers: [NEW], refusedAdvertisers: [two] },
    });
    expect(askedFor(second)).toEqual(
      [
        [one, two, three, NEW],
        [one, three, NEW],
      ].map((ids) => ids.toSorted()),
    );
    const { newcomers, windows, warnings } = second.output as ExportResult;
    const history = { start_date: '2026-10-01', end_date: '2026-10-02' };
    const command = 'npx ad-report-export run newcomer --account sandbox --from 2026-10-01 --to 2026-10-02';
    expect(newcomers).toEqual({ count: 1, advertiser_ids: [NEW], history, command });
    expect(warnings).toEqual([
      `the platform refused 1 advertiser of its own list, so the report is without: ${two}`,
    ]);
    const manifest = JSON.parse(String(await workflow.object(windows[0]?.manifest_key ?? '')));
    expect(manifest).toMatchObject({
      advertisers: { count: 3, refused: 1, newcomers: { advertiser_ids: [NEW] } },
      request_hash: first.manifest?.request_hash,
      warnings,
    });
  });
});
