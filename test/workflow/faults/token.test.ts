import { beforeEach, expect, it, vi } from 'vitest';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { commonWorkflow, expectFailed, runExport, startFastWorkflow } from '../../support/run-export.ts';
import { startWorkflow } from '../../support/workflow.ts';
import { forgetTokens, secretId } from '../../support/workflow-secrets.ts';

// Faults of the token endpoint (contract 4.1, 7.3). Each export needs a new token.
const workflow = await commonWorkflow();

beforeEach(() => forgetTokens(workflow));

it('2: a credential is read again before it is sent, and its refusal fails the export at once', async () => {
  const outcome = await runExport(workflow, {
    faults: ['token status=401 times=always'],
    request: { start_date: '2023-01-01', end_date: addDays('2023-01-01', 4500), max_parallel: 40 },
  });
  expectFailed(outcome, 'CredentialUnusable');
  expect(outcome.failure.happened).toContain('invalid_client');
  expect(outcome.calls).toHaveLength(1);
  const credential = secretId(workflow, 'credential');
  expect(outcome.secrets.filter(({ secret }) => secret === credential)).toHaveLength(2);
  expect(outcome.events.filter(({ state }) => state === 'ExportWindows')).toEqual([]);
});

it('7, 11, 33: GetToken is repeated after answers 503, an HTML page, and a Secrets Manager that fails', async () => {
  // The SDK gives up after five tries.
  const failing = { operation: 'GetSecretValue', secret: secretId(workflow, 'token') } as const;
  const outcome = await runExport(workflow, {
    faults: ['token status=503 times=2', 'token nth=3 body="<html>Bad gateway</html>"'],
    secrets: [{ ...failing, answer: 'InternalServiceError', times: 6 }],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('token').map(({ status }) => status)).toEqual([503, 503, 200, 200]);
  expect(outcome.secrets.filter(({ error }) => error !== undefined)).toHaveLength(6);
});

it('66, 67: a token endpoint that asks to wait is asked again then, and no credential is blamed', async () => {
  const outcome = await runExport(workflow, {
    faults: [
      'token status=503 retry_after=600',
      'token nth=2 status=403 body={"error":"rate_limit_exceeded"}',
    ],
  });
  expect(outcome.status).toBe('SUCCEEDED');
  const requests = outcome.callsTo('token');
  expect(requests.map(({ status }) => status)).toEqual([503, 403, 200]);
  const [first = 0, second = 0, third = 0] = requests.map(({ at }) => at / 1000);
  expect(second - first).toBeGreaterThanOrEqual(599);
  expect(third - second).toBeGreaterThanOrEqual(10);
});

it('35: a platform whose clock is ten minutes ahead of ours costs nothing', async () => {
  await using apart = await startFastWorkflow({ platformAhead: 600 });
  const outcome = await runExport(apart, { faults: ['create status=429 retry_after=date:120'] });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(outcome.callsTo('token')).toHaveLength(1);
  expect(outcome.reports).toHaveLength(1);
});

it('40: fifty executions that start at once wait for the one that renews, also when it is killed', async () => {
  // A lease takes 2.4 s: longer than a busy machine needs to renew a token.
  const sandbox = { tokenSeconds: 86_400, report: { secondsToReady: 30 } };
  await using slower = await startWorkflow({ speed: 25, sandbox });
  slower.sandbox.faults.add('token hang processed');
  const runs = Array.from({ length: 50 }, (_, n) =>
    slower.run(slower.request({ name: `at-once-${n}`, table: false })),
  );
  const waiting = () => slower.logs.some((text) => text.includes('Another call is renewing the token'));
  await vi.waitUntil(waiting, { timeout: 30_000 });
  expect(await slower.functionOf('GetToken').kill()).toBeGreaterThanOrEqual(1);
  expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(runs.map(() => 'SUCCEEDED'));
  expect(slower.sandbox.journal.filter(({ endpoint }) => endpoint === 'token')).toHaveLength(2);
  const written = slower.secrets.journal.filter(({ operation }) => operation === 'PutSecretValue');
  expect(written).toHaveLength(1);
});
