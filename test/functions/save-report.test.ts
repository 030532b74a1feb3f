import { describe, expect, it } from 'vitest';
import { checkReport } from '../../functions/check-report.ts';
import type { Copy } from '../../functions/copy/copy.ts';
import { createReport } from '../../functions/create-report.ts';
import { MAX_CALLS, saveReport } from '../../functions/save-report.ts';
import { CopyFailed } from '../../functions/workflow/errors.ts';
import { ReadyWindow } from '../../functions/workflow/states.ts';
import type { SandboxOptions } from '../../infra/lab/sandbox/sandbox-options.ts';
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
    return { key: source.key, bytes: 7, crc32: 'AAAAAA==', content_type: 'application/json', rows: 1 };
  };
  const dependencies = { ...access, copy, millisecondsLeft: () => 900_000 };
  return { ...started, window, copies, dependencies };
}

describe('SaveReport', () => {
  it('gets the URL itself, copies the file to the window’s key, and passes the URL to nobody', async () => {
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

  it('polls a report again that is no longer READY, and counts a useless answer', async () => {
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

  it('logs a status that the contract does not name', async () => {
    const { window, dependencies, lines } = await startReady({
      faults: ['report nth=2 set.status=QUEUED omit=download_url'],
    });
    await saveReport(window, dependencies);
    const message = 'the report has the status QUEUED, which the contract does not name';
    const fields = { report_id: window.ready_id };
    expect(lines).toContainEqual({ level: 'warn', message, fields });
  });

  const left = { upload_id: 'u1', etag: '"one"', content_type: 'application/json', stored_bytes: 200 };

  it('16: keeps the checkpoint of a copy that broke off or takes longer than one call', async () => {
    const { window, dependencies } = await startReady();
    const state = await saveReport(window, { ...dependencies, copy: async () => left });
    const checkpoint = { ...left, report_id: window.ready_id, calls: 1 };
    expect(state).toMatchObject({ status: 'ready', wait_seconds: 10, checkpoint });
  });

  it('67: waits as the storage host says, keeps its checkpoint, and counts the answers in a row', async () => {
    const { window, dependencies, clock } = await startReady();
    const checkpoint = { ...left, report_id: window.ready_id, calls: 4 };
    const busy = new CopyFailed('The storage host answered 503.', { status: 503, retry_after: 900 });
    const copy = () => Promise.reject(busy);
    const waiting = await saveReport({ ...window, checkpoint, throttled: 2 }, { ...dependencies, copy });
    expect(waiting).toMatchObject({ status: 'ready', wait_seconds: 900, throttled: 3, checkpoint });
    clock.pass(10);
    const often = saveReport({ ...window, throttled: 12 }, { ...dependencies, copy });
    await expect(often).rejects.toMatchObject({ name: 'RateLimited' });
  });

  it('stops a minute before its time is up', async () => {
    const { window, dependencies, copies, clock } = await startReady();
    await saveReport(window, dependencies);
    clock.pass(10);
    await saveReport(window, { ...dependencies, millisecondsLeft: () => 60_000 });
    expect(copies.map(({ deadline }) => deadline.aborted)).toEqual([false, false]);
    await expect.poll(() => copies.map(({ deadline }) => deadline.aborted)).toEqual([false, true]);
  });

  it('resumes from the checkpoint, and removes it at the end', async () => {
    const { window, dependencies, copies } = await startReady();
    const checkpoint = { ...left, report_id: window.ready_id, calls: 4 };
    const state = await saveReport({ ...window, checkpoint }, dependencies);
    expect(copies).toMatchObject([{ checkpoint }]);
    expect(state).toMatchObject({ status: 'saved' });
    expect(state.checkpoint).toBeUndefined();
  });

  it('12: copies a report that replaced another from its beginning', async () => {
    const { window, dependencies, copies } = await startReady();
    const checkpoint = { ...left, report_id: 'an-older-one', calls: 4 };
    await saveReport({ ...window, checkpoint }, dependencies);
    expect(copies).toMatchObject([{ checkpoint: undefined }]);
  });

  it('fails after as many calls as a window has time for', async () => {
    const { window, dependencies } = await startReady();
    const checkpoint = { ...left, report_id: window.ready_id, calls: MAX_CALLS };
    const saving = saveReport({ ...window, checkpoint }, dependencies);
    await expect(saving).rejects.toMatchObject({ name: 'DownloadRefused' });
  });
});
