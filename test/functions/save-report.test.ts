import { describe, expect, it } from 'vitest';
import { checkReport } from '../../functions/check-report.ts';
import type { Copy } from '../../functions/copy/open.ts';
import { createReport } from '../../functions/create-report.ts';
import { MAX_CALLS, saveReport } from '../../functions/save-report.ts';
import { UrlExpired } from '../../functions/workflow/errors.ts';
import { ReadyWindow } from '../../functions/workflow/states.ts';
import type { SandboxOptions } from '../../infra/local/sandbox/settings.ts';
import { startStep } from '../support/steps.ts';

/** A window whose report was found READY 10 s ago, and a copy that only notes what it is asked for. */
async function startReady(options: SandboxOptions = {}) {
  const started = await startStep({ report: { secondsToReady: 30 }, ...options });
  const { access, clock } = started;
  const created = await createReport(started.window, access);
  clock.pass(40);
  const window = ReadyWindow.parse(await checkReport(created, access));
  clock.pass(10);
  const copies: Parameters<Copy>[0][] = [];
  const copy: Copy = async (source) => {
    copies.push(source);
    return { bytes: 7, crc32: 'AAAAAA==', content_type: 'application/json', rows: 1 };
  };
  const abandoned: string[] = [];
  const abandon = async (_: string, upload: string) => void abandoned.push(upload);
  const dependencies = { ...access, copy, abandon, millisecondsLeft: () => 900_000 };
  return { ...started, window, copies, abandoned, dependencies };
}

describe('SaveReport', () => {
  it('fetches the URL itself, copies the file to the window’s key, and lets the URL go no further', async () => {
    const { window, dependencies, copies, sandbox, clock, lines } = await startReady();
    const state = await saveReport(window, dependencies);
    expect(copies).toHaveLength(1);
    expect(copies[0]?.url).toContain(sandbox.storageUrl);
    expect(copies[0]?.key).toBe(
      'exports/account=acme/export=daily/start_date=2026-11-01/end_date=2026-11-02/report.json',
    );
    expect(state).toMatchObject({
      status: 'saved',
      object: { key: copies[0]?.key, bytes: 7, rows: 1, copied_at: clock.now().toISOString() },
    });
    expect(JSON.stringify([state, lines])).not.toMatch(/sbx_sig|https?:\/\//);
  });

  it('watches a report again that is not READY any more, and counts that against it', async () => {
    const { window, dependencies, copies } = await startReady({
      faults: ['report nth=2 set.status=PROCESSING omit=download_url'],
    });
    expect(await saveReport(window, dependencies)).toMatchObject({
      status: 'pending',
      wait_seconds: 10,
      reports: [{ useless_answers: 1, given_up: false }],
    });
    expect(copies).toEqual([]);
  });

  it('8: waits where it is throttled, and stays ready', async () => {
    const { window, dependencies } = await startReady({ faults: ['report nth=2 status=429 retry_after=30'] });
    expect(await saveReport(window, dependencies)).toMatchObject({
      status: 'ready',
      wait_seconds: 30,
      throttled: 1,
    });
  });

  it('1: leaves a refused token to the state machine', async () => {
    const { window, dependencies } = await startReady({ faults: ['report nth=2 status=401'] });
    await expect(saveReport(window, dependencies)).rejects.toMatchObject({ name: 'TokenRefused' });
  });

  it('19: leaves an expired URL to the state machine (contract 2.3, 8)', async () => {
    const { window, dependencies } = await startReady();
    const copy: Copy = async () => {
      throw new UrlExpired('The storage host answered 403.');
    };
    await expect(saveReport(window, { ...dependencies, copy })).rejects.toMatchObject({ name: 'UrlExpired' });
  });

  const file = { etag: '"one"', bytes: 400, content_type: 'application/json' };
  const position = { part: 3, at: 200, shape: 'seen' };

  it('leaves to a later call what does not come in the time of one', async () => {
    const { window, dependencies } = await startReady();
    const left = { upload_id: 'u1', file, position };
    const state = await saveReport(window, { ...dependencies, copy: async () => left });
    const copying = { ...left, report_id: window.ready_id, calls: 1 };
    expect(state).toMatchObject({ status: 'ready', wait_seconds: 10, copying });
  });

  it('stops a minute before its time is up', async () => {
    const { window, dependencies, copies, clock } = await startReady();
    await saveReport(window, dependencies);
    clock.pass(10);
    await saveReport(window, { ...dependencies, millisecondsLeft: () => 60_000 });
    expect(copies.map(({ deadline }) => deadline.aborted)).toEqual([false, false]);
    await expect.poll(() => copies.map(({ deadline }) => deadline.aborted)).toEqual([false, true]);
  });

  it('goes on with what an earlier call left, and keeps no trace of it in the end', async () => {
    const { window, dependencies, copies } = await startReady();
    const copying = { upload_id: 'u1', report_id: window.ready_id, file, position, calls: 4 };
    const state = await saveReport({ ...window, copying }, dependencies);
    expect(copies).toMatchObject([{ copying, divides: false }]);
    expect(state).toMatchObject({ status: 'saved' });
    expect(state.copying).toBeUndefined();
  });

  it.each([
    ['1: a refused token', ['report nth=2 status=401'], 'TokenRefused'],
    ['7: a platform that is not there', ['report nth=2 status=503'], 'PlatformUnavailable'],
  ])('%s leaves what is stored as it is', async (_, faults, name) => {
    const { window, dependencies, abandoned } = await startReady({ faults });
    const copying = { upload_id: 'u1', report_id: window.ready_id, file, position, calls: 4 };
    await expect(saveReport({ ...window, copying }, dependencies)).rejects.toMatchObject({ name });
    expect(abandoned).toEqual([]);
  });

  it('12: gives up what is stored of a report that another one has replaced', async () => {
    const { window, dependencies, copies, abandoned } = await startReady();
    const copying = { upload_id: 'u1', report_id: 'an-older-one', file, position, calls: 4 };
    await saveReport({ ...window, copying }, dependencies);
    expect(abandoned).toEqual(['u1']);
    expect(copies).toMatchObject([{ copying: undefined, divides: true }]);
  });

  it('fails and gives up after as many calls as a window has time for', async () => {
    const { window, dependencies, abandoned } = await startReady();
    const copying = { upload_id: 'u1', report_id: window.ready_id, file, position, calls: MAX_CALLS };
    const saving = saveReport({ ...window, copying }, dependencies);
    await expect(saving).rejects.toMatchObject({ name: 'DownloadRefused' });
    expect(abandoned).toEqual(['u1']);
  });

  const ranges = [
    { first: 1, from: 0, to: 200, part: 1, at: 0 },
    { first: 3, from: 200, to: 400, part: 3, at: 200 },
  ];

  it('P3: leaves a large file to ranges, whose turns begin 10 s after its own GET', async () => {
    const { window, dependencies, clock } = await startReady();
    const copy: Copy = async () => ({ upload_id: 'u1', file, ranges });
    const state = await saveReport(window, { ...dependencies, copy });
    const turn = (seconds: number) => {
      const time = new Date(clock.now().getTime() + 1000 * seconds).toISOString();
      return { turn: time, wake: time };
    };
    expect(state).toMatchObject({
      status: 'divided',
      copying: {
        upload_id: 'u1',
        calls: 1,
        ranges: [
          { ...ranges[0], status: 'open', ...turn(10), turn_every_seconds: 44, turns: 0, failures: 0 },
          { ...ranges[1], status: 'open', ...turn(32), turn_every_seconds: 44, turns: 0, failures: 0 },
        ],
      },
    });
  });

  it.each([
    ['JoinRanges left it', false],
    ['the ranges did, where JoinRanges failed', true],
  ])('divides what is missing again, as %s, with turns that begin anew', async (_, failed) => {
    const { window, dependencies, clock, copies } = await startReady();
    const past = '2026-11-21T00:00:00.000Z';
    const turns = { turn: past, wake: past, turn_every_seconds: 44, turns: 3 };
    const broken = { status: 'broken' as const, failures: 3, error: 'CopyFailed' };
    const begun = [
      { ...ranges[0], ...turns, part: 3, at: 200, status: 'stored' as const, failures: 0 },
      { ...ranges[1], ...turns, part: 4, at: 300, shape: 'seen', ...broken },
    ];
    const before = begun.map((range) => ({ ...range, at: range.from, status: 'open' as const }));
    const came = failed ? { ranges: before, ended: begun } : { ranges: begun };
    const copying = { upload_id: 'u1', report_id: window.ready_id, file, calls: 1, ...came };
    const state = await saveReport(ReadyWindow.parse({ ...window, copying }), dependencies);
    const [first, second] = state.copying?.ranges ?? [];
    expect([state.status, first?.status, copies]).toEqual(['divided', 'stored', []]);
    const turn = new Date(clock.now().getTime() + 32_000).toISOString();
    expect(second).toEqual({
      ...begun[1],
      ...{ status: 'open', failures: 0, turn, wake: turn },
      error: undefined,
    });
  });

  it('8: comes to an end where each call of a long copy is throttled as often as is allowed', async () => {
    const { window, dependencies, sandbox, clock } = await startReady({ tokenSeconds: 86_400 });
    let part = 1;
    const copy: Copy = async () => ({ upload_id: 'u1', file, position: { part: part++, at: 8 * part } });
    let state: ReadyWindow = window;
    let entries = 0;
    const goOn = async () => {
      for (; entries < 1000; entries += 1) {
        if (entries % 13 === 0) sandbox.faults.add('report times=12 status=429 retry_after=10');
        state = ReadyWindow.parse(await saveReport(state, { ...dependencies, copy }));
        clock.pass(state.wait_seconds);
      }
    };
    await expect(goOn()).rejects.toMatchObject({ name: 'RateLimited' });
    expect(entries).toBe(130);
  });
});
