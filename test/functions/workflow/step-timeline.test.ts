import { beforeEach, describe, expect, it, vi } from 'vitest';
import { RequestRefused, readMessage, TokenRefused } from '../../../functions/workflow/errors.ts';
import type { WindowState } from '../../../functions/workflow/states.ts';
import {
  ABOUT,
  AT,
  ending,
  failing,
  lambdaNow,
  thrownBy,
  window,
  windowStep,
} from '../../support/any-step.ts';
import type { Lambda } from '../../support/lambda.ts';

let lambda: Lambda;
beforeEach(() => {
  lambda = lambdaNow();
});

describe('the timeline of a window that goes on', () => {
  const before = { step: 'CreateReport', outcome: 'pending', from: AT, to: AT, times: 1 };
  const entry = { step: 'CheckReport', from: AT, to: AT, times: 1 };

  it.each<[string, Partial<WindowState>, Partial<WindowState>, object]>([
    ['its status', {}, { status: 'pending' }, { outcome: 'pending' }],
    [
      'that it was throttled',
      { throttled: 2 },
      { throttled: 3, status: 'pending' },
      { outcome: 'throttled' },
    ],
    ['its status where it was throttled before', { throttled: 3 }, { throttled: 0 }, { outcome: 'planned' }],
    ['its status where it still is as it was', { throttled: 3 }, { throttled: 3 }, { outcome: 'planned' }],
    ['that an answer was lost', {}, { lost_answers: 1 }, { outcome: 'AnswerLost' }],
    [
      'its status where one was lost before',
      { lost_answers: 1 },
      { lost_answers: 1 },
      { outcome: 'planned' },
    ],
  ])('says of it %s', async (_, given, came, expected) => {
    const output = await lambda.call(
      windowStep((state) => ({ ...state, ...came })),
      { ...window, ...given },
    );
    expect(output).toEqual({ ...window, ...given, ...came, timeline: [{ ...entry, ...expected }] });
  });

  it('goes on with what there is, and counts the tries', async () => {
    const handler = windowStep((state) => ({ ...state, status: 'pending' }));
    const output = await lambda.call(handler, { ...window, timeline: [before] }, 2);
    expect(output).toMatchObject({ timeline: [before, { ...entry, outcome: 'pending', tries: 3 }] });
  });

  it('has before that what was caught, as a step of another name left it', async () => {
    const refused = new TokenRefused('401.', { request_id: 'req_1' });
    const thrown = await thrownBy(lambda.call(failing(refused), window));
    vi.setSystemTime('2026-11-21T06:01:00Z');
    const handler = windowStep(({ caught, ...state }) => ({ ...state, status: 'pending' }));
    const caught = { Error: thrown.name, Cause: JSON.stringify({ errorMessage: thrown.message }) };
    const output = await lambda.call(handler, { ...window, timeline: [before], caught });
    const later = '2026-11-21T06:01:00Z';
    expect(output).toMatchObject({
      timeline: [
        before,
        { ...entry, outcome: 'TokenRefused', request_id: 'req_1' },
        { ...entry, from: later, to: later, outcome: 'pending' },
      ],
    });
  });

  it('28: names what has killed a function that left no word', async () => {
    const output = await lambda.call(
      windowStep((state) => state),
      { ...window, caught: { Error: 'Sandbox.Timedout', Cause: '{}' } },
    );
    expect(output).toMatchObject({
      timeline: [
        { outcome: 'Sandbox.Timedout', from: AT, to: AT, times: 1 },
        { ...entry, outcome: 'planned' },
      ],
    });
  });

  it.each<[string, unknown]>([
    ['how a window ended', { outcome: 'failed', reports: [] }],
    ['a token’s state', { status: 'pending' }],
    ['nothing', null],
    ['a text', 'status and reports'],
    ['undefined', undefined],
  ])('is not written into %s', async (_, output) => {
    expect(await lambda.call(ending(output), window)).toEqual(output);
  });
});

describe('a step that fails', () => {
  const refused = () =>
    new RequestRefused('The platform answered 422.', { request_id: 'req_1', faults: ['metrics: unknown'] });
  const came = {
    ...{ step: 'CheckReport', outcome: 'RequestRefused', from: AT, to: AT, times: 1 },
    request_id: 'req_1',
  };

  it('throws its error with the facts and what the window went through, and no stack', async () => {
    const thrown = await thrownBy(lambda.call(failing(refused()), window));
    expect(thrown).toBeInstanceOf(RequestRefused);
    expect(thrown.stack).toBe('RequestRefused');
    expect(readMessage(thrown.message)).toEqual({
      happened: 'The platform answered 422.',
      facts: { request_id: 'req_1', faults: ['metrics: unknown'], timeline: [came] },
    });
  });

  it('puts what was caught before into it, and counts the tries', async () => {
    const caught = { Error: 'Lambda.Unknown', Cause: 'x' };
    const thrown = await thrownBy(lambda.call(failing(refused()), { ...window, caught }, 4));
    expect(readMessage(thrown.message).facts.timeline).toEqual([
      { outcome: 'Lambda.Unknown', from: AT, to: AT, times: 1 },
      { ...came, tries: 5 },
    ]);
  });

  it('logs a warning of one line, with the facts, and without what is appended for the machine', async () => {
    await thrownBy(lambda.call(failing(refused()), window, 1));
    expect(lambda.lines()).toEqual([
      {
        ...{ level: 'WARN', message: 'failed', step: 'CheckReport', invocation: 'invocation-1' },
        ...{ ...ABOUT, attempt: 2, error: 'RequestRefused', happened: 'The platform answered 422.' },
        ...{ request_id: 'req_1', faults: ['metrics: unknown'] },
      },
    ]);
  });

  it('throws on what it did not foresee, its name kept, and no signature of a URL in it', async () => {
    const url = 'https://files.example/1?signature=canary';
    const thrown = await thrownBy(lambda.call(failing(new RangeError(`no ${url} here`)), window));
    expect(thrown.name).toBe('RangeError');
    expect(readMessage(thrown.message)).toEqual({
      happened: 'no https://files.example/1?… here',
      facts: { timeline: [{ step: 'CheckReport', outcome: 'RangeError', from: AT, to: AT, times: 1 }] },
    });
    expect(thrown.stack).toMatch(/^RangeError: no https:\/\/files\.example\/1\?… here\n +at /);
    const lines = lambda.lines();
    expect(lines).toEqual([
      {
        ...{ level: 'ERROR', message: 'failed unexpectedly', step: 'CheckReport' },
        ...{ invocation: 'invocation-1', ...ABOUT, attempt: 1, error: 'RangeError' },
        ...{
          happened: 'no https://files.example/1?… here',
          stack: expect.stringContaining('step-timeline.test.ts'),
        },
      },
    ]);
    expect(JSON.stringify([lines, thrown.stack])).not.toContain('canary');
  });

  it('makes an error of what is none, and of one without a stack', async () => {
    const text = await thrownBy(lambda.call(failing('only text'), window));
    expect([text.name, readMessage(text.message).happened]).toEqual(['Error', 'only text']);
    const bare = Object.assign(new Error('bare'), { stack: undefined });
    expect((await thrownBy(lambda.call(failing(bare), window))).stack).toBe('');
  });
});
