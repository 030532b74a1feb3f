import { expect, it, vi } from 'vitest';
import type { Call } from '../../../infra/lab/sandbox/exchange.ts';
import type { S3Call } from '../../support/faulty-services.ts';
import { deliver, expectFailed, runExport, shareWorkflow } from '../../support/run-export.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

const MiB = 1024 * 1024;

// Functions that are killed. Nothing here depends on the rows of the file of two parts.
const workflow = await shareWorkflow({ settings: { MAX_CURATE_BYTES: '5000000' } });
const { sandbox, s3 } = workflow;

/** Kills a function after such a call is noted in the journal, which it waits for from its start on. */
async function killAfter<T>(step: string, journal: readonly T[], isReached: (call: T) => boolean) {
  const from = journal.length;
  await vi.waitUntil(() => journal.slice(from).some(isReached), { timeout: 30_000, interval: 1 });
  expect(await workflow.functionOf(step).kill()).toBe(1);
}

const callTo =
  (endpoint: Call['endpoint']) =>
  (call: Call): boolean =>
    call.endpoint === endpoint;

it('28: each function that is killed after its side effect is repeated', async () => {
  await forgetTokens(workflow);
  const outcome = await deliver(workflow, {
    sandbox: { report: { rows: 250_000 } },
    faults: [
      ...['token hang processed', 'create hang processed', 'report hang', 'storage stall_after=9000000'],
    ],
    s3: [{ operation: 'PutObject', key: '_manifest.json', answer: 'stall' }],
    meanwhile: async () => {
      await killAfter('GetToken', sandbox.journal, callTo('token'));
      await killAfter('CreateReport', sandbox.journal, callTo('create'));
      await killAfter('CheckReport', sandbox.journal, callTo('report'));
      await killAfter('SaveReport', s3.journal, ({ operation }: S3Call) => operation === 'UploadPart');
      await killAfter('PublishWindow', s3.journal, ({ key }: S3Call) => key.endsWith('_manifest.json'));
    },
  });
  const calls = (['token', 'create', 'report', 'storage'] as const).map(
    (name) => `${name} ${outcome.callsTo(name).length}`,
  );
  expect(calls).toEqual(['token 2', 'create 2', 'report 4', 'storage 2']);
  expect(outcome.reports).toHaveLength(2);
});

it('28: a function that is killed each time fails in bounded time with nothing visible', async () => {
  const outcome = await runExport(workflow, {
    faults: ['storage hang times=always'],
    meanwhile: async () => {
      for (const _ of [1, 2, 3, 4]) await killAfter('SaveReport', sandbox.journal, callTo('storage'));
    },
  });
  expectFailed(outcome, 'Runtime.ExitError');
  expect(outcome.reports).toHaveLength(1);
});

it('1, 7, 28: a file that takes several calls keeps its parts after a 401, a 503 and a kill', async () => {
  const outcome = await deliver(workflow, {
    // Of 39 bytes each: 23 MiB.
    sandbox: { report: { rows: 625_000 } },
    faults: [
      ...[`storage cut_after=${10 * MiB}`, `storage nth=2 stall_after=${9 * MiB}`],
      ...['report nth=3 revoke', 'report nth=4 status=503'],
    ],
    // The first call stores part 1, and the second one part 2.
    meanwhile: () =>
      killAfter(
        'SaveReport',
        s3.journal,
        ({ operation, part }: S3Call) => operation === 'UploadPart' && part === 2,
      ),
  });
  const ranges = outcome.callsTo('storage').map(({ headers }) => headers.range);
  expect(ranges).toEqual([undefined, `bytes=${8 * MiB}-`, `bytes=${8 * MiB}-`]);
  const reports = outcome.callsTo('report').map(({ status }) => status);
  expect(reports).toEqual([200, 200, 401, 503, 200, 200]);
  const uploads = outcome.s3
    .map(({ operation }) => operation)
    .filter((name) => /MultipartUpload$/.test(name));
  expect(uploads).toEqual(['CreateMultipartUpload', 'CompleteMultipartUpload']);
});
