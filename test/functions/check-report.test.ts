import { describe, expect, it } from 'vitest';
import { checkReport } from '../../functions/check-report.ts';
import { createReport } from '../../functions/create-report.ts';
import type { SandboxOptions } from '../../infra/lab/sandbox/sandbox-options.ts';
import { callsTo } from '../support/journal.ts';
import { startStep } from '../support/steps.ts';

const NEVER_READY = { report: { secondsToReady: 9000 } };

/** A window whose report was just created; the report is READY after a minute. */
async function startCreated(options: SandboxOptions = {}) {
  const started = await startStep({ report: { secondsToReady: 60 }, ...options });
  return { ...started, window: await createReport(started.window, started.access) };
}

/** A window whose first report was stuck and has a replacement. */
async function startReplaced(options: SandboxOptions) {
  const started = await startCreated(options);
  started.clock.pass(1801);
  const stuck = await checkReport(started.window, started.access);
  return { ...started, window: await createReport(stuck, started.access) };
}

describe('CheckReport', () => {
  it('returns the id of the READY report, never its URL (contract 2.3, 3)', async () => {
    const { access, window, clock, lines } = await startCreated();
    clock.pass(90);
    const state = await checkReport({ ...window, wait_seconds: 42 }, access);
    expect(state).toMatchObject({ status: 'ready', ready_id: window.reports[0]?.id, wait_seconds: 10 });
    expect(JSON.stringify([state, lines])).not.toMatch(/sbx_sig|https?:\/\//);
  });

  it('19: gives up a report whose fresh URL was refused, without polling it', async () => {
    const { access, window, sandbox } = await startCreated();
    const caught = { Error: 'UrlExpired' };
    const ready_id = window.reports[0]?.id;
    const state = await checkReport({ ...window, status: 'ready', ready_id, caught }, access);
    expect(state).toMatchObject({ status: 'planned', wait_seconds: 10, reports: [{ given_up: true }] });
    expect(state.reports[0]?.last_answer).toEqual({ description: 'was ready, but its URL was refused' });
    expect(state).not.toHaveProperty('caught');
    expect(state).not.toHaveProperty('ready_id');
    expect(callsTo(sandbox, 'report')).toEqual([]);
  });

  it('15: does not poll a report that was given up, even if it is READY', async () => {
    const { access, window, clock, sandbox } = await startCreated();
    clock.pass(90);
    const reports = window.reports.map((report) => ({ ...report, given_up: true }));
    expect(await checkReport({ ...window, reports }, access)).toMatchObject({ status: 'planned' });
    expect(callsTo(sandbox, 'report')).toEqual([]);
  });

  it('12: still polls a report that was replaced, and the first READY one wins', async () => {
    const { access, window, clock, sandbox } = await startReplaced({
      report: { secondsToReady: (ordinal) => (ordinal === 1 ? 2000 : 9000) },
    });
    clock.pass(300);
    const state = await checkReport(window, access);
    expect(state).toMatchObject({ status: 'ready', ready_id: window.reports[0]?.id });
    expect(sandbox.reports()).toHaveLength(2);
  });

  it('12: polls a report once if the replacement has the same id (contract 4.4)', async () => {
    const { access, window, clock, sandbox } = await startCreated(NEVER_READY);
    clock.pass(1801);
    const created_at = clock.now().toISOString();
    const reports = window.reports.flatMap((report) => [report, { ...report, created_at }]);
    clock.pass(10);
    expect(await checkReport({ ...window, reports }, access)).toMatchObject({ status: 'pending', reports });
    expect(callsTo(sandbox, 'report')).toHaveLength(1);
  });

  it('8: counts a round with a 429 as throttled even if its first GET succeeded', async () => {
    const { access, window, clock } = await startReplaced({
      ...NEVER_READY,
      tokenSeconds: 86_400,
      faults: ['report=2 status=429 retry_after=60 times=always'],
    });
    let state = window;
    for (let round = 1; round <= 3; round++) {
      clock.pass(60);
      state = await checkReport(state, access);
      expect(state).toMatchObject({ status: 'pending', throttled: round, wait_seconds: 60 });
    }
    clock.pass(1800);
    // The throttled report is not replaced: it may be READY.
    expect(await checkReport(state, access)).toMatchObject({ status: 'pending', throttled: 4 });
    await expect(checkReport({ ...state, throttled: 12 }, access)).rejects.toMatchObject({
      name: 'RateLimited',
    });
  });

  it.each([
    ['12', 'set.status=PROCESSING omit=download_url', 'is PROCESSING'],
    ['13', 'status=404', 'does not exist (404)'],
    ['14', 'set.status=QUEUED', 'has the status QUEUED, which the contract does not name'],
    ['15', 'omit=download_url', 'is READY without a valid URL'],
  ])('%s: keeps what was answered last, and its request_id: %s', async (_, fault, description) => {
    const { access, window, clock, sandbox } = await startCreated({ faults: [`report ${fault}`] });
    clock.pass(90);
    const { reports } = await checkReport(window, access);
    const request_id = callsTo(sandbox, 'report')[0]?.requestId;
    expect(reports[0]?.last_answer).toEqual({ description, request_id });
  });
});
