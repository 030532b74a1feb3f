import { createHash } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import type { Fault as S3Fault } from '../../../infra/local/s3/faults.ts';
import type { Call } from '../../../infra/local/sandbox/exchange.ts';
import { expectFailed, runExport, shareWorkflow } from '../../support/run-export.ts';
import { expectNoSecretWritten } from '../../support/secrecy.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

let bytes = 50_000;

// What happens to the workflow itself, and what is asked of it.
const workflow = await shareWorkflow({
  speed: 1000,
  sandbox: {
    tokenSeconds: 86_400,
    report: { secondsToProcessing: 0, secondsToReady: 0, bytes: () => bytes },
  },
});

const { sandbox, s3 } = workflow;

/** Kills a function each time that it hangs in a call to this endpoint. */
async function killAt(step: string, endpoint: Call['endpoint'], times = 1): Promise<void> {
  let from = sandbox.journal.length;
  for (let killed = 0; killed < times; killed += 1) {
    const hangs = () => sandbox.journal.findIndex((call, at) => at >= from && call.endpoint === endpoint);
    await vi.waitUntil(() => hangs() >= 0, { timeout: 30_000, interval: 5 });
    from = hangs() + 1;
    expect(await workflow.functionOf(step).kill()).toBe(1);
  }
}

it.each<[string, string, Call['endpoint'], string, Record<string, number>]>([
  ['GetToken', 'before a token is issued', 'token', 'token hang', { token: 2 }],
  ['GetToken', 'after a token was issued', 'token', 'token hang processed', { token: 2 }],
  ['CreateReport', 'before the report is created', 'create', 'create hang', { create: 2, reports: 1 }],
  [
    'CreateReport',
    'after the report was created',
    'create',
    'create hang processed',
    { create: 2, reports: 2 },
  ],
  ['CheckReport', 'as it waits for the answer', 'report', 'report hang', { report: 3, reports: 1 }],
])('28: %s, killed %s, starts clean', async (step, _, endpoint, fault, expected) => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [fault], meanwhile: () => killAt(step, endpoint) });
  expect(outcome.status).toBe('SUCCEEDED');
  const { token, create, report } = { token: 1, create: 1, report: 2, ...expected };
  expect(
    [outcome.callsTo('token'), outcome.callsTo('create'), outcome.callsTo('report')].map(
      ({ length }) => length,
    ),
  ).toEqual([token, create, report]);
  expect(outcome.reports).toHaveLength(expected.reports ?? 1);
});

it.each([
  ['before the first byte', 'storage hang'],
  ['in the middle of a part', 'storage stall_after=1000000'],
  ['after a part was stored', 'storage stall_after=9000000'],
])('28: SaveReport, killed %s, starts clean', async (_, fault) => {
  bytes = 9 * 1024 * 1024;
  const parts = s3.journal.length;
  const outcome = await runExport(workflow, {
    faults: [fault],
    meanwhile: async () => {
      if (fault.endsWith('=9000000')) {
        const stored = () => s3.journal.slice(parts).some(({ operation }) => operation === 'UploadPart');
        await vi.waitUntil(stored, { timeout: 30_000, interval: 5 });
        expect(await workflow.functionOf('SaveReport').kill()).toBe(1);
      } else await killAt('SaveReport', 'storage');
    },
  });
  bytes = 50_000;
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  expect(outcome.callsTo('storage')).toHaveLength(2);
});

it('28: a function that is killed each time fails in bounded time, with nothing visible', async () => {
  const outcome = await runExport(workflow, {
    faults: ['storage hang times=always'],
    meanwhile: () => killAt('SaveReport', 'storage', 4),
  });
  expectFailed(outcome, 'Runtime.ExitError');
  expect(outcome.reports).toHaveLength(1);
});

it.each<[string, S3Fault['answer']]>([
  ['before', 'stall'],
  ['after', 'lost answer'],
])('28: PublishWindow, killed %s its manifest is written, writes the same one again', async (_, answer) => {
  const before = s3.journal.length;
  const manifests = () => s3.journal.slice(before).filter(({ key }) => key.endsWith('_manifest.json'));
  const outcome = await runExport(workflow, {
    s3: [{ operation: 'PutObject', key: '_manifest.json', answer }],
    meanwhile: async () => {
      await vi.waitUntil(() => manifests().length > 0, { timeout: 30_000, interval: 1 });
      await workflow.functionOf('PublishWindow').kill();
    },
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('storage')).toHaveLength(1);
});

it('29: a schedule that fires twice, and a backfill that overlaps it, leave the same bytes with one token', async () => {
  sandbox.faults.clear();
  await forgetTokens(workflow);
  const before = sandbox.journal.length;
  const daily = workflow.request({ name: 'overlapping' });
  const backfill = { ...daily, start_date: '2026-08-20', end_date: '2026-10-08', max_parallel: 2 };
  const ended = await Promise.all([daily, daily, backfill, backfill].map((request) => workflow.run(request)));
  expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'SUCCEEDED'));
  const calls = sandbox.journal.slice(before);
  expect(calls.filter(({ endpoint }) => endpoint === 'token')).toHaveLength(1);
  const keys = (await workflow.keys()).filter((key) => key.includes('/export=overlapping/'));
  const manifests = keys.filter((key) => key.endsWith('_manifest.json'));
  expect(manifests).toHaveLength(3);
  expect(keys).toHaveLength(6);
  for (const key of manifests) {
    const manifest = JSON.parse(String(await workflow.object(key)));
    const digest = createHash('sha256').update(await workflow.object(manifest.key));
    expect(digest.digest('hex')).toBe(sandbox.expected(manifest.report_id).sha256());
  }
  await expectNoSecretWritten(workflow);
});

const [ADVERTISER] = sandbox.advertiserIds;

it.each<[string, Record<string, unknown>, string[]]>([
  ['0 days', { end_date: '2026-10-01' }, ['end_date']],
  ['an end before its start', { end_date: '2026-09-01' }, ['end_date']],
  ['30 February', { start_date: '2026-02-30' }, ['start_date']],
  ['no UUID', { advertiser_ids: ['acme'] }, ['advertiser_ids[0]']],
  [
    'empty lists',
    { advertiser_ids: [], metrics: [], dimensions: [] },
    ['advertiser_ids', 'metrics', 'dimensions'],
  ],
  [
    'duplicates',
    { advertiser_ids: [ADVERTISER, ADVERTISER], metrics: ['spend', 'spend'] },
    ['advertiser_ids', 'metrics'],
  ],
  ['unknown fields', { metric: ['spend'], dry_run: true }, ['metric', 'dry_run']],
  ['names that are no part of a key', { name: '../etc', account: 'a/b' }, ['name', 'account']],
  [
    'one of each',
    { end_date: '2026-10-01', advertiser_ids: ['x'], metrics: [], dimensions: ['a', 'a'], colour: 'red' },
    ['end_date', 'advertiser_ids[0]', 'metrics', 'dimensions', 'colour'],
  ],
])('36: an input with %s is refused before any request, every fault named', async (_, fields, named) => {
  const outcome = await runExport(workflow, { request: fields });
  expectFailed(outcome, 'InvalidInput');
  const faults = outcome.failure.faults?.map((fault) => fault.split(':')[0]) ?? [];
  expect(faults.sort()).toEqual([...named].sort());
  expect([outcome.calls, outcome.secrets, outcome.reports]).toEqual([[], [], []]);
});

it.each([
  ['text'],
  [true],
  [[]],
  [7],
])('36: an input that is no object (%j) is refused before any request', async (input) => {
  const before = sandbox.journal.length;
  const ended = await workflow.run(input);
  expect([ended.status, ended.error]).toEqual(['FAILED', 'InvalidInput']);
  expect(sandbox.journal).toHaveLength(before);
});

it.each([
  ['conv_integration_id', 'event_source_id'],
  ['conv_integration_os', 'event_source_platform'],
])('37: the dimension %s is refused before any request, naming %s', async (legacy, current) => {
  const outcome = await runExport(workflow, { request: { dimensions: ['campaign_id', legacy] } });
  expectFailed(outcome, 'InvalidInput');
  expect(outcome.failure.faults?.join()).toContain(legacy);
  expect(outcome.failure.faults?.join()).toContain(current);
  expect(outcome.calls).toEqual([]);
});

it('38: a metric and a dimension that only the platform knows are delivered, with a warning each', async () => {
  const outcome = await runExport(workflow, {
    request: { metrics: ['spend', 'clicks'], dimensions: ['country'] },
  });
  expect(outcome.status).toBe('SUCCEEDED');
  const warnings = [expect.stringContaining('clicks'), expect.stringContaining('country')];
  expect(outcome.output).toMatchObject({ warnings });
  expect(outcome.manifest).toMatchObject({ warnings });
  expect(outcome.logged.join()).toMatch(/clicks.*country/s);
});

it('38: a metric that the platform does not know either is refused by the platform, once', async () => {
  const outcome = await runExport(workflow, { request: { metrics: ['no_such_metric'] } });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.faults?.join()).toContain('no_such_metric');
  expect(outcome.callsTo('create')).toHaveLength(1);
  expect(outcome.logged.join()).toContain('no_such_metric');
});
