import { expect, it } from 'vitest';
import { loadAssembly, prepareAssembly } from '../../../infra/local/assembly/assembly.ts';
import type { FunctionSpec } from '../../../infra/local/lambda/lambda-instance.ts';
import { runExport, shareWorkflow } from '../../support/run-export.ts';

const MiB = 1024 * 1024;

// SaveReport stops a minute before its time-out: here after 3 s of real time.
const assembly = loadAssembly(prepareAssembly());
const isCopying = ({ environment }: FunctionSpec) => environment.STEP === 'SaveReport';
const workflow = await shareWorkflow({
  speed: 100,
  sandbox: {
    tokenSeconds: 86_400,
    // Of 39 bytes each: 23 MiB.
    report: { secondsToReady: 0, rows: 625_000 },
  },
  assembly: {
    ...assembly,
    functions: assembly.functions.map((each) => (isCopying(each) ? { ...each, timeoutSeconds: 63 } : each)),
  },
});

it('1, 7, 28: a file that takes several calls keeps its parts after a 401, a 503 and a kill', async () => {
  const parts = () => workflow.s3.journal.filter(({ operation }) => operation === 'UploadPart').length;
  const kill = async () => {
    // The first call stores one part, and the second call another one.
    await expect.poll(parts, { interval: 5 }).toBeGreaterThan(1);
    expect(await workflow.functionOf('SaveReport').kill()).toBe(1);
  };
  const outcome = await runExport(workflow, {
    faults: [
      ...[`storage stall_after=${10 * MiB}`, 'report nth=3 revoke', 'report nth=4 status=503'],
      `storage nth=2 stall_after=${9 * MiB}`,
    ],
    meanwhile: kill,
  });
  expect(outcome.status).toBe('SUCCEEDED');
  // A slow machine needs a further call.
  const ranges = outcome.callsTo('storage').map(({ headers }) => headers.range);
  expect(ranges.slice(0, 3)).toEqual([undefined, `bytes=${8 * MiB}-`, `bytes=${8 * MiB}-`]);
  const uploads = ['CreateMultipartUpload', 'AbortMultipartUpload', 'CompleteMultipartUpload'];
  expect(outcome.s3.map(({ operation }) => operation).filter((name) => uploads.includes(name))).toEqual([
    'CreateMultipartUpload',
    'CompleteMultipartUpload',
  ]);
  expect(outcome.manifest?.rows).toBe(workflow.sandbox.expected(String(outcome.manifest?.report_id)).rows);
});
