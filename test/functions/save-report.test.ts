import { describe, expect, it } from 'vitest';
import type { Copy } from '../../functions/aws/copy/open.ts';
import { checkReport } from '../../functions/check-report.ts';
import { createReport } from '../../functions/create-report.ts';
import { saveReport } from '../../functions/save-report.ts';
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
});
