import { describe, expect, it } from 'vitest';
import { expectFailed, type Outcome, runExport, shareWorkflow } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow({
  speed: 1000,
  revision: '2026-01-15',
  sandbox: { tokenSeconds: 86_400, revisions: ['2026-01-15', '2026-09-01'] },
});

/** What each call to the API, and each token request, named as its revision. */
function revisionsSent({ calls }: Outcome) {
  const sent = (isToken: boolean) =>
    calls
      .filter(({ endpoint }) => endpoint !== 'storage' && (endpoint === 'token') === isToken)
      .map(({ headers }) => headers['x-service-revision']);
  return { api: [...new Set(sent(false))], token: [...new Set(sent(true))] };
}

describe('the revision', () => {
  it.each([
    ['the pinned one', {}, '2026-01-15'],
    ['the one that the request names', { revision: '2026-09-01' }, '2026-09-01'],
  ])('9.1, 9.3, 9.4: is %s, at every call and at no token request', async (_, request, revision) => {
    await forgetTokens(workflow);
    const outcome = await runExport(workflow, { request });
    expect(outcome.status).toBe('SUCCEEDED');
    expect(revisionsSent(outcome)).toEqual({ api: [revision], token: [undefined] });
  });

  it('5.6, 9.2: that is unknown shows once the token is renewed, and ends the export with its value', async () => {
    await forgetTokens(workflow);
    const unknown = { revision: '2026-02-03' };
    const outcome = await runExport(workflow, { request: unknown, faults: ['create status=401'] });
    expectFailed(outcome, 'RequestRefused');
    expect(outcome.failure.happened).toContain('X-Service-Revision was 2026-02-03');
    expect(outcome.calls.map(({ status }) => status)).toEqual([200, 401, 200, 400]);
  });
});
