import { beforeEach, expect, it } from 'vitest';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import {
  commonWorkflow,
  expectFailed,
  gapsIn,
  runExport,
  startFastWorkflow,
} from '../../support/run-export.ts';
import { startWorkflow } from '../../support/workflow.ts';
import { forgetTokens, secretId } from '../../support/workflow-secrets.ts';

// Faults of the token endpoint (contract 4.1, 7.3). Each export needs a new token.
const workflow = await commonWorkflow();

beforeEach(() => forgetTokens(workflow));

/** Dates that are split into this many windows. Without a table: forty windows would write 1,800 days. */
function windows(count: number, max_parallel: number) {
  const start_date = '2023-01-01';
  return { start_date, end_date: addDays(start_date, 45 * count), max_parallel, table: false };
}

it('2: a credential that the token endpoint refuses is read once more, and the export fails before its first window', async () => {
  const outcome = await runExport(workflow, {
    faults: ['token status=401 times=always'],
    request: windows(100, 40),
  });
  expectFailed(outcome, 'CredentialUnusable');
  expect(outcome.failure.happened).toContain('invalid_client');
  expect(outcome.calls).toHaveLength(1);
  const credential = secretId(workflow, 'credential');
  expect(outcome.secrets.filter(({ secret }) => secret === credential)).toHaveLength(2);
  expect(outcome.events.filter(({ state }) => state === 'ExportWindows')).toEqual([]);
});

it('2: a credential that was refused is not tried again by four windows', async () => {
  expect((await runExport(workflow)).status).toBe('SUCCEEDED');
  const outcome = await runExport(workflow, {
    faults: ['token status=401 times=always', 'create status=401 times=always'],
    request: windows(4, 4),
  });
  expectFailed(outcome, 'CredentialUnusable');
  expect(outcome.failure.windows_failed).toBe(4);
  expect(outcome.callsTo('token').map(({ status }) => status)).toEqual([401]);
  // A new export asks the platform again, even if the credential is unchanged.
  expect((await runExport(workflow)).status).toBe('SUCCEEDED');
});

it('7: a token endpoint that is not available is retried, and fails after twelve requests', async () => {
  const passing = await runExport(workflow, { faults: ['token status=503 times=2'] });
  expect(passing.status).toBe('SUCCEEDED');
  expect(passing.callsTo('token')).toHaveLength(3);
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: ['token reset=after times=always'] });
  expectFailed(outcome, 'PlatformUnavailable');
  expect(outcome.calls).toHaveLength(12);
});

it('11: a token request answered with HTML is retried once', async () => {
  const page = 'token body="<html>Bad gateway</html>"';
  expect((await runExport(workflow, { faults: [page] })).status).toBe('SUCCEEDED');
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { faults: [`${page} times=always`] });
  expectFailed(outcome, 'AnswerUnreadable');
  expect(outcome.calls).toHaveLength(2);
  expect(outcome.failure.request_ids).toEqual(['absent']);
});

/** Slow enough for fifty executions to wait in line for GetToken, which runs one at a time. */
const startSlower = () =>
  startWorkflow({ speed: 25, sandbox: { tokenSeconds: 86_400, report: { secondsToReady: 30 } } });

it('40: one token request serves fifty executions that start at once', async () => {
  await using slower = await startSlower();
  // A slow answer: every execution starts before there is a token.
  slower.sandbox.faults.add('token trickle=5 times=always');
  const runs = Array.from({ length: 50 }, (_, n) =>
    slower.run(slower.request({ name: `at-once-${n}`, table: false })),
  );
  expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(runs.map(() => 'SUCCEEDED'));
  expect(slower.sandbox.journal.filter(({ endpoint }) => endpoint === 'token')).toHaveLength(1);
});

it('1, 29: one token request renews a token that is refused in forty windows at once', async () => {
  // A new workflow loads its functions while the windows start, which keeps the windows in step.
  await using slower = await startSlower();
  const outcome = await runExport(slower, {
    faults: ['create nth=40 revoke'],
    request: windows(40, 40),
  });
  expect(outcome.status).toBe('SUCCEEDED');
  const refused = outcome.events.filter(
    ({ type, error }) => type === 'StateFailed' && error === 'TokenRefused',
  );
  expect(new Set(refused.map(({ window }) => window)).size).toBeGreaterThan(30);
  expect(outcome.callsTo('token')).toHaveLength(2);
  expect(outcome.reports).toHaveLength(40);
  expect(gapsIn(outcome).length).toBeGreaterThanOrEqual(40);
});

it('34: an expires_in of 0 never causes a loop of token requests', async () => {
  // A minute, the shortest lifetime, takes 2 s: longer than a busy machine needs from one state to the next.
  await using slower = await startFastWorkflow({ speed: 30 });
  const outcome = await runExport(slower, { faults: ['token set.expires_in=0 times=always'] });
  expect(outcome.status).toBe('SUCCEEDED');
  // An export looks for a token twice: before its windows, and in its window.
  expect(outcome.callsTo('token').length).toBeLessThanOrEqual(2);
});
