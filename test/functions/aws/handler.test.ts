import { inspect } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod/mini';
import { createHandler } from '../../../functions/aws/handler.ts';
import { asServiceError } from '../../../functions/aws/service-error.ts';
import { RequestRefused, readMessage } from '../../../functions/workflow/errors.ts';
import { type PlatformSettings, READS } from '../../../functions/workflow/settings.ts';
import { WindowState } from '../../../functions/workflow/states.ts';
import type { Common } from '../../../functions/workflow/step.ts';
import {
  ABOUT,
  anyHandler,
  failingHandler,
  lambdaNow,
  NOW,
  window,
  windowHandler,
} from '../../support/any-step.ts';
import { type Lambda, SETTINGS } from '../../support/lambda.ts';
import { errorOf } from '../../support/platform.ts';
import { reportRef } from '../../support/steps.ts';

let lambda: Lambda;
beforeEach(() => {
  lambda = lambdaNow();
});

const DONE = { level: 'INFO', message: 'done', step: 'CheckReport', invocation: 'invocation-1' };

describe('a handler', () => {
  it('creates its dependencies on the first call, from the settings and the log, and keeps them', async () => {
    const settingsSeen: PlatformSettings[] = [];
    const runs: (Common & { client: string })[] = [];
    const run = async (_: unknown, dependencies: Common & { client: string }) => runs.push(dependencies);
    const handler = createHandler(READS.CheckReport, z.unknown(), run, (settings, log) => {
      settingsSeen.push(settings);
      log.info('wired');
      return { client: 'a dependency' };
    });
    expect(settingsSeen).toEqual([]);
    await lambda.call(handler, {});
    await lambda.call(handler, {});
    expect(settingsSeen).toMatchObject([{ STEP: SETTINGS.STEP }]);
    expect(lambda.lines().map(({ message }) => message)).toEqual(['wired', 'done', 'done']);
    expect(runs[0]?.client).toBe('a dependency');
    expect(runs[0]?.now()).toEqual(new Date(NOW));
    expect(runs[0]?.millisecondsLeft()).toBe(900_000);
  });

  it('36: fails with the error of the schema, and does not run, if the state does not match it', async () => {
    const run = vi.fn();
    const handler = createHandler(READS.CheckReport, WindowState, run, () => ({}));
    const error = await errorOf(Error, lambda.call(handler, { ...window, throttled: 'x' }));
    expect(error.name).toBe('$ZodError');
    expect(run).not.toHaveBeenCalled();
    expect(lambda.lines()).toMatchObject([{ level: 'ERROR', message: 'failed unexpectedly' }]);
  });
});

it("33: throws an error of AWS without AWS's own error, which may quote the request", async () => {
  const cause = Object.assign(new Error('quotes the secret'), { canonicalRequest: 'quotes the secret' });
  const refused = asServiceError(cause, 'read x', 's3:GetObject');
  const error = await errorOf(Error, lambda.call(failingHandler(refused), window));
  expect(error).toBe(refused);
  expect(inspect(error, { depth: null })).not.toContain('quotes');
  expect(JSON.stringify(lambda.lines())).not.toContain('quotes');
});

describe('the log line of a successful call', () => {
  it('names execution, account, export, window, report and attempt, and how the step left the window', async () => {
    const reports = [reportRef('r1'), reportRef('r2')];
    const output = { ...window, status: 'ready', wait_seconds: 30, reports, ready_id: 'r2' } as const;
    const state = { ...window, status: 'pending', reports: [reportRef('r1')] };
    const handler = windowHandler(() => output);
    await lambda.call(handler, state, 2);
    const ended = { status: 'ready', wait_seconds: 30, report_ids: ['r1', 'r2'], ready_id: 'r2' };
    expect(lambda.lines()).toEqual([{ ...DONE, ...ABOUT, report_id: 'r1', attempt: 3, ...ended }]);
  });

  it.each([
    ['the READY one of several', { ready_id: 'r2', reports: [reportRef('r1'), reportRef('r2')] }, 'r2'],
    ['the only one', { reports: [reportRef('r1')] }, 'r1'],
    ['none of several', { reports: [reportRef('r1'), reportRef('r2')] }, undefined],
  ])('names one report of the window: %s', async (_, state, report_id) => {
    await lambda.call(anyHandler(vi.fn()), { ...window, ...state });
    expect(lambda.lines()[0]?.report_id).toBe(report_id);
  });

  it.each<[unknown, unknown, object]>([
    [null, null, {}],
    [{ request: 'x', execution: 'e' }, {}, { execution: 'e' }],
    [{ execution: 'e' }, { outcome: 'delivered' }, { execution: 'e', status: 'delivered' }],
  ])('is also written for the state %j and the output %j', async (state, output, line) => {
    const handler = anyHandler(() => output);
    expect(await lambda.call(handler, state)).toEqual(output);
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

describe('a step that fails', () => {
  const facts = { request_id: 'req_1', faults: ['metrics: unknown'] };
  const refused = () => new RequestRefused('The platform answered 422.', facts);

  it('throws its error with its facts, without a stack, and logs one warning', async () => {
    const thrown = await errorOf(Error, lambda.call(failingHandler(refused()), window, 1));
    expect(thrown).toBeInstanceOf(RequestRefused);
    expect(thrown.stack).toBe('RequestRefused');
    expect(readMessage(thrown.message)).toEqual({ happened: 'The platform answered 422.', facts });
    expect(lambda.lines()).toEqual([
      {
        ...DONE,
        ...ABOUT,
        ...facts,
        level: 'WARN',
        message: 'failed',
        attempt: 2,
        error: 'RequestRefused',
        happened: 'The platform answered 422.',
      },
    ]);
  });

  it('keeps the name of an unexpected error and removes the query of a URL from it', async () => {
    const unexpected = new RangeError('no https://files.example/1?signature=canary here');
    const thrown = await errorOf(Error, lambda.call(failingHandler(unexpected), window));
    const happened = 'no https://files.example/1?… here';
    expect(thrown).toMatchObject({ name: 'RangeError', message: happened });
    expect(thrown.stack).toMatch(/^RangeError: no https:\/\/files\.example\/1\?… here\n +at /);
    const lines = lambda.lines();
    expect(lines).toMatchObject([
      { level: 'ERROR', message: 'failed unexpectedly', error: 'RangeError', happened },
    ]);
    expect(JSON.stringify([lines, thrown.stack])).not.toContain('canary');
  });
});

describe('a log field', () => {
  async function lineOf(fields: Record<string, unknown>) {
    const run = async (_: unknown, { log }: Common) => log.info('seen', fields);
    const handler = createHandler(READS.CheckReport, z.unknown(), run, () => ({}));
    await lambda.call(handler, {});
    return lambda.lines()[0];
  }

  it('is not written if its name is that of a secret', async () => {
    const names = [
      'access_token',
      'refreshToken',
      'client_secret',
      'apiKey',
      'X-Authorization',
      'password',
      'download_url',
      'code',
    ];
    const hidden = Object.fromEntries(names.map((name) => [name, '…']));
    expect(await lineOf(Object.fromEntries(names.map((name) => [name, 'canary'])))).toMatchObject(hidden);
    const shown = { code: 'UND_ERR_SOCKET', error_code: 'canary', token_version: 'v1', token: 3 };
    expect(await lineOf(shown)).toMatchObject(shown);
  });

  it.each([
    ['GET https://files.example/a.json?X-Sig=canary failed', 'GET https://files.example/a.json?… failed'],
    ['"http://files.example/a?b=canary"', '"http://files.example/a?…"'],
    ['<https://files.example/a?b=canary>', '<https://files.example/a?…>'],
    ['https://a.example/a?b=canary https://b.example/?c', 'https://a.example/a?… https://b.example/?…'],
    ['authorization: Bearer ca.na~ry+/=-_ and more', 'authorization: Bearer … and more'],
    ['basic canary', 'basic …'],
    ['is it? a forbearer of ours', 'is it? a forbearer of ours'],
    ['x'.repeat(10_001), `${'x'.repeat(9_999)}…`],
  ])('is written without its secret, at any depth: %j', async (text, expected) => {
    expect(await lineOf({ deep: [{ happened: text }] })).toMatchObject({ deep: [{ happened: expected }] });
  });
});
