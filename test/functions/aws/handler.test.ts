import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod/mini';
import { createHandler } from '../../../functions/aws/handler.ts';
import { RequestRefused, TokenRefused } from '../../../functions/workflow/errors.ts';
import { type PlatformSettings, READS } from '../../../functions/workflow/settings.ts';
import { WindowState } from '../../../functions/workflow/states.ts';
import type { Common } from '../../../functions/workflow/step.ts';
import {
  ABOUT,
  anyHandler,
  failingHandler,
  lambdaNow,
  NOW,
  thrownBy,
  window,
  windowHandler,
} from '../../support/any-step.ts';
import { type Lambda, SETTINGS } from '../../support/lambda.ts';

let lambda: Lambda;
beforeEach(() => {
  lambda = lambdaNow();
});

const DONE = { level: 'INFO', message: 'done', step: 'CheckReport', invocation: 'invocation-1' };

function report(id: string) {
  return { id, created_at: '2026-11-21T05:00:00.000Z', useless_answers: 0, given_up: false };
}

describe('a handler', () => {
  it('creates its dependencies on the first call, not on import', () => {
    vi.unstubAllEnvs();
    const wire = vi.fn();
    createHandler(READS.CheckReport, z.unknown(), async () => 1, wire);
    expect(wire).not.toHaveBeenCalled();
  });

  it('names a missing setting', async () => {
    vi.stubEnv('SECRET_PREFIX', undefined);
    const error = await thrownBy(lambda.call(anyHandler(vi.fn()), {}));
    expect(JSON.parse(error.message)).toMatchObject([{ path: ['SECRET_PREFIX'] }]);
  });

  it('creates its dependencies from the settings and the log, and keeps them', async () => {
    const settingsGiven: PlatformSettings[] = [];
    const runs: (Common & { own: string })[] = [];
    const run = async (_: unknown, dependencies: Common & { own: string }) => runs.push(dependencies);
    const handler = createHandler(READS.CheckReport, z.unknown(), run, (settings, log) => {
      settingsGiven.push(settings);
      log.info('wired');
      return { own: 'dependency' };
    });
    await lambda.call(handler, {});
    await lambda.call(handler, {});
    const { STEP, PLATFORM_BASE_URL, PLATFORM_REVISION, SECRET_PREFIX } = SETTINGS;
    expect(settingsGiven).toEqual([{ STEP, PLATFORM_BASE_URL, PLATFORM_REVISION, SECRET_PREFIX }]);
    expect(lambda.lines().map(({ message }) => message)).toEqual(['wired', 'done', 'done']);
    expect(runs[0]).toMatchObject({ own: 'dependency', log: { info: expect.any(Function) } });
    expect(runs[0]?.now()).toEqual(new Date(NOW));
    expect(runs[0]?.millisecondsLeft()).toBe(900_000);
  });

  it('passes the parsed state to the step and returns what the step returns', async () => {
    const run = vi.fn(async ({ known }: { known: number }) => ({ a: [known] }));
    const handler = createHandler(READS.CheckReport, z.object({ known: z.number() }), run, () => ({}));
    expect(await lambda.call(handler, { known: 7, other: 'x' })).toEqual({ a: [7] });
    expect(run).toHaveBeenCalledWith({ known: 7 }, expect.anything());
  });

  it.each([[{ state: {} }], [{}], [null]])('refuses the event %j', async (event) => {
    const context = { functionName: 'f', awsRequestId: 'i', getRemainingTimeInMillis: () => 1 };
    const run = vi.fn();
    await expect(anyHandler(run)(event, context)).rejects.toThrow();
    expect(run).not.toHaveBeenCalled();
  });

  it('36: fails with the error of the schema, and does not run, if the state does not match it', async () => {
    const run = vi.fn();
    const handler = createHandler(READS.CheckReport, WindowState, run, () => ({}));
    const error = await thrownBy(lambda.call(handler, { ...window, throttled: 'x' }));
    expect([error.name, run.mock.calls]).toEqual(['$ZodError', []]);
    expect(lambda.lines()).toMatchObject([{ level: 'ERROR', message: 'failed unexpectedly' }]);
  });

  it('writes the output of libraries to the log', async () => {
    await lambda.call(
      windowHandler(() => console.warn('a library')),
      window,
    );
    expect(lambda.lines()).toMatchObject([{ level: 'WARN', message: 'a library', ...ABOUT }, {}]);
  });
});

describe('the log line of a successful call', () => {
  it('names execution, account, export, window, report and attempt, and how the step left the window', async () => {
    const reports = [report('r1'), report('r2')];
    const output = { ...window, status: 'ready', wait_seconds: 30, reports, ready_id: 'r2' } as const;
    const state = { ...window, status: 'pending', reports: [report('r1')] };
    await lambda.call(
      windowHandler(() => output),
      state,
      2,
    );
    const ended = { status: 'ready', wait_seconds: 30, report_ids: ['r1', 'r2'], ready_id: 'r2' };
    expect(lambda.lines()).toEqual([{ ...DONE, ...ABOUT, report_id: 'r1', attempt: 3, ...ended }]);
  });

  it.each([
    ['the READY one of several', { ready_id: 'r2', reports: [report('r1'), report('r2')] }, 'r2'],
    ['the only one', { reports: [report('r1')] }, 'r1'],
    ['none of several', { reports: [report('r1'), report('r2')] }, undefined],
    ['none if there is none', { reports: [] }, undefined],
  ])('names of the reports %s', async (_, state, report_id) => {
    await lambda.call(anyHandler(vi.fn()), { ...window, ...state });
    expect(lambda.lines()[0]?.report_id).toBe(report_id);
  });

  it.each<[unknown, unknown, object]>([
    [null, null, {}],
    ['x', 'y', {}],
    [{ request: 'x', execution: 'e' }, {}, { execution: 'e' }],
    [{ execution: 'e' }, { outcome: 'delivered' }, { execution: 'e', status: 'delivered' }],
    [{}, { windows: [] }, {}],
  ])('is also written for the state %j and the output %j', async (state, output, line) => {
    expect(
      await lambda.call(
        anyHandler(() => output),
        state,
      ),
    ).toEqual(output);
    expect(lambda.lines()).toEqual([{ ...DONE, attempt: 1, ...line }]);
  });

  it('has no field of an earlier call', async () => {
    const run = async ({ id }: { id: string }, { log }: Common) => log.keep({ [id]: 'kept' });
    const handler = createHandler(READS.CheckReport, z.object({ id: z.string() }), run, () => ({}));
    await lambda.call(handler, { ...window, id: 'first' });
    await lambda.call(handler, { id: 'second' }, 1);
    const [first, second] = lambda.lines();
    expect(first).toMatchObject({ ...ABOUT, first: 'kept' });
    expect(second).toEqual({ ...DONE, invocation: 'invocation-2', attempt: 2, second: 'kept' });
  });
});

describe('the metrics of a call', () => {
  const retry = (kind: string) => ({
    ...{ namespace: 'AdReportExport', unit: 'Count', name: 'Retries', value: 1 },
    dimensions: { service: 'exports-test', kind },
    properties: { ...ABOUT, attempt: '2' },
  });

  it('show how the output differs from the state', async () => {
    await lambda.call(
      windowHandler((state) => ({ ...state, throttled: 1 })),
      window,
      1,
    );
    expect(lambda.metrics()).toEqual([retry('Throttled')]);
  });

  it('show an error that the state machine retries', async () => {
    await thrownBy(lambda.call(failingHandler(new TokenRefused('401.')), window, 1));
    await thrownBy(lambda.call(failingHandler(new RequestRefused('422.')), window, 1));
    expect(lambda.metrics()).toEqual([retry('TokenRefused')]);
  });

  it('include what the step measures itself', async () => {
    const run = async (_: unknown, { measure }: Common) =>
      measure({ values: { Retries: 1 }, dimensions: { kind: 'UrlExpired' } });
    await lambda.call(
      createHandler(READS.CheckReport, z.unknown(), run, () => ({})),
      window,
      1,
    );
    expect(lambda.metrics()).toEqual([retry('UrlExpired')]);
  });
});
