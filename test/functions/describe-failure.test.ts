import {
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
} from '@aws-sdk/client-s3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeFailure as describeWith, handler } from '../../functions/describe-failure.ts';
import {
  AccessRefused,
  ExportIncomplete,
  errors,
  RequestRefused,
  ServiceUnavailable,
} from '../../functions/workflow/errors.ts';
import { MAX_REQUEST_BYTES } from '../../functions/workflow/request/request.ts';
import type { FailedWindow } from '../../functions/workflow/states.ts';
import { ACCOUNT } from '../../infra/local/s3/server.ts';
import { caughtFrom, openBucket } from '../support/failures.ts';
import { asLambda, awsEnvironment, SETTINGS } from '../support/lambda.ts';
import { BUCKET, openS3 } from '../support/s3.ts';
import { windowOf } from '../support/steps.ts';

function describeFailure(state: Parameters<typeof describeWith>[0]) {
  return describeWith(state, openBucket().dependencies);
}

const refused = new RequestRefused('The platform answered 422: metrics: unknown.', {
  request_id: 'req_1',
  status: 422,
  faults: ['metrics: unknown'],
});
const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);

describe('DescribeFailure', () => {
  it('28: gives up the upload of a file that was not copied to its end', async () => {
    const { dependencies, abandoned } = openBucket();
    const file = { etag: '"one"', content_type: 'application/json' };
    const copying = { report_id: 'r1', upload_id: 'u1', file, calls: 1, position: { part: 2, at: 8 } };
    await describeWith({ ...window, copying, caught: caughtFrom(refused) }, dependencies);
    await describeWith({ ...window, caught: caughtFrom(refused) }, dependencies);
    expect(abandoned).toEqual([[expect.stringMatching(/^exports\/.*report\.json$/), 'u1']]);
  });

  it('leaves the whole card where the objects would have been, and gives on what the export’s state has room for', async () => {
    const { dependencies, written } = openBucket();
    const happened = 'It was refused. '.repeat(300);
    const caught = caughtFrom(new RequestRefused(happened, { request_id: 'req_1' }));
    const { failure } = (await describeWith({ ...window, caught }, dependencies)) as FailedWindow;
    expect(failure.happened).toBe(`${happened.slice(0, 1199)}…`);
    const key = 'exports/account=acme/export=daily/start_date=2026-11-01/end_date=2026-11-02/_failure.json';
    expect([...written]).toEqual([[key, { ...failure, happened }]]);
  });

  it('31: is described all the same where its card cannot be written', async () => {
    const { dependencies, lines, abandoned } = openBucket();
    const putJson = () => Promise.reject(new TypeError('quotes a secret'));
    const state = { ...window, caught: caughtFrom(refused) };
    const described = await describeWith(state, { ...dependencies, store: { putJson } });
    expect(described).toMatchObject({ outcome: 'failed', failure: { error: 'RequestRefused' } });
    expect([lines.length, JSON.stringify(lines).includes('secret'), abandoned]).toEqual([1, false, []]);
  });

  it.each([
    ['what may pass', new ServiceUnavailable('SlowDown'), 2],
    ['what stays as it is', new AccessRefused('AccessDenied'), 1],
  ])('31: tries a card once more after %s, and no more', async (_, error, tries) => {
    const { dependencies, lines } = openBucket();
    let tried = 0;
    const putJson = () => {
      tried += 1;
      return Promise.reject(error);
    };
    await describeWith({ ...window, caught: caughtFrom(refused) }, { ...dependencies, store: { putJson } });
    expect([tried, lines.length]).toEqual([tries, 1]);
  });

  it('31: leaves a card that S3 takes at the second try, and says nothing of the first', async () => {
    const { dependencies, lines, written } = openBucket();
    const faults = [new ServiceUnavailable('SlowDown')];
    const putJson = async (key: string, card: unknown) => {
      const fault = faults.shift();
      if (fault) throw fault;
      written.set(key, card);
    };
    await describeWith({ ...window, caught: caughtFrom(refused) }, { ...dependencies, store: { putJson } });
    expect([written.size, lines]).toEqual([1, []]);
  });

  it('makes a card of a window: what happened, to which ids, what to do', async () => {
    const reports = [
      { id: 'r1', created_at: '2026-11-21T06:00:00.000Z', useless_answers: 0, given_up: false },
    ];
    expect(await describeFailure({ ...window, reports, caught: caughtFrom(refused) })).toEqual({
      outcome: 'failed',
      window: window.window,
      failure: {
        version: '1',
        error: 'RequestRefused',
        happened: 'The platform answered 422: metrics: unknown.',
        todo: 'Correct what the platform names, then run the export again.',
        runbook: 'infra/RUNBOOK.md#requestrefused',
        execution: 'test-execution',
        account: 'acme',
        export: 'daily',
        window: window.window,
        report_ids: ['r1'],
        request_ids: ['req_1'],
        faults: ['metrics: unknown'],
        timeline: [
          { outcome: 'RequestRefused', from: '2026-11-21T06:00:00Z', to: '2026-11-21T06:00:00Z', times: 1 },
        ],
      },
    });
  });

  it.each([
    [
      'plain text, as Step Functions writes it',
      { Error: 'States.Timeout', Cause: 'The task timed out.' },
      'The task timed out.',
    ],
    ['nothing', { Error: 'Lambda.Unknown' }, 'Nothing more is known.'],
    ['JSON that is no error of Lambda’s', { Error: 'X', Cause: '{"a":1}' }, '{"a":1}'],
  ])('understands a Cause that is %s', async (_, caught, happened) => {
    const result = (await describeFailure({ ...window, caught })) as FailedWindow;
    expect(result.failure).toMatchObject({ error: caught.Error, happened });
    expect(result.failure.todo).toContain('history');
  });

  it('has an error that fits into the Error of an execution', async () => {
    const caught = { Error: 'x'.repeat(1000), Cause: 'y' };
    const { failure } = await describeFailure({ execution: 'e', request: {}, caught });
    expect(failure.error).toHaveLength(256);
  });

  it('gives an export in which all windows failed alike the name of that error', async () => {
    const failed = (await describeFailure({ ...window, caught: caughtFrom(refused) })) as FailedWindow;
    const result = await describeFailure({
      execution: 'e',
      request: window.request,
      windows: [failed.window, { start_date: '2026-11-02', end_date: '2026-11-03' }],
      results: [failed, { ...failed, window: { start_date: '2026-11-02', end_date: '2026-11-03' } }],
      caught: { Error: 'ExportIncomplete', Cause: 'x' },
    });
    expect(result.failure).toMatchObject({
      error: 'RequestRefused',
      windows_failed: 2,
      windows_delivered: 0,
      account: 'acme',
    });
  });

  it.each([
    ['nothing', [], 'States.TaskFailed', /ended without a result.*Map Run of ExportWindows/],
    ['what is no result', [null, 7], 'States.TaskFailed', /ended without a result/],
    ['an error', [{ Error: 'States.Runtime', Cause: 'No such path.' }], 'States.Runtime', /^No such path\.$/],
  ])('makes a card of a window of whose execution is left %s', async (_, results, error, happened) => {
    const { dependencies, written } = openBucket();
    const windows = [window.window, { start_date: '2026-11-02', end_date: '2026-11-03' }];
    const delivered = {
      ...{ outcome: 'delivered', window: windows[1], key: 'k', manifest_key: 'm', bytes: 1 },
    };
    const { request } = window;
    const caught = caughtFrom(new ExportIncomplete('1 of 2 windows were not delivered.'));
    const state = { execution: 'e', request, windows, results: [...results, delivered], caught };
    const { failure } = await describeWith(state, dependencies);
    const card = { error, happened: expect.stringMatching(happened), window: windows[0], account: 'acme' };
    expect(failure).toMatchObject({ windows_failed: 1, windows_delivered: 1, failed_windows: [card] });
    expect(failure.runbook).toBe(`infra/RUNBOOK.md#${error.toLowerCase().replace('.', '')}`);
    const prefix = 'exports/account=acme/export=daily/start_date=2026-11-01/end_date=2026-11-02';
    expect(written.get(`${prefix}/_failure.json`)).toMatchObject({ error });
  });

  it('reads what it can of an input that was refused', async () => {
    const caught = caughtFrom(
      new errors.InvalidInput('The request has a fault.', { faults: ['name: is missing'] }),
    );
    const result = await describeFailure({ execution: 'e', request: 'acme', caught });
    expect(result).toMatchObject({
      failure: { error: 'InvalidInput', faults: ['name: is missing'], execution: 'e' },
    });
  });

  it.each([
    ['words', 'x'],
    ['quotes and backslashes', '\\"'],
    ['characters of several bytes', '✓'],
  ])('fits into a Cause and into the state, however much went wrong in %s', async (_, text) => {
    const noisy = new RequestRefused(text.repeat(50_000), {
      request_id: 'req_1',
      faults: Array.from({ length: 900 }, () => text.repeat(900)),
    });
    const caught = caughtFrom(noisy);
    expect(caught.Cause.length).toBeLessThan(32_768);
    const reports = Array.from({ length: 3 }, (_, at) => ({
      id: `${at}`.repeat(256),
      created_at: '2026-11-21T06:00:00.000Z',
      useless_answers: 0,
      given_up: false,
    }));
    const timeline = Array.from({ length: 20 }, (_, at) => ({
      step: 'x'.repeat(20),
      outcome: `${at}`.repeat(100),
      from: '2026-11-21T06:00:00Z',
      to: '2026-11-21T06:00:00Z',
      times: 1,
      request_id: `${at}`.repeat(100),
    }));
    const failed = (await describeFailure({ ...window, reports, timeline, caught })) as FailedWindow;
    expect(Buffer.byteLength(JSON.stringify(failed.failure))).toBeLessThanOrEqual(2_000);
    expect(failed.failure.request_ids).toEqual(['req_1']);
    const results = Array.from({ length: 100 }, () => failed);
    const request = { ...window.request, options: { filter: 'x'.repeat(MAX_REQUEST_BYTES) } };
    const windows = Array.from({ length: 100 }, () => window.window);
    const incomplete = caughtFrom(new ExportIncomplete('100 of 100 windows were not delivered.'));
    const state = { execution: 'e', request, warnings: [], windows, results, caught: incomplete };
    expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(256 * 1024);
    const result = await describeFailure(state);
    expect(JSON.stringify(result.failure).length).toBeLessThanOrEqual(32_768);
    expect(result.failure).toMatchObject({ error: 'RequestRefused', windows_failed: 100 });
  });
});

describe('DescribeFailure as a function', () => {
  it('28: leaves the card in the bucket, and no part of an upload, with a link into the runbook', async () => {
    const s3 = await openS3({ requireOwner: true });
    onTestFinished(() => s3.close());
    const RUNBOOK_URL = 'https://wiki.example/runbook';
    const environment = { ...SETTINGS, ...awsEnvironment({ S3: s3.endpoint }), RUNBOOK_URL };
    const lambda = asLambda({ ...environment, STEP: 'DescribeFailure' });
    const owned = { Bucket: BUCKET, ExpectedBucketOwner: ACCOUNT };
    const prefix = 'exports/account=acme/export=daily/start_date=2026-11-01/end_date=2026-11-02/';
    const key = { ...owned, Key: `${prefix}report.json` };
    const { UploadId: upload_id = '' } = await s3.client.send(new CreateMultipartUploadCommand(key));
    const file = { etag: '"one"', content_type: 'application/json' };
    const copying = { report_id: 'r1', upload_id, file, calls: 1, position: { part: 2, at: 8 } };
    const described = await lambda.call(handler, { ...window, copying, caught: caughtFrom(refused) });
    expect((await s3.client.send(new ListMultipartUploadsCommand(owned))).Uploads ?? []).toEqual([]);
    const card = { ...owned, Key: `${prefix}_failure.json` };
    const { Body } = await s3.client.send(new GetObjectCommand(card));
    const { failure } = described as FailedWindow;
    expect(JSON.parse((await Body?.transformToString()) ?? '')).toEqual(failure);
    expect(failure.runbook).toBe('https://wiki.example/runbook#requestrefused');
    expect(lambda.lines()).toMatchObject([{ message: 'done', step: 'DescribeFailure', status: 'failed' }]);
    expect(lambda.metrics()).toMatchObject([
      { name: 'Failures', value: 1, dimensions: { error: 'RequestRefused' } },
    ]);
  });
});
