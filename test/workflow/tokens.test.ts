import { describe, expect, it } from 'vitest';
import { addDays } from '../../functions/workflow/dates.ts';
import { callsTo, gaps } from '../support/journal.ts';
import { type Ended, startWorkflow } from '../support/workflow.ts';

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
    await using workflow = await startWorkflow({
      sandbox: { report: { secondsToReady: 30 }, faults: ['token trickle=5 times=always'] },
    });
    const runs = Array.from({ length: 50 }, (_, n) =>
      workflow.run(workflow.request({ name: `export-${n}` })),
    );
    expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(runs.map(() => 'SUCCEEDED'));
    expect(callsTo(workflow.sandbox, 'token')).toHaveLength(1);
  });

  it('1, 29: that is refused in forty windows at once is renewed once', async () => {
    await using workflow = await startWorkflow({
      sandbox: { report: { secondsToReady: 30 }, faults: ['create nth=40 revoke'] },
    });
    const ended = await workflow.run(workflow.request(windows(40)));
    expect(ended.status).toBe('SUCCEEDED');
    const refused = ended.events.filter(
      ({ type, error }) => type === 'StateFailed' && error === 'TokenRefused',
    );
    expect(new Set(refused.map(({ window }) => window)).size).toBeGreaterThan(30);
    expect(callsTo(workflow.sandbox, 'token')).toHaveLength(2);
    expect(workflow.sandbox.reports()).toHaveLength(40);
    expect(Math.min(...gaps(workflow.sandbox))).toBeGreaterThanOrEqual(10);
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
    await using workflow = await startWorkflow({ sandbox: { faults: [`token ${fault} times=always`] } });
    const ended = await workflow.run(workflow.request(windows(100)));
    expect([ended.status, ended.error]).toEqual(['FAILED', error]);
    expect(workflow.sandbox.journal.length).toBeLessThanOrEqual(2);
    expect(entered(ended, 'ExportWindows')).toBe(0);
  });

  it('32: whose credential is malformed ends an export of 100 windows before any request', async () => {
    await using workflow = await startWorkflow({ credentials: { sandbox: '{"client_id":"a\\nb"}' } });
    const ended = await workflow.run(workflow.request({ ...windows(100), account: 'sandbox' }));
    expect([ended.status, ended.error]).toEqual(['FAILED', 'CredentialUnusable']);
    expect(JSON.parse(ended.cause ?? '').happened).toMatch(/client_id.*client_secret/);
    expect(workflow.sandbox.journal).toEqual([]);
    expect(entered(ended, 'ExportWindows')).toBe(0);
  });
});

describe('19: an expired URL', () => {
  it('19: is not fetched again where the token is refused on the way to a replacement (contract 2.3)', async () => {
    await using workflow = await startWorkflow({
      sandbox: {
        report: { secondsToReady: 5 },
        faults: ['storage status=403 times=2', 'create nth=2 status=401'],
      },
    });
    const ended = await workflow.run();
    expect(ended.status).toBe('SUCCEEDED');
    const [first, second] = workflow.sandbox.reports();
    const about = (id = '') => callsTo(workflow.sandbox, 'report').filter(({ reportId }) => reportId === id);
    // Seen READY, saved, saved with a fresh URL; and the replacement: seen READY, saved.
    expect(about(first?.id)).toHaveLength(3);
    expect(about(second?.id)).toHaveLength(2);
    expect(workflow.sandbox.reports()).toHaveLength(2);
    expect(callsTo(workflow.sandbox, 'storage').map(({ status }) => status)).toEqual([403, 403, 200]);
    expect(callsTo(workflow.sandbox, 'token')).toHaveLength(2);
  });
});

describe('10: answers to POST /reports', () => {
  it('10: are lost once in the life of a window, whatever comes between', async () => {
    await using workflow = await startWorkflow({
      speed: 1000,
      sandbox: {
        report: { secondsToReady: 1e9 },
        faults: ['create reset=after', 'create nth=3 reset=after times=always'],
      },
    });
    const ended = await workflow.run();
    expect([ended.status, ended.error]).toEqual(['FAILED', 'AnswerLost']);
    expect(callsTo(workflow.sandbox, 'create')).toHaveLength(3);
  });
});
