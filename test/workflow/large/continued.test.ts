import { expect, it } from 'vitest';
import { expectFailed, openUploads, runExport, shareWorkflow } from '../../support/run-export.ts';

const MiB = 1024 * 1024;

// SaveReport stops a minute before its time is up: after 3 s. A download that stalls for longer makes it do so.
const workflow = await shareWorkflow({
  speed: 100,
  sandbox: {
    tokenSeconds: 86_400,
    report: { secondsToProcessing: 0, secondsToReady: 0, bytes: 40 * MiB },
  },
  functionSeconds: { SaveReport: 63 },
});

const STALLS = `storage stall_after=${20 * MiB}`;
const uploads = ['CreateMultipartUpload', 'AbortMultipartUpload', 'CompleteMultipartUpload'];

it('a file that does not come in the time of one call is gone on with by the next, from the last part', async () => {
  const outcome = await runExport(workflow, { faults: [STALLS] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.to('storage').map(({ headers }) => headers.range)).toEqual([
    undefined,
    `bytes=${16 * MiB}-`,
  ]);
  const made = outcome.s3.map(({ operation }) => operation).filter((name) => uploads.includes(name));
  expect(made).toEqual(['CreateMultipartUpload', 'CompleteMultipartUpload']);
  expect(outcome.manifest?.rows).toBe(workflow.sandbox.expected(String(outcome.manifest?.report_id)).rows);
});

it('18: an object that changed between two calls is begun again', async () => {
  const outcome = await runExport(workflow, { faults: [STALLS, 'storage nth=2 changed'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(await openUploads(workflow)).toBe(0);
});

it('1, 7: what comes between two calls, of tokens and of the platform, loses nothing', async () => {
  const faults = [STALLS, 'report nth=3 revoke', 'report nth=4 status=503'];
  const outcome = await runExport(workflow, { faults });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.to('storage').at(-1)?.headers.range).toBe(`bytes=${16 * MiB}-`);
});

it('28: a later call that is killed is made again from where the first one stopped', async () => {
  const parts = () => workflow.s3.journal.filter(({ operation }) => operation === 'UploadPart').length;
  const before = parts();
  const meanwhile = async () => {
    await expect.poll(parts, { interval: 5 }).toBeGreaterThan(before + 2);
    await workflow.functionOf('SaveReport').kill();
  };
  const faults = [STALLS, `storage nth=2 stall_after=${15 * MiB}`];
  const outcome = await runExport(workflow, { faults, meanwhile });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(await openUploads(workflow)).toBe(0);
});

it('18: a file that cannot be gone on with is refused, and says why', async () => {
  const outcome = await runExport(workflow, { faults: [STALLS, 'storage etag=weak times=always'] });
  expectFailed(outcome, 'DownloadRefused');
  expect(outcome.failure.happened).toContain('no strong ETag');
  expect(await openUploads(workflow)).toBe(0);
});

it('28: a window that fails in the middle of a copy gives up its upload', async () => {
  const outcome = await runExport(workflow, { faults: [STALLS, 'report nth=3 status=403'] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.s3.map(({ operation }) => operation)).toContain('AbortMultipartUpload');
  expect(await openUploads(workflow)).toBe(0);
});
