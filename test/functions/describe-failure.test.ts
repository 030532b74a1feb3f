import {
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
} from '@aws-sdk/client-s3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeFailure, handler } from '../../functions/describe-failure.ts';
import {
  AccessRefused,
  DownloadRefused,
  ExportIncomplete,
  RequestRefused,
  ServiceUnavailable,
} from '../../functions/workflow/errors.ts';
import { MAX_REQUEST_BYTES } from '../../functions/workflow/request/request.ts';
import type { FailedWindow, WindowFailure } from '../../functions/workflow/states.ts';
import { ACCOUNT } from '../../infra/local/s3/server.ts';
import { caughtFrom, createFailureDependencies } from '../support/failures.ts';
import { asLambda, awsEnvironment, SETTINGS } from '../support/lambda.ts';
import { BUCKET, startTestS3 } from '../support/s3.ts';
import { windowOf } from '../support/steps.ts';

const AT = '2026-11-21T06:00:00Z';
const PREFIX = 'exports/account=acme/export=daily/start_date=2026-11-01/end_date=2026-11-02/';
const refused = new RequestRefused('The platform answered 422: metrics: unknown.', {
  request_id: 'req_1',
  status: 422,
  faults: ['metrics: unknown'],
});
const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const state: WindowFailure = { ...window, caught: caughtFrom(refused) };

function checkpointWith(upload_id: string) {
  const file = { etag: '"one"', content_type: 'application/json', stored_bytes: 8 };
  return { report_id: 'r1', upload_id, ...file, calls: 1 };
}

/** Describes the failure of a window. Writing its report fails with these errors first. */
async function describeWindow(input: WindowFailure = state, errors: Error[] = []) {
  const { dependencies, ...seen } = createFailureDependencies();
  let tries = 0;
  const putJson = async (key: string, report: unknown) => {
    tries += 1;
    const error = errors.shift();
    if (error) throw error;
    await dependencies.store.putJson(key, report);
  };
  const failed = await describeFailure(input, {
    ...dependencies,
    store: { putJson, bucket: dependencies.store.bucket },
  });
  return { ...seen, tries, failed: failed as FailedWindow };
}

function reportRef(id: string) {
  return { id, created_at: '2026-11-21T06:00:00.000Z', useless_answers: 0, given_up: false };
}

describe('DescribeFailure of a window', () => {
  it('says what happened, to which ids, and what to do', async () => {
    const { failed } = await describeWindow({ ...state, reports: [reportRef('r1')] });
    expect(failed).toEqual({
      outcome: 'failed',
      window: window.window,
      failure: {
        ...{ version: '1', error: 'RequestRefused', execution: 'test-execution' },
        happened: 'The platform answered 422: metrics: unknown.',
        todo: 'Correct what the message names, then run the export again.',
        runbook: 'infra/RUNBOOK.md#requestrefused',
        ...{ account: 'acme', export: 'daily', window: window.window },
        ...{ report_ids: ['r1'], request_ids: ['req_1'], faults: ['metrics: unknown'] },
        timeline: [{ outcome: 'RequestRefused', from: AT, to: AT, times: 1 }],
      },
    });
  });

  it.each([
    ['a permission is missing', new AccessRefused('x'), {}, true],
    ['the platform refuses it', refused, {}, false],
    ['it was given up', new AccessRefused('x'), { given_up: true }, false],
    ['an answer about it was useless', new AccessRefused('x'), { useless_answers: 1 }, false],
    ['the window had adopted it', new AccessRefused('x'), { created_at: '2026-11-21T05:59:59.999Z' }, false],
    ['its id is too long for the state', new AccessRefused('x'), { id: 'r'.repeat(65) }, false],
  ])('30: says whether the newest report may be adopted if %s', async (_, error, changes, isAdoptable) => {
    const reports = [reportRef('r1'), { ...reportRef('r2'), ...changes }];
    const { failed, written } = await describeWindow({ ...window, caught: caughtFrom(error), reports });
    const { created_at } = reportRef('r2');
    const expected = isAdoptable ? { id: 'r2', created_at } : undefined;
    expect(failed.failure.adoptable_report).toEqual(expected);
    expect([...written.values()]).toEqual([failed.failure]);
  });

  it('30: keeps a report that the window was to adopt, if it fails before', async () => {
    const adoptable_report = { id: 'r0', created_at: AT };
    const caught = caughtFrom(new ServiceUnavailable('x'));
    const planned = { ...window, window: { ...window.window, adoptable_report }, caught };
    const { failed } = await describeWindow(planned);
    expect([failed.failure.adoptable_report, failed.failure.window]).toEqual([
      adoptable_report,
      window.window,
    ]);
  });

  const table = {
    ...{ name: 'daily', days: 7, kept: 0, restated: 2 },
    ...{ first_restated: '2026-11-01', last_restated: '2026-11-03' },
  };

  it.each([
    ['what the table shows already', { table }, { restated: 2, first_restated: '2026-11-01' }],
    ['that no day is restated', { table: { name: 'daily', days: 7, kept: 0, restated: 0 } }, { restated: 0 }],
    ['nothing about a table that was not written', {}, { restated: undefined }],
  ])('27: of a window whose manifest could not be written says %s', async (_, curated, expected) => {
    const caught = caughtFrom(new AccessRefused('x'));
    const { failed, written } = await describeWindow({ ...window, caught, curated });
    const { restated, first_restated, last_restated } = failed.failure;
    const { restated: days, first_restated: first } = { first_restated: undefined, ...expected };
    expect([restated, first_restated, last_restated]).toEqual([days, first, first && '2026-11-03']);
    expect([...written.values()]).toEqual([failed.failure]);
  });

  it('23: names the file that is not a report', async () => {
    const caught = caughtFrom(new DownloadRefused('The file ends too early. It is not a report.'));
    const object = { key: `${PREFIX}report.json`, bytes: 7, crc32: 'y/Q5Jg==', content_type: 'text/plain' };
    const saved = { ...window, caught, object: { ...object, copied_at: AT } };
    const { todo } = (await describeWindow(saved)).failed.failure;
    expect(todo).toContain(`Look at the file at ${PREFIX}report.json`);
    expect((await describeWindow({ ...window, caught })).failed.failure.todo).toMatch(/^Correct the setting/);
  });

  it('writes the whole failure report, and returns one that fits into the state', async () => {
    const happened = 'It was refused. '.repeat(300);
    const caught = caughtFrom(new RequestRefused(happened, { request_id: 'req_1' }));
    const { failed, written } = await describeWindow({ ...window, caught });
    expect(failed.failure.happened).toBe(`${happened.slice(0, 1199)}…`);
    expect([...written]).toEqual([[`${PREFIX}_failure.json`, { ...failed.failure, happened }]]);
  });

  it('28: aborts the upload of a file that was not completely copied', async () => {
    const { abandoned } = await describeWindow({ ...state, checkpoint: checkpointWith('u1') });
    expect(abandoned).toEqual([[`${PREFIX}report.json`, 'u1']]);
    expect((await describeWindow()).abandoned).toEqual([]);
  });

  it.each([
    ['writes the report at the second try if S3 was unavailable', [new ServiceUnavailable('SlowDown')], 2, 0],
    ['tries no third time', [new ServiceUnavailable('a'), new ServiceUnavailable('b')], 2, 1],
    ['does not try again if S3 refused', [new AccessRefused('AccessDenied')], 1, 1],
    ['does not log the message of an unexpected error', [new TypeError('quotes a secret')], 1, 1],
  ])('31: %s', async (_, errors, expectedTries, warnings) => {
    const { failed, tries, lines, written } = await describeWindow(state, errors);
    expect([tries, lines.length, written.size]).toEqual([expectedTries, warnings, 1 - warnings]);
    expect(failed).toMatchObject({ outcome: 'failed', failure: { error: 'RequestRefused' } });
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it.each([
    ['letters', 'x'],
    ['quotes and backslashes', '\\"'],
    ['characters of several bytes', '✓'],
  ])('100 of them fit into the state and a Cause, even if all is long: %s', async (_, text) => {
    const faults = Array.from({ length: 900 }, () => text.repeat(900));
    const caught = caughtFrom(new RequestRefused(text.repeat(50_000), { request_id: 'req_1', faults }));
    expect(caught.Cause.length).toBeLessThan(32_768);
    const reports = ['0', '1', '2'].map((id) => reportRef(id.repeat(256)));
    const timeline = Array.from({ length: 20 }, (_, at) => ({
      ...{ step: 'x'.repeat(20), from: AT, to: AT, times: 1 },
      ...{ outcome: `${at}`.repeat(100), request_id: `${at}`.repeat(100) },
    }));
    const file = { key: 'k'.repeat(230), bytes: 7, crc32: 'y/Q5Jg==', content_type: 'application/json' };
    const full = { curated: { table }, object: { ...file, copied_at: AT }, reports, timeline };
    const refusal = { Error: 'DownloadRefused', Cause: caught.Cause };
    const { failed: refused } = await describeWindow({ ...window, ...full, caught: refusal });
    expect(Buffer.byteLength(JSON.stringify(refused.failure))).toBeLessThanOrEqual(2_000);
    expect(refused.failure).toMatchObject({ todo: expect.stringContaining(file.key), restated: 2 });
    const { failed } = await describeWindow({ ...window, ...full, caught });
    expect(Buffer.byteLength(JSON.stringify(failed.failure))).toBeLessThanOrEqual(2_000);
    expect(failed.failure.request_ids).toEqual(['req_1']);
    const exportState = {
      request: { ...window.request, options: { filter: 'x'.repeat(MAX_REQUEST_BYTES) } },
      windows: Array.from({ length: 100 }, () => ({
        ...window.window,
        adoptable_report: { id: 'r'.repeat(64), created_at: '2026-11-21T06:00:00.000Z' },
      })),
      results: Array.from({ length: 100 }, () => failed),
      ...{ execution: 'e', warnings: [], caught: caughtFrom(new ExportIncomplete('100 of 100 failed.')) },
    };
    expect(Buffer.byteLength(JSON.stringify(exportState))).toBeLessThan(256 * 1024);
    const { failure } = await describeFailure(exportState, createFailureDependencies().dependencies);
    expect(JSON.stringify(failure).length).toBeLessThanOrEqual(32_768);
    expect(failure).toMatchObject({ error: 'RequestRefused', windows_failed: 100 });
  });
});

it('28: the handler of DescribeFailure writes the report to the bucket and aborts the upload', async () => {
  const s3 = await startTestS3({ requireOwner: true });
  onTestFinished(() => s3.close());
  const RUNBOOK_URL = 'https://wiki.example/runbook';
  const environment = { ...SETTINGS, ...awsEnvironment({ S3: s3.endpoint }), RUNBOOK_URL };
  const lambda = asLambda({ ...environment, STEP: 'DescribeFailure' });
  const bucket = { Bucket: BUCKET, ExpectedBucketOwner: ACCOUNT };
  const upload = new CreateMultipartUploadCommand({ ...bucket, Key: `${PREFIX}report.json` });
  const { UploadId = '' } = await s3.client.send(upload);
  const failed = await lambda.call(handler, { ...state, checkpoint: checkpointWith(UploadId) });
  expect((await s3.client.send(new ListMultipartUploadsCommand(bucket))).Uploads ?? []).toEqual([]);
  const written = new GetObjectCommand({ ...bucket, Key: `${PREFIX}_failure.json` });
  const { Body } = await s3.client.send(written);
  const { failure } = failed as FailedWindow;
  expect(JSON.parse((await Body?.transformToString()) ?? '')).toEqual(failure);
  expect(failure.runbook).toBe('https://wiki.example/runbook#requestrefused');
  expect(lambda.lines()).toMatchObject([{ message: 'done', step: 'DescribeFailure', status: 'failed' }]);
  expect(lambda.metrics()).toMatchObject([
    { name: 'Failures', value: 1, dimensions: { error: 'RequestRefused' } },
  ]);
});
