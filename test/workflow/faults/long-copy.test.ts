import { expect, it } from 'vitest';
import { runExport, shareWorkflow } from '../../support/run-export.ts';
import { openUploads } from '../../support/workflow-objects.ts';

// Copies that take more than one call. SaveReport stops a minute before its time-out: here after 3 s of real time.
const MiB = 1024 * 1024;
const workflow = await shareWorkflow({
  speed: 100,
  sandbox: {
    tokenSeconds: 86_400,
    report: { secondsToProcessing: 0, secondsToReady: 0, bytes: 24 * MiB },
  },
  functionSeconds: { SaveReport: 63 },
});

/** The first download stalls until its call ends. */
const STALLS = `storage stall_after=${10 * MiB}`;

it('a file that takes longer than one call is resumed by the next call after its last part', async () => {
  const outcome = await runExport(workflow, { faults: [STALLS] });
  expect(outcome.status).toBe('SUCCEEDED');
  // A slow machine needs a third call.
  const [first, second] = outcome.callsTo('storage').map(({ headers }) => headers.range);
  expect([first, second]).toEqual([undefined, `bytes=${8 * MiB}-`]);
  const uploads = ['CreateMultipartUpload', 'AbortMultipartUpload', 'CompleteMultipartUpload'];
  expect(outcome.s3.map(({ operation }) => operation).filter((name) => uploads.includes(name))).toEqual([
    'CreateMultipartUpload',
    'CompleteMultipartUpload',
  ]);
  expect(outcome.manifest?.rows).toBe(workflow.sandbox.expected(String(outcome.manifest?.report_id)).rows);
});

it('1, 7: a 401 and a 503 between two calls do not lose the parts', async () => {
  const faults = [STALLS, 'report nth=3 revoke', 'report nth=4 status=503'];
  const outcome = await runExport(workflow, { faults });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('storage')[1]?.headers.range).toBe(`bytes=${8 * MiB}-`);
});

it('28: a later call that is killed is repeated from where the first one stopped', async () => {
  const parts = () => workflow.s3.journal.filter(({ operation }) => operation === 'UploadPart').length;
  const before = parts();
  const meanwhile = async () => {
    await expect.poll(parts, { interval: 5 }).toBeGreaterThan(before + 1);
    await workflow.functionOf('SaveReport').kill();
  };
  const faults = [STALLS, `storage nth=2 stall_after=${9 * MiB}`];
  const outcome = await runExport(workflow, { faults, meanwhile });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(await openUploads(workflow)).toBe(0);
});
