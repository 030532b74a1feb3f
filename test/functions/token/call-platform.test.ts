import { describe, expect, it, onTestFinished } from 'vitest';
import { MAX_THROTTLED_IN_ALL, MAX_WINDOW_HOURS } from '../../../functions/decisions/waits.ts';
import type { Authorization, Platform } from '../../../functions/platform/connection.ts';
import { getReport } from '../../../functions/platform/reports.ts';
import {
  callPlatform,
  createConnection,
  createPlatformAccess,
} from '../../../functions/token/call-platform.ts';
import { DownloadRefused, PlatformUnavailable } from '../../../functions/workflow/errors.ts';
import { callsTo } from '../../support/journal.ts';
import { SETTINGS } from '../../support/lambda.ts';
import { json, listen } from '../../support/listen.ts';
import { bearer, errorOf } from '../../support/platform.ts';
import { reportRef, startStep } from '../../support/steps.ts';

function pollOfR(platform: Platform, authorization: Authorization) {
  return getReport(platform, authorization, 'r');
}

describe('the platform of the settings', () => {
  async function startPlatform() {
    const sockets = new Set<unknown>();
    const server = await listen((_, response) => {
      sockets.add(response.socket);
      json(response, 200, { id: 'r1', status: 'CREATED' }, { connection: 'keep-alive' });
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    return { server, sockets, settings: { ...SETTINGS, PLATFORM_BASE_URL: `${server.url}/v1` } };
  }

  it('21: is not called at a loopback address', async () => {
    const { server, settings } = await startPlatform();
    const { platform } = createPlatformAccess(settings);
    const error = await errorOf(DownloadRefused, getReport(platform(undefined), bearer, 'r1'));
    expect(error.happened).toContain('base_url must name a public host');
    expect(server.requests).toEqual([]);
  });

  it('10: gets a connection per call, because a kept one may be dead after a freeze', async () => {
    const { sockets, settings } = await startPlatform();
    const connection = createConnection({ ...settings, ALLOW_LOOPBACK: 'true' });
    const platform = { ...connection, revision: '2026-05-01' };
    for (let calls = 0; calls < 3; calls += 1) await getReport(platform, bearer, 'r1');
    expect(sockets.size).toBe(3);
  });
});

describe('callPlatform', () => {
  it.each([
    [MAX_THROTTLED_IN_ALL - 1, { window: { wait_seconds: 10, throttled_in_all: MAX_THROTTLED_IN_ALL } }],
    [
      MAX_THROTTLED_IN_ALL,
      { name: 'RateLimited', message: expect.stringContaining('report r. It did so 121 times.') },
    ],
  ])('8: limits the 429s of a window in total: after %i of them', async (throttled_in_all, expected) => {
    const { access, window } = await startStep({ faults: ['report status=429 times=always retry_after=10'] });
    const poll = callPlatform({ ...window, throttled_in_all }, access, pollOfR);
    expect(await poll.catch((error) => error)).toMatchObject(expected);
  });

  it('8: counts 429s in a row and in total; an answer ends the row, and proves that a new token works', async () => {
    const { access, sandbox, window } = await startStep();
    const throttle = () => Promise.reject(new PlatformUnavailable('No.', { status: 429, retry_after: 30 }));
    const renewed = { ...window, token: { ...window.token, unproven: true } };
    const once = await callPlatform(renewed, access, throttle);
    expect(once).toEqual({ window: { ...renewed, wait_seconds: 30, throttled: 1, throttled_in_all: 1 } });
    const { window: after, answer } = await callPlatform(once.window, access, async () => sandbox);
    expect(after).toEqual({ ...once.window, throttled: 0, token: window.token });
    expect(answer).toBe(sandbox);
    const twice = await callPlatform(after, access, throttle);
    expect(twice.window).toMatchObject({ throttled: 1, throttled_in_all: 2 });
  });

  it.each([
    [{ status: 503, retry_after: 900 }, 0, 900],
    [{ status: 500, retry_after: 86_400 }, 0, 900],
    [{ status: 408, retry_after: 45 }, 2, 45],
    // Twelve waits of 10 s would not outlast an outage.
    [{ status: 503, retry_after: 1 }, 3, 80],
    [{ status: 429, retry_after: 1 }, 3, 10],
  ])('67: waits as %j says, after %i of them: %i s', async (facts, throttled, wait_seconds) => {
    const { access, window } = await startStep();
    const fail = () => Promise.reject(new PlatformUnavailable('Busy.', facts));
    const { window: after } = await callPlatform({ ...window, throttled }, access, fail);
    expect(after).toMatchObject({ wait_seconds, throttled: throttled + 1, throttled_in_all: 1 });
  });

  it('7, 67: leaves a 503 without Retry-After to the Retry, and ends after twelve with it', async () => {
    const { access, window } = await startStep();
    const fail = (facts: object) => () =>
      Promise.reject(new PlatformUnavailable('Busy.', { status: 503, ...facts }));
    const unnamed = callPlatform(window, access, fail({}));
    await expect(unnamed).rejects.toMatchObject({ name: 'PlatformUnavailable' });
    const often = callPlatform({ ...window, throttled: 12 }, access, fail({ retry_after: 5 }));
    await expect(often).rejects.toMatchObject({
      name: 'RateLimited',
      happened: expect.stringContaining('13 times'),
    });
  });

  it('sends nothing for a window that is out of time, and says what was answered about its reports', async () => {
    const { access, sandbox, window, clock } = await startStep();
    clock.pass(MAX_WINDOW_HOURS * 3600);
    const last_answer = { description: 'is PROCESSING', request_id: 'r-1' };
    const poll = callPlatform({ ...window, reports: [{ ...reportRef('q'), last_answer }] }, access, pollOfR);
    await expect(poll).rejects.toMatchObject({
      name: 'OutOfTime',
      message: expect.stringContaining(' At last, report q is PROCESSING, request_id r-1.\n'),
      facts: { report_ids: ['q'], request_ids: ['r-1'] },
    });
    expect(callsTo(sandbox, 'report')).toEqual([]);
  });
});
