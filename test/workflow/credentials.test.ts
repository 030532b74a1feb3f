import { expect, it } from 'vitest';
import { deliver, startFastWorkflow } from '../support/run-export.ts';
import { expectNoSecretWritten } from '../support/secrecy.ts';
import { logIn, storeCredential, storedCredential } from '../support/workflow-secrets.ts';

it('4.1: a rotated refresh token serves 3 windows that outlast a token', async () => {
  // Slow enough for a token that lives 100 s to be used before it ends.
  await using workflow = await startFastWorkflow({ speed: 100 });
  await storeCredential(workflow, await logIn(workflow));
  const first = (await storedCredential(workflow)).refresh_token;
  const outcome = await deliver(workflow, {
    sandbox: { rotateRefreshTokens: true, tokenSeconds: 100, report: { secondsToReady: 90 } },
    request: { start_date: '2026-01-01', end_date: '2026-04-02', max_parallel: 1, table: false },
  });
  expect(outcome.reports).toHaveLength(3);
  const grants = outcome.callsTo('token').map(({ body }) => new URLSearchParams(body).get('grant_type'));
  expect(new Set(grants)).toEqual(new Set(['refresh_token']));
  expect(grants.length).toBeGreaterThanOrEqual(2);
  expect((await storedCredential(workflow)).refresh_token).not.toBe(first);
  await expectNoSecretWritten(workflow);
});
