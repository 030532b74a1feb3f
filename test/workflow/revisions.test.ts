import { expect, it } from 'vitest';
import { expectFailed, type Outcome, runExport, shareWorkflow } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow({
  revision: '2026-01-15',
  sandbox: { tokenSeconds: 86_400, revisions: ['2026-01-15', '2026-09-01'] },
});

/** The revisions that the calls to the API sent, and those that the token requests sent. */
function revisionsSent({ calls }: Outcome) {
  const sent = (isToken: boolean) =>
    calls
      .filter(({ endpoint }) => endpoint !== 'storage' && (endpoint === 'token') === isToken)
      .map(({ headers }) => headers['x-service-revision']);
  return { api: [...new Set(sent(false))], token: [...new Set(sent(true))] };
}

it.each([
  ['pinned one', {}, '2026-01-15'],
  ['one of the request', { revision: '2026-09-01' }, '2026-09-01'],
])('9.1, 9.3, 9.4: the revision is the %s in every call, and absent in token requests', async (_, request, revision) => {
  await forgetTokens(workflow);
  const outcome = await runExport(workflow, { request });
  expect(outcome.status).toBe('SUCCEEDED');
  expect(revisionsSent(outcome)).toEqual({ api: [revision], token: [undefined] });
});

it('6: an unknown revision fails after the token was renewed, and the header is named (contract 5.6, 9.2)', async () => {
  await forgetTokens(workflow);
  const unknown = { revision: '2026-02-03' };
  const outcome = await runExport(workflow, { request: unknown, faults: ['create status=401'] });
  expectFailed(outcome, 'RequestRefused');
  expect(outcome.failure.happened).toContain('X-Service-Revision was 2026-02-03');
  expect(outcome.calls.map(({ status }) => status)).toEqual([200, 401, 200, 400]);
});
