import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { onTestFinished, vi } from 'vitest';
import { OUTPUTS_FILE } from '../../../infra/cli/deployment.ts';
import { OUTPUTS } from '../../../infra/config/config.ts';
import { CREDENTIALS, startS3 } from '../../../infra/local/s3/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { STATE_MACHINE, startFake } from './step-functions.ts';

/** An execution in the fake Step Functions. Its windows are executions too. */
export interface FakeExecution {
  readonly name: string;
  status: 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'ABORTED' | 'TIMED_OUT';
  /** Minutes after 2026-11-21T06:00:00Z. */
  readonly begun: number;
  readonly ended?: number;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: string;
  readonly cause?: string;
  readonly history?: readonly object[];
  /** Present if its windows have begun. */
  readonly windows?: readonly FakeExecution[];
}

const START = Date.UTC(2026, 10, 21, 6);

/** Fewer than the tests have, so that they read several pages. */
const PAGE = 2;

/** Epoch seconds, as in an answer of AWS. @param minutes after 2026-11-21T06:00:00Z */
export function at(minutes: number): number {
  return START / 1_000 + minutes * 60;
}

/** A state's two events in AWS's history. */
export function visit(type: string, name: string, from: number, to: number, output?: unknown): object[] {
  return [
    { type: `${type}StateEntered`, timestamp: at(from), stateEnteredEventDetails: { name } },
    {
      type: `${type}StateExited`,
      timestamp: at(to),
      stateExitedEventDetails: { name, ...(output !== undefined && { output: JSON.stringify(output) }) },
    },
  ];
}

/** A Step Functions with these executions, newest first. @param denied an operation that is not allowed */
export async function startExecutions(executions: readonly FakeExecution[], denied = '') {
  const arnOf = (name: string) => `${STATE_MACHINE.replace('stateMachine', 'execution')}:${name}`;
  const windowsOf = (arn: string) => executions.find(({ name }) => arn === arnOf(name))?.windows;
  const all = executions.flatMap((execution) => [execution, ...(execution.windows ?? [])]);
  const isWindow = (execution: FakeExecution) => !executions.includes(execution);
  const find = (arn: string) => all.find(({ name }) => arn === arnOf(name));
  const item = (execution: FakeExecution) => {
    const { name, status, begun, ended } = execution;
    return {
      executionArn: arnOf(name),
      name,
      status,
      stateMachineArn: STATE_MACHINE,
      startDate: at(begun),
      ...(ended !== undefined && { stopDate: at(ended) }),
    };
  };
  const stop = (execution: FakeExecution) => {
    execution.status = 'ABORTED';
    return { stopDate: at(99) };
  };
  const page = <T>(items: readonly T[], field: string, token: string | undefined, size = PAGE) => {
    const from = Number(token ?? 0);
    const more = from + size < items.length ? { nextToken: String(from + size) } : {};
    return { [field]: items.slice(from, from + size), ...more };
  };
  const called = await startFake(denied, {
    ListExecutions: ({ mapRunArn, statusFilter, nextToken }) => {
      const listed = mapRunArn === undefined ? executions : (windowsOf(mapRunArn) ?? []);
      const filtered = listed.filter(({ status }) => (statusFilter ?? status) === status);
      return page(filtered.map(item), 'executions', nextToken);
    },
    DescribeExecution: ({ executionArn = '' }) => {
      const execution = find(executionArn);
      if (!execution) return undefined;
      const { input, output, error, cause } = execution;
      return {
        ...item(execution),
        input: JSON.stringify(input),
        ...(output !== undefined && { output: JSON.stringify(output) }),
        ...(error !== undefined && { error }),
        ...(cause !== undefined && { cause }),
        ...(isWindow(execution) && { mapRunArn: 'map' }),
      };
    },
    // The fake's Map Run has the ARN of its execution.
    ListMapRuns: ({ executionArn = '' }) => ({
      mapRuns: windowsOf(executionArn) ? [{ executionArn, mapRunArn: executionArn, startDate: at(0) }] : [],
    }),
    GetExecutionHistory: ({ executionArn = '', nextToken }) =>
      page(find(executionArn)?.history ?? [], 'events', nextToken, 3),
    StopExecution: ({ executionArn = '' }) => {
      const execution = find(executionArn);
      return execution && stop(execution);
    },
  });
  return { called };
}

const BUCKET = { Bucket: 'exports', ExpectedBucketOwner: '123456789012' };

/**
 * A deployed bucket with these objects, and a folder with the outputs of its stack.
 *
 * @returns the folder, to run commands in
 */
export async function startBucket(
  objects: Readonly<Record<string, unknown>>,
  folder = temporaryDirectory(),
): Promise<string> {
  const server = await startS3({
    directory: temporaryDirectory(),
    buckets: [BUCKET.Bucket],
    account: BUCKET.ExpectedBucketOwner,
    requireOwner: true,
  });
  vi.stubEnv('AWS_ENDPOINT_URL_S3', server.endpoint);
  vi.stubEnv('AWS_ACCESS_KEY_ID', CREDENTIALS.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', CREDENTIALS.secretAccessKey);
  onTestFinished(() => server.close());
  const client = new S3Client({ ...server, region: 'eu-west-1', credentials: CREDENTIALS });
  for (const [Key, content] of Object.entries(objects))
    await client.send(new PutObjectCommand({ ...BUCKET, Key, Body: JSON.stringify(content) }));
  const outputs = { [OUTPUTS.stateMachine]: STATE_MACHINE, [OUTPUTS.bucket]: BUCKET.Bucket };
  await mkdir(join(folder, 'cdk.out'), { recursive: true });
  await writeFile(join(folder, OUTPUTS_FILE), JSON.stringify({ 'ad-report-export': outputs }));
  return folder;
}

const REQUEST = {
  name: 'daily-campaigns',
  account: 'acme',
  start_date: '2026-10-01',
  end_date: '2026-12-01',
  advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
  metrics: ['spend'],
};
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
  history: [
    ...visit('Task', 'PlanExport', 0, 1, { windows: WINDOWS }),
    ...visit('Choice', 'IsAnyMissing', 1, 1),
    { type: 'MapStateEntered', timestamp: at(0), stateEnteredEventDetails: { name: 'ExportWindows' } },
  ],
  windows: [
    {
      name: 'window-1',
      status: 'SUCCEEDED',
      begun: 1,
      ended: 12,
      input: { window: WINDOWS[0] },
      output: {
        ...{
          outcome: 'delivered',
          window: WINDOWS[0],
          key: 'k/report.json',
          manifest_key: 'k/_manifest.json',
        },
        bytes: 1_234,
        rows: 45,
      },
      history: [
        ...visit('Task', 'CreateReport', 1, 2),
        ...visit('Wait', 'WaitForReport', 2, 4),
        ...visit('Wait', 'WaitForReport', 5, 8),
        { type: 'TaskStateEntered', timestamp: at(8), stateEnteredEventDetails: { name: 'SaveReport' } },
        { type: 'LambdaFunctionScheduled', timestamp: at(8) },
        {
          type: 'LambdaFunctionFailed',
          timestamp: at(9),
          lambdaFunctionFailedEventDetails: { error: 'CopyFailed', cause: '{}' },
        },
        { type: 'LambdaFunctionScheduled', timestamp: at(10) },
        { type: 'TaskStateExited', timestamp: at(12), stateExitedEventDetails: { name: 'SaveReport' } },
      ],
    },
    {
      name: 'window-2',
      status: 'RUNNING',
      begun: 3,
      input: { window: WINDOWS[1] },
      history: [
        { type: 'WaitStateEntered', timestamp: at(4), stateEnteredEventDetails: { name: 'WaitForReport' } },
      ],
    },
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
