import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod/mini';
import { RequestRefused, TokenRefused } from '../../../functions/workflow/errors.ts';
import type { Settings } from '../../../functions/workflow/settings.ts';
import { WindowState } from '../../../functions/workflow/states.ts';
import { type Common, step } from '../../../functions/workflow/step.ts';
import {
  ABOUT,
  ending,
  failing,
  lambdaNow,
  NOW,
  thrownBy,
  window,
  windowStep,
} from '../../support/any-step.ts';
import { type Lambda, SETTINGS } from '../../support/lambda.ts';

let lambda: Lambda;
beforeEach(() => {
  lambda = lambdaNow();
});

function report(id: string) {
  return { id, created_at: '2026-11-21T05:00:00.000Z', useless_answers: 0, given_up: false };
}

describe('a handler', () => {
  it('touches neither its environment nor what it is wired to before it is called', () => {
    vi.unstubAllEnvs();
    const wire = vi.fn();
    step(z.unknown(), async () => 1, wire);
    expect(wire).not.toHaveBeenCalled();
  });

  it('names the setting that is missing', async () => {
    vi.stubEnv('BUCKET', undefined);
    const error = await thrownBy(lambda.call(ending(1), {}));
    expect(JSON.parse(error.message)).toMatchObject([{ path: ['BUCKET'] }]);
  });

  it('is wired on its first call with the settings and the log, and kept', async () => {
    const wired: Settings[] = [];
    const own = { mark: 'its own' };
    const given: (Common & typeof own)[] = [];
    const run = async (_: unknown, dependencies: Common & typeof own) => given.push(dependencies);
    const handler = step(z.unknown(), run, (settings, log) => {
      wired.push(settings);
      log.info('wired');
      return own;
    });
    await lambda.call(handler, {});
    await lambda.call(handler, {});
    expect(wired).toEqual([SETTINGS]);
    expect(lambda.lines().map(({ message }) => message)).toEqual(['wired', 'done', 'done']);
    expect(given[0]).toMatchObject({ mark: 'its own', log: { info: expect.any(Function) } });
    expect(given[0]?.now()).toEqual(new Date(NOW));
    expect(given[0]?.millisecondsLeft()).toBe(900_000);
  });

  it('gives the step what its schema leaves of the state, and gives on what the step returns', async () => {
    const schema = z.object({ known: z.number() });
    const seen: unknown[] = [];
    const handler = step(
      schema,
      async (input) => {
        seen.push(input);
        return { a: [input.known] };
      },
      () => ({}),
    );
    expect(await lambda.call(handler, { known: 7, other: 'x' })).toEqual({ a: [7] });
    expect(seen).toEqual([{ known: 7 }]);
  });

  it.each<[string, unknown]>([
    ['no retry_count', { state: {} }],
    ['a state alone', {}],
    ['nothing', null],
  ])('refuses an event that has %s', async (_, event) => {
    const context = { functionName: 'f', awsRequestId: 'i', getRemainingTimeInMillis: () => 1 };
    const run = vi.fn();
    await expect(step(z.unknown(), run, () => ({}))(event, context)).rejects.toThrow();
    expect(run).not.toHaveBeenCalled();
  });

  it('36: fails by the schema’s error, and does not run, where the state is another', async () => {
    const run = vi.fn();
    const handler = step(WindowState, run, () => ({}));
    const error = await thrownBy(lambda.call(handler, { ...window, throttled: 'x' }));
    expect([error.name, run.mock.calls]).toEqual(['$ZodError', []]);
    expect(lambda.lines()).toMatchObject([{ level: 'ERROR', message: 'failed unexpectedly' }]);
  });

  it('makes lines of the log of what else writes', async () => {
    const handler = windowStep(() => console.warn('a library'));
    await lambda.call(handler, window);
    expect(lambda.lines()).toMatchObject([{ level: 'WARN', message: 'a library', ...ABOUT }, {}]);
  });
});

describe('the line of a step that is done', () => {
  it('names execution, account, export, window, report and attempt, and says what it came to', async () => {
    const reports = [report('r1'), report('r2')];
    const ended = { ...window, status: 'ready', wait_seconds: 30, reports, ready_id: 'r2' } as const;
    await lambda.call(
      windowStep(() => ended),
      { ...window, status: 'pending', reports: [report('r1')] },
      2,
    );
    expect(lambda.lines()).toEqual([
      {
        level: 'INFO',
        message: 'done',
        step: 'CheckReport',
        invocation: 'invocation-1',
        ...ABOUT,
        report_id: 'r1',
        attempt: 3,
        status: 'ready',
        wait_seconds: 30,
        report_ids: ['r1', 'r2'],
        ready_id: 'r2',
      },
    ]);
  });

  it.each([
    ['the one to be saved, of several', { ready_id: 'r2', reports: [report('r1'), report('r2')] }, 'r2'],
    ['the only one', { reports: [report('r1')] }, 'r1'],
    ['none of several', { reports: [report('r1'), report('r2')] }, undefined],
    ['none where there is none', { reports: [] }, undefined],
  ])('names of the reports %s', async (_, state, report_id) => {
    await lambda.call(ending(1), { ...window, ...state });
    expect(lambda.lines()[0]?.report_id).toBe(report_id);
  });

  it.each<[string, unknown, unknown, object]>([
    ['of a state that is none', null, null, {}],
    ['of a text', 'x', 'y', {}],
    ['of a refused input', { request: 'x', execution: 'e' }, {}, { execution: 'e' }],
    ['of an outcome', { execution: 'e' }, { outcome: 'delivered' }, { execution: 'e', status: 'delivered' }],
    ['of a plan', {}, { windows: [] }, {}],
  ])('is written as well %s', async (_, state, output, line) => {
    expect(await lambda.call(ending(output), state)).toEqual(output);
    const always = { level: 'INFO', message: 'done', step: 'CheckReport', invocation: 'invocation-1' };
    expect(lambda.lines()).toEqual([{ ...always, attempt: 1, ...line }]);
  });

  it('has nothing left of an earlier call', async () => {
    const handler = step(
      z.object({ id: z.string() }),
      async ({ id }, { log }: Common) => log.keep({ [id]: 'kept' }),
      () => ({}),
    );
    await lambda.call(handler, { ...window, id: 'first' });
    await lambda.call(handler, { id: 'second' }, 1);
    const [first, second] = lambda.lines();
    expect(first).toMatchObject({ ...ABOUT, first: 'kept' });
    expect(second).toEqual({
      ...{ level: 'INFO', message: 'done', step: 'CheckReport', invocation: 'invocation-2' },
      ...{ attempt: 2, second: 'kept' },
    });
  });
});

describe('the metrics of a step', () => {
  const own = { namespace: 'AdReportExport', unit: 'Count' };
  const about = { ...ABOUT, attempt: '2' };

  it('are written of what it came to', async () => {
    await lambda.call(
      windowStep((state) => ({ ...state, throttled: 1 })),
      window,
      1,
    );
    expect(lambda.metrics()).toEqual([
      {
        ...{ ...own, name: 'Retries', value: 1 },
        dimensions: { service: 'exports-test', kind: 'Throttled' },
        properties: about,
      },
    ]);
  });

  it('are written of what it throws, where that is tried again', async () => {
    await thrownBy(lambda.call(failing(new TokenRefused('401.')), window, 1));
    await thrownBy(lambda.call(failing(new RequestRefused('422.')), window, 1));
    expect(lambda.metrics()).toEqual([
      {
        ...{ ...own, name: 'Retries', value: 1 },
        dimensions: { service: 'exports-test', kind: 'TokenRefused' },
        properties: about,
      },
    ]);
  });
});
