import { expect, it } from 'vitest';
import { listenTcp } from '../../support/listen.ts';
import { runExport, shareWorkflow } from '../../support/run-export.ts';
import { startWorkflow } from '../../support/workflow.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

// The functions' own time-outs and pauses are real time. Here they are 20 times shorter: 1.5 s to the headers, 0.75 s
// between two pieces of an answer (1.5 s of a file), 3 s in all.
const workflow = await shareWorkflow({ shortTimeouts: true });
const SMALL = { sandbox: { report: { bytes: 200_000 } } };

const HEADERS = 'UND_ERR_HEADERS_TIMEOUT';
const TOTAL = 'TOTAL_TIMEOUT';

it.each([
  ['a token endpoint', 'never answers', 'token hang', 1, HEADERS],
  ['POST /reports', 'never answers', 'create hang', 1, HEADERS],
  ['POST /reports', 'creates a report and never answers', 'create hang processed', 2, HEADERS],
  ['a GET of CheckReport', 'never answers', 'report hang', 1, HEADERS],
  ['a GET of SaveReport', 'sends a byte at a time', 'report nth=2 trickle=100', 1, TOTAL],
] as const)('9: %s that %s is given up and retried', async (_, __, fault, reports, code) => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { ...SMALL, faults: [fault] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(reports);
  expect(outcome.logged.join()).toContain(code);
});

it('9: an export gives up after some tries if the platform’s handshake never ends', async () => {
  await using silent = await listenTcp(() => {});
  const baseUrl = `https://127.0.0.1:${silent.port}`;
  await using unreachable = await startWorkflow({ speed: 1000, shortTimeouts: true, baseUrl });
  const ended = await unreachable.run();
  expect(ended.error).toBe('PlatformUnavailable');
  expect(ended.cause).toContain('UND_ERR_CONNECT_TIMEOUT');
});

it('9: an S3 that never answers is asked again', async () => {
  const outcome = await runExport(workflow, {
    ...SMALL,
    s3: [{ operation: 'PutObject', key: 'report.json', answer: 'stall' }],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.s3.filter(({ operation }) => operation === 'PutObject').length).toBeGreaterThan(1);
});
