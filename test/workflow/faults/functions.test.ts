import { createHash } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import type { Call } from '../../../infra/sandbox/exchange.ts';
import { expectFailed, keysOf, recordJournals, runExport, shareWorkflow } from '../../support/run-export.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

// Functions that are killed, and executions that overlap. Nothing here depends on the rows of the files of two parts.
const workflow = await shareWorkflow({ settings: { MAX_CURATE_BYTES: '5000000' } });
const { sandbox, s3 } = workflow;

/** Kills a function while it waits for an answer of this endpoint, this many times. */
async function killAt(step: string, endpoint: Call['endpoint'], times = 1): Promise<void> {
  let from = sandbox.journal.length;
  for (let killed = 0; killed < times; killed += 1) {
    const call = () => sandbox.journal.findIndex((one, at) => at >= from && one.endpoint === endpoint);
    await vi.waitUntil(() => call() >= 0, { timeout: 30_000, interval: 5 });
    from = call() + 1;
    expect(await workflow.functionOf(step).kill()).toBe(1);
  }
}

it.each<[string, string, Call['endpoint'], string, { token?: number; create?: number; report?: number }]>([
  ['GetToken', 'after a token was issued', 'token', 'token hang processed', { token: 2 }],
  ['CreateReport', 'after the report was created', 'create', 'create hang processed', { create: 2 }],
  ['CheckReport', 'while it waits for the answer', 'report', 'report hang', { report: 3 }],
])('28: %s killed %s is repeated', async (step, _, endpoint, fault, expected) => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [fault], meanwhile: () => killAt(step, endpoint) });
  expect(outcome.status).toBe('SUCCEEDED');
  const calls = (['token', 'create', 'report'] as const).map((name) => [name, outcome.callsTo(name).length]);
  expect(Object.fromEntries(calls)).toEqual({ token: 1, create: 1, report: 2, ...expected });
  expect(outcome.reports).toHaveLength(fault === 'create hang processed' ? 2 : 1);
});

it('28: SaveReport killed after a part was stored starts again', async () => {
  const before = s3.journal.length;
  const partStored = () => s3.journal.slice(before).some(({ operation }) => operation === 'UploadPart');
  const outcome = await runExport(workflow, {
    sandbox: { report: { bytes: 9 * 1024 * 1024 } },
    faults: ['storage stall_after=9000000'],
    meanwhile: async () => {
      await vi.waitUntil(partStored, { timeout: 30_000, interval: 5 });
      expect(await workflow.functionOf('SaveReport').kill()).toBe(1);
    },
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(1);
  expect(outcome.callsTo('storage')).toHaveLength(2);
});

it('28: a function that is killed each time fails in bounded time with nothing visible', async () => {
  const outcome = await runExport(workflow, {
    faults: ['storage hang times=always'],
    meanwhile: () => killAt('SaveReport', 'storage', 4),
  });
  expectFailed(outcome, 'Runtime.ExitError');
  expect(outcome.reports).toHaveLength(1);
});

it('28: PublishWindow killed after its manifest was written writes it again', async () => {
  const since = recordJournals(workflow);
  const manifests = () => since().s3.filter(({ key }) => key.endsWith('_manifest.json'));
  const outcome = await runExport(workflow, {
    s3: [{ operation: 'PutObject', key: '_manifest.json', answer: 'lost answer' }],
    meanwhile: async () => {
      await vi.waitUntil(() => manifests().length > 0, { timeout: 30_000, interval: 1 });
      await workflow.functionOf('PublishWindow').kill();
    },
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('storage')).toHaveLength(1);
});

it('29: a schedule that fires twice and an overlapping backfill leave the same bytes with one token', async () => {
  sandbox.faults.clear();
  await forgetTokens(workflow);
  const since = recordJournals(workflow);
  const daily = workflow.request({ name: 'overlapping' });
  const backfill = { ...daily, start_date: '2026-08-20', end_date: '2026-10-08', max_parallel: 2 };
  const ended = await Promise.all([daily, daily, backfill, backfill].map((request) => workflow.run(request)));
  expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'SUCCEEDED'));
  expect(since().callsTo('token')).toHaveLength(1);
  const keys = await keysOf(workflow, 'overlapping');
  const manifests = keys.filter((key) => key.endsWith('_manifest.json'));
  expect(manifests).toHaveLength(3);
  expect(keys).toHaveLength(6);
  for (const key of manifests) {
    const manifest = JSON.parse(String(await workflow.object(key)));
    const digest = createHash('sha256').update(await workflow.object(manifest.key));
    expect(digest.digest('hex')).toBe(sandbox.expected(manifest.report_id).sha256());
  }
});
