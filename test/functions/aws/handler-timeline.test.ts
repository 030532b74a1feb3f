import { beforeEach, describe, expect, it, vi } from 'vitest';
import { RequestRefused, readMessage, TokenRefused } from '../../../functions/workflow/errors.ts';
import type { WindowState } from '../../../functions/workflow/states.ts';
import {
  ABOUT,
  AT,
  anyHandler,
  failingHandler,
  lambdaNow,
  thrownBy,
  window,
  windowHandler,
} from '../../support/any-step.ts';
import type { Lambda } from '../../support/lambda.ts';

let lambda: Lambda;
beforeEach(() => {
  lambda = lambdaNow();
});

const earlier = { step: 'CreateReport', outcome: 'pending', from: AT, to: AT, times: 1 };
const own = { step: 'CheckReport', from: AT, to: AT, times: 1 };

describe('the timeline of a window that continues', () => {
  it.each<[string, Partial<WindowState>, Partial<WindowState>]>([
    ['pending', {}, { status: 'pending' }],
    ['throttled', { throttled: 2 }, { throttled: 3, status: 'pending' }],
    ['planned', { throttled: 3 }, { throttled: 0 }],
    ['planned', { throttled: 3 }, { throttled: 3 }],
    ['AnswerLost', {}, { lost_answers: 1 }],
    ['planned', { lost_answers: 1 }, { lost_answers: 1 }],
    ['redriven', { redrive_count: 1 }, { redrive_count: 2 }],
  ])('gets the outcome %s if the state %j gets %j', async (outcome, before, changes) => {
    const handler = windowHandler((state) => ({ ...state, ...changes }));
    const output = await lambda.call(handler, { ...window, ...before });
    expect(output).toEqual({ ...window, ...before, ...changes, timeline: [{ ...own, outcome }] });
  });

  it('keeps earlier entries and counts the tries', async () => {
    const handler = windowHandler((state) => ({ ...state, status: 'pending' }));
    const output = await lambda.call(handler, { ...window, timeline: [earlier] }, 2);
    expect(output).toMatchObject({ timeline: [earlier, { ...own, outcome: 'pending', tries: 3 }] });
  });

  it('leaves a caught error that the state keeps to the next step', async () => {
    const caught = { Error: 'UrlExpired' };
    const handler = windowHandler((state) => ({ ...state, redrive_count: 1 }));
    const output = await lambda.call(handler, { ...window, caught });
    expect(output).toMatchObject({ caught, timeline: [{ ...own, outcome: 'redriven' }] });
  });

  it('includes the entries of a caught error', async () => {
    const refused = new TokenRefused('401.', { request_id: 'req_1' });
    const thrown = await thrownBy(lambda.call(failingHandler(refused), window));
    vi.setSystemTime('2026-11-21T06:01:00Z');
    const handler = windowHandler(({ caught, ...state }) => ({ ...state, status: 'pending' }));
    const caught = { Error: thrown.name, Cause: JSON.stringify({ errorMessage: thrown.message }) };
    const output = await lambda.call(handler, { ...window, timeline: [earlier], caught });
    const minuteLater = { from: '2026-11-21T06:01:00Z', to: '2026-11-21T06:01:00Z' };
    expect(output).toMatchObject({
      timeline: [
        earlier,
        { ...own, outcome: 'TokenRefused', request_id: 'req_1' },
        { ...own, ...minuteLater, outcome: 'pending' },
      ],
    });
  });

  it('28: names the error that killed a function', async () => {
    const killed = { ...window, caught: { Error: 'Sandbox.Timedout', Cause: '{}' } };
    const output = await lambda.call(
      windowHandler(({ caught, ...state }) => state),
      killed,
    );
    expect(output).toMatchObject({
      timeline: [
        { outcome: 'Sandbox.Timedout', from: AT, to: AT, times: 1 },
        { ...own, outcome: 'planned' },
      ],
    });
  });

  it.each<[unknown]>([
    [{ outcome: 'failed', reports: [] }],
    [{ status: 'pending' }],
    [null],
    ['status and reports'],
    [undefined],
  ])('is not added to the output %j', async (output) => {
    expect(
      await lambda.call(
        anyHandler(() => output),
        window,
      ),
    ).toEqual(output);
  });
});

describe('a step that fails', () => {
  const faults = ['metrics: unknown'];
  const refused = () => new RequestRefused('The platform answered 422.', { request_id: 'req_1', faults });
  const entry = { ...own, outcome: 'RequestRefused', request_id: 'req_1' };

  it('throws its error with its facts and the timeline, without a stack', async () => {
    const thrown = await thrownBy(lambda.call(failingHandler(refused()), window));
    expect(thrown).toBeInstanceOf(RequestRefused);
    expect(thrown.stack).toBe('RequestRefused');
    expect(readMessage(thrown.message)).toEqual({
      happened: 'The platform answered 422.',
      facts: { request_id: 'req_1', faults, timeline: [entry] },
    });
  });

  it('adds the entries of a caught error and counts the tries', async () => {
    const caught = { Error: 'Lambda.Unknown', Cause: 'x' };
    const thrown = await thrownBy(lambda.call(failingHandler(refused()), { ...window, caught }, 4));
    expect(readMessage(thrown.message).facts.timeline).toEqual([
      { outcome: 'Lambda.Unknown', from: AT, to: AT, times: 1 },
      { ...entry, tries: 5 },
    ]);
  });

  it('logs one warning with its facts, without the timeline', async () => {
    await thrownBy(lambda.call(failingHandler(refused()), window, 1));
    expect(lambda.lines()).toEqual([
      {
        ...{ level: 'WARN', message: 'failed', step: 'CheckReport', invocation: 'invocation-1' },
        ...{ ...ABOUT, attempt: 2, error: 'RequestRefused', happened: 'The platform answered 422.' },
        ...{ request_id: 'req_1', faults },
      },
    ]);
  });

  it('keeps the name of an unexpected error and removes the query of a URL from it', async () => {
    const unexpected = new RangeError('no https://files.example/1?signature=canary here');
    const thrown = await thrownBy(lambda.call(failingHandler(unexpected), window));
    const happened = 'no https://files.example/1?… here';
    expect(thrown.name).toBe('RangeError');
    expect(readMessage(thrown.message)).toEqual({
      happened,
      facts: { timeline: [{ ...own, outcome: 'RangeError' }] },
    });
    expect(thrown.stack).toMatch(/^RangeError: no https:\/\/files\.example\/1\?… here\n +at /);
    const lines = lambda.lines();
    expect(lines).toEqual([
      {
        ...{ level: 'ERROR', message: 'failed unexpectedly', step: 'CheckReport' },
        ...{ invocation: 'invocation-1', ...ABOUT, attempt: 1, error: 'RangeError' },
        ...{ happened, stack: expect.stringContaining('handler-timeline.test.ts') },
      },
    ]);
    expect(JSON.stringify([lines, thrown.stack])).not.toContain('canary');
  });

  it('makes an error from a thrown text and from an error without a stack', async () => {
    const text = await thrownBy(lambda.call(failingHandler('only text'), window));
    expect([text.name, readMessage(text.message).happened]).toEqual(['Error', 'only text']);
    const bare = Object.assign(new Error('bare'), { stack: undefined });
    expect((await thrownBy(lambda.call(failingHandler(bare), window))).stack).toBe('');
  });
});
