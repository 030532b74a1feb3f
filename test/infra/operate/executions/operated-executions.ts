import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { onTestFinished, vi } from 'vitest';
import { CREDENTIALS, startS3 } from '../../../../infra/lab/local/s3/server.ts';
import { readConfig } from '../../../../infra/stack/config/read-config.ts';
import { REPORT } from '../../../support/requests.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { type FakeExecution, STATE_MACHINE, startCloudFormation } from './step-functions.ts';

const BUCKET = { Bucket: 'exports', ExpectedBucketOwner: '123456789012' };

/** A deployed bucket with these objects. @param name in the outputs of the stack */
export async function startBucket(objects: Readonly<Record<string, unknown>>, name = BUCKET.Bucket) {
  const server = await startS3({
    directory: temporaryDirectory(),
    buckets: [BUCKET.Bucket],
    account: BUCKET.ExpectedBucketOwner,
  });
  vi.stubEnv('AWS_ENDPOINT_URL_S3', server.endpoint);
  vi.stubEnv('AWS_ACCESS_KEY_ID', CREDENTIALS.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', CREDENTIALS.secretAccessKey);
  onTestFinished(server[Symbol.asyncDispose]);
  const client = new S3Client({ endpoint: server.endpoint, region: 'eu-west-1', credentials: CREDENTIALS });
  for (const [Key, content] of Object.entries(objects)) {
    const Body = Buffer.isBuffer(content) ? content : JSON.stringify(content);
    await client.send(new PutObjectCommand({ ...BUCKET, Key, Body }));
  }
  await startCloudFormation(readConfig().stack, { stateMachine: STATE_MACHINE, bucket: name });
}

const REQUEST = { ...REPORT, name: 'daily-campaigns', end_date: '2026-12-01' };
const WINDOWS = [
  { start_date: '2026-10-01', end_date: '2026-11-15' },
  { start_date: '2026-11-15', end_date: '2026-12-01' },
] as const;

export const NAME = 'daily-campaigns-20261001-20261101-20261121T041500123Z';

/** An execution of two windows that is still running: one is delivered, the other waits for its report. */
export const RUNNING: FakeExecution = {
  name: NAME,
  status: 'RUNNING',
  begun: 0,
  input: REQUEST,
  windows: [
    {
      name: 'window-1',
      status: 'SUCCEEDED',
      begun: 1,
      ended: 12,
      input: { window: WINDOWS[0] },
      output: {
        outcome: 'delivered',
        window: WINDOWS[0],
        key: 'k/report.json',
        manifest_key: 'k/_manifest.json',
        bytes: 1_234,
        rows: 45,
      },
    },
    { name: 'window-2', status: 'RUNNING', begun: 3, input: { window: WINDOWS[1] } },
  ],
};

/** The parts of a failed export that its failure report describes. */
export const FAILURE = {
  version: '1',
  error: 'ReportStuck',
  happened: 'No report became READY.',
  todo: 'Ask the platform.',
  runbook: 'infra/RUNBOOK.md#reportstuck',
  execution: 'daily-1',
  failed_at: '2026-11-20T07:00:00Z',
  report_ids: ['r-1', 'r-2'],
  request_ids: ['req-1'],
  windows_delivered: 1,
  windows_failed: 1,
};

export const FAILED: FakeExecution = {
  name: 'daily-1',
  status: 'FAILED',
  begun: -1_440,
  ended: -1_350,
  input: REQUEST,
  error: 'ReportStuck',
  cause: JSON.stringify(FAILURE),
};
