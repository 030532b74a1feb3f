import { expect, it } from 'vitest';
import { createReport } from '../../../functions/create-report.ts';
import { listenTcp } from '../../support/listen.ts';
import { connecting } from '../../support/platform.ts';
import { expectFailed, runExport, shareWorkflow } from '../../support/run-export.ts';
import { startStep } from '../../support/steps.ts';
import { startWorkflow } from '../../support/workflow.ts';
import { openUploads } from '../../support/workflow-objects.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

// The functions' own time-outs and pauses are real time. Here they are 20 times shorter: 1.5 s to the headers, 0.75 s
// between two pieces of an answer (1.5 s of a file), 3 s in all. Nothing depends on the rows of the files of two parts.
const workflow = await shareWorkflow({ shortTimeouts: true, settings: { MAX_CURATE_BYTES: '5000000' } });
const SMALL = { sandbox: { report: { bytes: 200_000 } } };
const LARGE = { sandbox: { report: { bytes: 9_000_000 } } };

const HEADERS = 'UND_ERR_HEADERS_TIMEOUT';
const IDLE = 'UND_ERR_BODY_TIMEOUT';
const TOTAL = 'TOTAL_TIMEOUT';

it.each([
  ['a token endpoint', 'never answers', 'token hang', 1, HEADERS],
  ['a token endpoint', 'sends a byte at a time', 'token trickle=100', 1, TOTAL],
  ['POST /reports', 'never answers', 'create hang', 1, HEADERS],
  ['POST /reports', 'creates a report and never answers', 'create hang processed', 2, HEADERS],
  ['POST /reports', 'sends a byte at a time', 'create trickle=100', 2, TOTAL],
  ['a GET of CheckReport', 'never answers', 'report hang', 1, HEADERS],
  ['a GET of CheckReport', 'sends a byte a second', 'report trickle=1000', 1, IDLE],
  ['a GET of SaveReport', 'sends a byte at a time', 'report nth=2 trickle=100', 1, TOTAL],
  ['a storage host', 'never answers', 'storage hang', 1, HEADERS],
] as const)('9: %s that %s is given up and retried', async (_, __, fault, reports, code) => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { ...SMALL, faults: [fault] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(reports);
  expect(outcome.logged.join()).toContain(code);
});

it.each([
  ['stops', 'stall_after=100000'],
  ['goes on a byte at a time', 'trickle=20'],
])('9: a storage host whose body %s is asked for the rest', async (_, fault) => {
  const outcome = await runExport(workflow, { ...SMALL, faults: [`storage ${fault}`] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('report')).toHaveLength(2);
  expect(outcome.callsTo('storage')).toHaveLength(2);
});

it('9: a POST whose handshake never ends has created no report', async () => {
  await using silent = await listenTcp(() => {});
  const { window, access } = await startStep();
  const platform = {
    ...access.platform(undefined),
    ...{ baseUrl: `https://127.0.0.1:${silent.port}`, dispatcher: connecting(150) },
  };
  const creating = createReport(window, { ...access, platform: () => platform });
  await expect(creating).rejects.toMatchObject({ name: 'PlatformUnavailable' });
});

it('9: an export gives up after some tries if the platform’s handshake never ends', async () => {
  await using silent = await listenTcp(() => {});
  const baseUrl = `https://127.0.0.1:${silent.port}`;
  await using unreachable = await startWorkflow({ speed: 1000, shortTimeouts: true, baseUrl });
  const ended = await unreachable.run();
  expect(ended.error).toBe('PlatformUnavailable');
  expect(ended.cause).toContain('UND_ERR_CONNECT_TIMEOUT');
});

it.each([
  'length',
  'chunked',
  'close',
])('17: a body that is always cut short (framed by %s) is never visible', async (framing) => {
  const outcome = await runExport(workflow, {
    ...SMALL,
    faults: [`storage cut_after=150000 framing=${framing} etag=none times=always`],
  });
  expectFailed(outcome, 'CopyFailed');
  expect(outcome.reports).toHaveLength(1);
});

it('25: an S3 that always answers 503 fails the export with nothing visible', async () => {
  const outcome = await runExport(workflow, {
    ...SMALL,
    s3: [{ operation: 'PutObject', key: 'report.json', answer: 'SlowDown', times: 999 }],
  });
  expectFailed(outcome, 'ServiceUnavailable');
  expect(await openUploads(workflow)).toBe(0);
});

it.each([
  ['PutObject', SMALL],
  ['CreateMultipartUpload', LARGE],
  ['UploadPart', LARGE],
  ['CompleteMultipartUpload', LARGE],
] as const)('9: an S3 that never answers %s is asked again', async (operation, file) => {
  const outcome = await runExport(workflow, {
    ...file,
    s3: [{ operation, key: 'report.json', answer: 'stall' }],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.s3.filter((call) => call.operation === operation).length).toBeGreaterThan(1);
});
