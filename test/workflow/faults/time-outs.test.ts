import { expect, it } from 'vitest';
import { runExport, shareWorkflow } from '../../support/run-export.ts';
import { forgetTokens } from '../../support/workflow-secrets.ts';

// The functions' own time-outs and pauses are real time. Here they are 20 times shorter: 1.5 s to the
// headers, 0.75 s between two pieces of an answer (1.5 s of a file), 3 s in all.
const workflow = await shareWorkflow({ shortTimeouts: true });

it('9: each call that is never answered, or a byte at a time, is given up and retried', async () => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, {
    sandbox: { report: { bytes: 200_000 } },
    faults: [
      ...['token hang', 'create hang processed', 'report hang', 'report nth=3 trickle=100', 'storage hang'],
    ],
    s3: [{ operation: 'PutObject', key: 'report.json', answer: 'stall' }],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.reports).toHaveLength(2);
  const calls = (['token', 'create', 'storage'] as const).map((name) => outcome.callsTo(name).length);
  expect(calls).toEqual([2, 2, 2]);
  expect(outcome.logged.join()).toContain('UND_ERR_HEADERS_TIMEOUT');
  expect(outcome.logged.join()).toContain('TOTAL_TIMEOUT');
  expect(outcome.s3.filter(({ operation }) => operation === 'PutObject').length).toBeGreaterThan(1);
});
