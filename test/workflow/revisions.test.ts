import { describe, expect, it } from 'vitest';
import { startWorkflow, type Workflow } from '../support/workflow.ts';

const PUBLISHED = ['2026-01-15', '2026-09-01'];

/** What each call to the API, and each token request, named as its revision. */
function revisionsSent({ sandbox }: Workflow) {
  const sent = (isToken: boolean) =>
    sandbox.journal
      .filter(({ endpoint }) => endpoint !== 'storage' && (endpoint === 'token') === isToken)
      .map(({ headers }) => headers['x-service-revision']);
  return { api: [...new Set(sent(false))], token: [...new Set(sent(true))] };
}

describe('the revision', () => {
  it.each([
    ['the pinned one', {}, '2026-01-15'],
    ['the one that the request names', { revision: '2026-09-01' }, '2026-09-01'],
  ])('9.1, 9.3, 9.4: is %s, at every call and at no token request', async (_, fields, revision) => {
    await using workflow = await startWorkflow({
      speed: 1000,
      revision: '2026-01-15',
      sandbox: { revisions: PUBLISHED },
    });
    expect((await workflow.run(workflow.request(fields))).status).toBe('SUCCEEDED');
    expect(revisionsSent(workflow)).toEqual({ api: [revision], token: [undefined] });
  });

  it('5.6, 9.2: that is unknown shows once the token is renewed, and ends the export with its value', async () => {
    await using workflow = await startWorkflow({ speed: 1000, sandbox: { faults: ['create status=401'] } });
    const { error, cause } = await workflow.run(workflow.request({ revision: '2026-02-03' }));
    expect(error).toBe('RequestRefused');
    expect(JSON.parse(cause ?? '').happened).toContain('X-Service-Revision was 2026-02-03');
    expect(workflow.sandbox.journal.map(({ status }) => status)).toEqual([200, 401, 200, 400]);
  });
});
