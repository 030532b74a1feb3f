import { describe, expect, it } from 'vitest';
import { checkReport } from '../../functions/check-report.ts';
import { createReport } from '../../functions/create-report.ts';
import type { SandboxOptions } from '../../infra/local/sandbox/settings.ts';
import { startStep } from '../support/steps.ts';

/** A window whose report was just created. */
async function startCreated(options: SandboxOptions = {}) {
  const started = await startStep({ report: { secondsToProcessing: 5, secondsToReady: 60 }, ...options });
  return { ...started, window: await createReport(started.window, started.access) };
}

describe('CheckReport', () => {
  it('19: watches a report no more whose URL was refused twice, and asks nothing meanwhile', async () => {
    const { access, window, sandbox } = await startCreated();
    const calls = sandbox.journal.length;
    const ready_id = window.reports[0]?.id;
    const state = await checkReport(
      { ...window, status: 'ready', ready_id, caught: { Error: 'UrlExpired' } },
      access,
    );
    expect(state).toMatchObject({ status: 'planned', wait_seconds: 10, reports: [{ given_up: true }] });
    expect(state).not.toHaveProperty('caught');
    expect(state).not.toHaveProperty('ready_id');
    expect(sandbox.journal).toHaveLength(calls);
  });

  it('15: asks no more for a report that was given up, READY as it may be', async () => {
    const { access, window, clock, sandbox } = await startCreated();
    clock.pass(90);
    const [report] = window.reports;
    if (!report) throw new Error('no report was created');
    const state = await checkReport({ ...window, reports: [{ ...report, given_up: true }] }, access);
    expect(state).toMatchObject({ status: 'planned' });
    expect(sandbox.journal.filter(({ endpoint }) => endpoint === 'report')).toEqual([]);
  });

  it('waits a quarter of the time waited so far, at least 10 s and at most 60 s (contract 4.4)', async () => {
    const { access, window, clock } = await startCreated({ report: { secondsToReady: 3000 } });
    const waits = [];
    for (const seconds of [10, 20, 30, 40, 100, 200]) {
      clock.pass(seconds);
      waits.push((await checkReport(window, access)).wait_seconds);
    }
    expect(waits).toEqual([10, 10, 15, 25, 50, 60]);
  });

  it('returns that the report is ready, and never its URL (contract 2.3, 3)', async () => {
    const { access, window, clock, lines } = await startCreated();
    clock.pass(90);
    const state = await checkReport({ ...window, wait_seconds: 42 }, access);
    expect(state).toMatchObject({ status: 'ready', ready_id: window.reports[0]?.id, wait_seconds: 10 });
    expect(JSON.stringify([state, lines])).not.toMatch(/sbx_sig|https?:\/\//);
  });

  it('12: plans a replacement after 30 minutes, and not before (contract 3, 8)', async () => {
    const { access, window, clock } = await startCreated({ report: { secondsToReady: 9000 } });
    clock.pass(30 * 60 - 1);
    expect(await checkReport(window, access)).toMatchObject({ status: 'pending' });
    clock.pass(10);
    expect(await checkReport(window, access)).toMatchObject({ status: 'planned', wait_seconds: 10 });
  });

  it('12: still watches a report that was replaced, and the first READY one wins', async () => {
    const { access, window, clock, sandbox } = await startCreated({
      report: { secondsToReady: (_, ordinal) => (ordinal === 1 ? 2000 : 9000) },
    });
    clock.pass(1801);
    const replaced = await createReport(await checkReport(window, access), access);
    clock.pass(300);
    const state = await checkReport(replaced, access);
    expect(state).toMatchObject({ status: 'ready', ready_id: window.reports[0]?.id });
    expect(sandbox.reports()).toHaveLength(2);
  });

  it('12: looks once at a report with which the platform answered the wish for a replacement as well (contract 4.4)', async () => {
    const { access, window, clock, sandbox } = await startCreated({ report: { secondsToReady: 9000 } });
    clock.pass(1801);
    const created_at = clock.now().toISOString();
    const reports = window.reports.flatMap((report) => [report, { ...report, created_at }]);
    clock.pass(10);
    expect(await checkReport({ ...window, reports }, access)).toMatchObject({ status: 'pending', reports });
    expect(sandbox.journal.filter(({ endpoint }) => endpoint === 'report')).toHaveLength(1);
  });

  it('8: counts answers 429 by rounds, so that a platform that lets only the first GET pass is not asked for ever', async () => {
    const { access, window, clock } = await startCreated({
      report: { secondsToReady: 9000 },
      tokenSeconds: 86_400,
      faults: ['report=2 status=429 retry_after=60 times=always'],
    });
    clock.pass(1801);
    let state = await createReport(await checkReport(window, access), access);
    for (let round = 1; round <= 3; round++) {
      clock.pass(60);
      state = await checkReport(state, access);
      expect(state).toMatchObject({ status: 'pending', throttled: round, wait_seconds: 60 });
    }
    clock.pass(1800);
    // Who may not look does not know that it is stuck.
    expect(await checkReport(state, access)).toMatchObject({ status: 'pending', throttled: 4 });
    await expect(checkReport({ ...state, throttled: 12 }, access)).rejects.toMatchObject({
      name: 'RateLimited',
    });
  });

  it('12: does not fail a window for the answer about a report that was replaced', async () => {
    const { access, window, clock } = await startCreated({
      report: { secondsToReady: (_, ordinal) => (ordinal === 1 ? 9000 : 60) },
      faults: ['report=1 nth=2 status=410 times=always'],
    });
    clock.pass(1801);
    const replaced = await createReport(await checkReport(window, access), access);
    clock.pass(100);
    expect(await checkReport(replaced, access)).toMatchObject({
      status: 'ready',
      ready_id: replaced.reports[1]?.id,
    });
  });

  it('13: asks once more for a report that is not there, then plans a replacement', async () => {
    const { access, window, clock } = await startCreated({ faults: ['report status=404 times=2'] });
    clock.pass(10);
    const once = await checkReport(window, access);
    expect(once).toMatchObject({ status: 'pending', reports: [{ useless_answers: 1, given_up: false }] });
    clock.pass(10);
    expect(await checkReport(once, access)).toMatchObject({
      status: 'planned',
      reports: [{ given_up: true }],
    });
  });

  it('14: waits on through a status that the contract does not name, with a warning (contract 3)', async () => {
    const { access, window, clock, lines } = await startCreated({ faults: ['report set.status=QUEUED'] });
    clock.pass(10);
    expect(await checkReport(window, access)).toMatchObject({ status: 'pending' });
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ status: 'QUEUED' }) }),
    );
  });

  it.each([
    'omit=download_url',
    'set.download_url=null',
    'set.download_url="not a URL"',
  ])('15: READY with %s is asked for once more, then a replacement is planned (contract 2.3)', async (fault) => {
    const { access, window, clock } = await startCreated({ faults: [`report ${fault} times=2`] });
    clock.pass(100);
    const once = await checkReport(window, access);
    expect(once.status).toBe('pending');
    clock.pass(30);
    expect(await checkReport(once, access)).toMatchObject({
      status: 'planned',
      reports: [{ given_up: true }],
    });
  });

  it.each([
    ['in seconds', 'retry_after=77', 77],
    ['as a date', 'retry_after=date:77', 77],
    ['below the polling interval', 'retry_after=1', 10],
    ['huge', 'retry_after=999999', 900],
    ['absent', 'without_header=retry-after', 10],
  ])('8: obeys a Retry-After that is %s (contract 8)', async (_, fault, wait_seconds) => {
    const { access, window, clock } = await startCreated({ faults: [`report status=429 ${fault}`] });
    clock.pass(10);
    expect(await checkReport(window, access)).toMatchObject({
      status: 'pending',
      wait_seconds,
      throttled: 1,
    });
  });

  it.each([
    ['1: 401', 'status=401', 'TokenRefused'],
    ['7: 500', 'status=500', 'PlatformUnavailable'],
    ['7: a reset', 'reset=after', 'PlatformUnavailable'],
    ['11: an empty body', 'body=""', 'AnswerUnreadable'],
    ['11: no id', 'omit=id', 'AnswerUnreadable'],
    ['4: 403', 'status=403', 'RequestRefused'],
  ])('%s (%s) ends in %s', async (_, fault, name) => {
    const { access, window, clock } = await startCreated({ faults: [`report ${fault}`] });
    clock.pass(10);
    await expect(checkReport(window, access)).rejects.toMatchObject({ name });
  });
});
