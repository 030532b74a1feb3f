import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addDays } from '../../functions/workflow/request/dates.ts';
import { expectFailed, gapsIn, recordJournals, runExport, shareWorkflow } from '../support/run-export.ts';
import { type Ended, startWorkflow } from '../support/workflow.ts';
import { forgetTokens, storeCredential, storedCredential } from '../support/workflow-secrets.ts';

const workflow = await shareWorkflow({ sandbox: { tokenSeconds: 86_400, report: { secondsToReady: 30 } } });

beforeEach(() => forgetTokens(workflow));

/** A range that is split into so many windows, all of which may be under way at once. */
function windows(count: number) {
  const start_date = '2023-01-01';
  return { start_date, end_date: addDays(start_date, 45 * count), max_parallel: 40 };
}

function entered({ events }: Ended, name: string): number {
  return events.filter(({ type, state }) => type === 'StateEntered' && state === name).length;
}

describe('a token', () => {
  it('40: is requested once by fifty executions that start at once', async () => {
    // The answer takes long enough for all of them to come and find no token.
    workflow.sandbox.faults.add('token trickle=5 times=always');
    onTestFinished(() => workflow.sandbox.faults.clear());
    const since = recordJournals(workflow);
    const runs = Array.from({ length: 50 }, (_, n) =>
      workflow.run(workflow.request({ name: `export-${n}` })),
    );
    expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(runs.map(() => 'SUCCEEDED'));
    expect(since().callsTo('token')).toHaveLength(1);
  });

  it('1, 29: that is refused in forty windows at once is renewed once', async () => {
    // Its functions are not loaded yet, which keeps the windows in step: a faster one would bring the others a new token.
    await using workflow = await startWorkflow({ sandbox: { report: { secondsToReady: 30 } } });
    const outcome = await runExport(workflow, { faults: ['create nth=40 revoke'], request: windows(40) });
    expect(outcome.status).toBe('SUCCEEDED');
    const refused = outcome.events.filter(
      ({ type, error }) => type === 'StateFailed' && error === 'TokenRefused',
    );
    expect(new Set(refused.map(({ window }) => window)).size).toBeGreaterThan(30);
    expect(outcome.callsTo('token')).toHaveLength(2);
    expect(outcome.reports).toHaveLength(40);
    expect(gapsIn(outcome).length).toBeGreaterThanOrEqual(40);
  });

  it.each([
    [
      '2: whose client is revoked, with WWW-Authenticate',
      'status=401 header.www-authenticate="Basic realm=x"',
      'CredentialUnusable',
    ],
    [
      '2: whose client is revoked, without WWW-Authenticate',
      'status=401 without_header=www-authenticate',
      'CredentialUnusable',
    ],
    [
      '3: whose grant is dead',
      'status=400 body="{\\"error\\":\\"invalid_grant\\"}" header.content-type=application/json',
      'LoginRequired',
    ],
  ])('%s, ends an export of 100 windows before the first', async (_, fault, error) => {
    const outcome = await runExport(workflow, {
      faults: [`token ${fault} times=always`],
      request: windows(100),
    });
    expectFailed(outcome, error);
    expect(outcome.calls.length).toBeLessThanOrEqual(2);
    expect(entered(outcome, 'ExportWindows')).toBe(0);
  });

  it('32: whose credential is malformed ends an export of 100 windows before any request', async () => {
    const stored = JSON.stringify(await storedCredential(workflow));
    onTestFinished(() => storeCredential(workflow, stored));
    await storeCredential(workflow, '{"client_id":"a\\nb"}');
    const outcome = await runExport(workflow, { request: windows(100) });
    expectFailed(outcome, 'CredentialUnusable');
    expect(outcome.failure.happened).toMatch(/client_id.*client_secret/);
    expect(outcome.calls).toEqual([]);
    expect(entered(outcome, 'ExportWindows')).toBe(0);
  });
});

describe('19: an expired URL', () => {
  it('19: is not fetched again where the token is refused on the way to a replacement (contract 2.3)', async () => {
    const outcome = await runExport(workflow, {
      sandbox: { report: { secondsToReady: 5 } },
      faults: ['storage status=403 times=2', 'create nth=2 status=401'],
    });
    expect(outcome.status).toBe('SUCCEEDED');
    const [first, second] = outcome.reports;
    const about = (id = '') => outcome.callsTo('report').filter(({ reportId }) => reportId === id);
    // Seen READY, saved, saved with a fresh URL; and the replacement: seen READY, saved.
    expect(about(first?.id)).toHaveLength(3);
    expect(about(second?.id)).toHaveLength(2);
    expect(outcome.reports).toHaveLength(2);
    expect(outcome.callsTo('storage').map(({ status }) => status)).toEqual([403, 403, 200]);
    expect(outcome.callsTo('token')).toHaveLength(2);
  });
});

describe('10: answers to POST /reports', () => {
  it('10: are lost once in the life of a window, whatever comes between', async () => {
    await using workflow = await startWorkflow({ speed: 1000 });
    const outcome = await runExport(workflow, {
      sandbox: { report: { secondsToReady: 1e9 } },
      faults: ['create reset=after', 'create nth=3 reset=after times=always'],
    });
    expectFailed(outcome, 'AnswerLost');
    expect(outcome.callsTo('create')).toHaveLength(3);
  });
});
