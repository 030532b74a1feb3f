import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AWS_ERRORS,
  createFailureReport,
  runbookLink,
  type Subject,
  trimToCause,
  trimToState,
} from '../../../functions/decisions/failure-report.ts';
import { errors, RequestRefused } from '../../../functions/workflow/errors.ts';
import type { TimelineEntry } from '../../../functions/workflow/state-parts.ts';
import type { FailureReport } from '../../../functions/workflow/states.ts';
import { caughtFrom } from '../../support/failures.ts';

const AT = '2026-11-21T06:00:00Z';
const subject: Subject = { execution: 'e', now: new Date('2026-11-21T06:00:00.500Z') };

function entry(step: string, fields: Partial<TimelineEntry> = {}): TimelineEntry {
  return { step, outcome: 'pending', from: AT, to: AT, times: 1, ...fields };
}

function byteLength(report: FailureReport): number {
  return Buffer.byteLength(JSON.stringify(report));
}

describe('createFailureReport', () => {
  it('has only the fields that are known', () => {
    expect(createFailureReport({ Error: 'States.Timeout' }, subject)).toStrictEqual({
      ...{ version: '1', error: 'StepFunctions.Timeout', aws_error: 'States.Timeout' },
      ...{ happened: 'Nothing more is known.', execution: 'e' },
      todo: "Read the execution's history and the function's log, then run the export again.",
      ...{ runbook: 'infra/RUNBOOK.md#stepfunctionstimeout', report_ids: [], request_ids: [] },
      timeline: [{ outcome: 'States.Timeout', from: AT, to: AT, times: 1 }],
    });
  });

  it.each(AWS_ERRORS)('reports no name that AWS reserves, and keeps the original: %s', (name) => {
    const report = createFailureReport({ Error: name }, subject);
    expect(report.error).not.toMatch(/^States\./);
    expect(report.aws_error ?? report.error).toBe(name);
    expect(report.runbook).not.toContain('othererror');
  });

  it('reports no reserved name of an error that the runbook does not know', () => {
    expect(createFailureReport({ Error: 'States.Permissions' }, subject)).toMatchObject({
      ...{ error: 'StepFunctions.Permissions', aws_error: 'States.Permissions' },
      runbook: 'infra/RUNBOOK.md#othererror',
    });
  });

  it('has everything that is known', () => {
    const facts = { request_id: 'req_2', faults: ['metrics: unknown'], status: 422 };
    const caught = caughtFrom(new RequestRefused('The platform answered 422.', facts));
    const window = { start_date: '2026-10-01', end_date: '2026-10-08' };
    const known = { account: 'acme', export: 'daily', window, report_ids: ['r1', 'r2'] };
    const timeline = [entry('CreateReport', { request_id: 'req_1' })];
    const runbookUrl = 'https://wiki.example/runbook';
    expect(createFailureReport(caught, { ...subject, ...known, timeline, runbookUrl })).toStrictEqual({
      ...{ version: '1', error: 'RequestRefused', happened: 'The platform answered 422.', execution: 'e' },
      todo: 'Correct what the message names, then run the export again.',
      runbook: 'https://wiki.example/runbook#requestrefused',
      ...{ ...known, request_ids: ['req_2', 'req_1'], faults: ['metrics: unknown'] },
      timeline: [...timeline, { outcome: 'RequestRefused', from: AT, to: AT, times: 1 }],
    });
  });

  it.each([
    [{ request_id: 'b' }, ['b', 'a']],
    [{}, ['a', 'b']],
    [{ request_id: ['b'] }, ['a', 'b']],
  ])('names each request once, the last one first: facts %j', (facts, request_ids) => {
    const ids = [{ request_id: 'a' }, { request_id: 'b' }, { request_id: 'b' }, {}];
    const timeline = ids.map((id, index) => entry(`s${index}`, id));
    const caught = caughtFrom(new RequestRefused('x', facts));
    expect(createFailureReport(caught, { ...subject, timeline }).request_ids).toEqual(request_ids);
  });

  it.each([
    ['ReportStuck', 'Give the platform the report ids', 'reportstuck'],
    ['Sandbox.Timedout', "Read the execution's history", 'sandboxtimedout'],
    ['Lambda.TooManyRequestsException', "Read the execution's history", 'lambdatoomanyrequestsexception'],
    ['SomethingNew', "Read the execution's history", 'othererror'],
    ['constructor', "Read the execution's history", 'othererror'],
  ])('says what to do after %s, and links to its section of the runbook', (name, todo, section) => {
    const report = createFailureReport({ Error: name }, subject);
    expect(report.todo).toContain(todo);
    expect(report.runbook).toBe(`infra/RUNBOOK.md#${section}`);
  });

  it('says something different after each error, except for errors that only need another run', () => {
    const todos = Object.keys(errors).map((name) => createFailureReport({ Error: name }, subject).todo);
    expect(todos.filter((todo, index) => todos.indexOf(todo) !== index)).toEqual(['Run the export again.']);
    for (const todo of todos) expect(todo).toMatch(/^[A-Z].{15,}\.$/);
  });

  it('links to a heading that contains spaces and other characters', () => {
    expect(runbookLink('Windows take_too-long (P4)!')).toBe('infra/RUNBOOK.md#windowstake_too-longp4');
  });

  it.each([
    ['', 'Nothing more is known.'],
    ['{"errorMessage":""}', 'Nothing more is known.'],
    ['The task timed out.', 'The task timed out.'],
    ['{"errorMessage":"The plat', '{"errorMessage":"The plat'],
    ['{"errorMessage":7}', '{"errorMessage":7}'],
    ['null', 'null'],
    ['{"errorMessage":"Once.\\n{\\"a\\":"}', 'Once.\n{"a":'],
    ['{"errorMessage":"Once.\\n{\\"faults\\":7}"}', 'Once.'],
    ['{"errorMessage":"Once.\\n{\\"faults\\":[]}"}', 'Once.'],
  ])('reads what happened from the Cause %j', (Cause, happened) => {
    const report = createFailureReport({ Error: 'X', Cause }, subject);
    expect(report).toMatchObject({ happened, request_ids: [] });
    expect(report).not.toHaveProperty('faults');
  });

  it.each([
    [256, 'x'.repeat(256)],
    [257, `${'x'.repeat(255)}…`],
  ])('cuts the name of an error to 256 characters: %i', (length, error) => {
    expect(createFailureReport({ Error: 'x'.repeat(length) }, subject).error).toBe(error);
  });

  it('keeps the timeline to twenty entries, the failure last', () => {
    const timeline = Array.from({ length: 20 }, (_, index) => entry(`s${index}`));
    const report = createFailureReport({ Error: 'X' }, { ...subject, timeline });
    expect(report.timeline).toHaveLength(20);
    expect(report.timeline[0]).toEqual(entry('s0'));
    expect(report.timeline.at(-1)).toEqual({ outcome: 'X', from: AT, to: AT, times: 1 });
  });
});

describe('a failure report that is too long', () => {
  const report: FailureReport = {
    ...{ version: '1', error: 'X', happened: 'short', todo: 'y', runbook: 'z', execution: 'e' },
    ...{ report_ids: ['r1'], request_ids: ['q1'], timeline: [entry('s')] },
  };

  it.each([
    ['a state', trimToState, 2_000],
    ['a Cause', trimToCause, 32_768],
  ])('is trimmed for %s if it has a byte too many', (_, trim, bytes) => {
    const todo = 'y'.repeat(1 + bytes - byteLength(report));
    const fitting = { ...report, todo };
    expect([byteLength(fitting), trim(fitting)]).toEqual([bytes, fitting]);
    expect(trim({ ...fitting, todo: `${todo}y` })).not.toEqual({ ...fitting, todo: `${todo}y` });
  });

  /** Trims `before` until exactly `after` fits into a state. */
  function expectTrimmed(before: Partial<FailureReport>, after: Partial<FailureReport>) {
    const room = 2_000 - byteLength({ ...report, ...after });
    expect(trimToState({ ...report, ...before, todo: 'y'.repeat(1 + room) })).toMatchObject(after);
  }

  const text = (character: string, length: number) => character.repeat(length);
  const cut = (character: string, length: number) => `${character.repeat(length - 1)}…`;
  const long = Array.from({ length: 8 }, (_, index) => entry(`s${index}`));
  const timeline = long.slice(0, 5);
  const leftOut = { outcome: 'left out', from: AT, to: AT, times: 4 };
  const shortened = [...long.slice(0, 2), leftOut, ...long.slice(6)];
  const three = ['f1', 'f2', 'f3'];
  const windows = ['w1', 'w2', 'w3'].map((execution) => ({ ...report, execution }));
  const whole = { timeline: long, faults: three, failed_windows: windows };
  const happened = text('h', 300);
  const texts = (one: string): Partial<FailureReport> => ({
    ...{ error: one, happened: one, faults: [one], request_ids: [one], report_ids: [] },
    timeline: [entry('s', { outcome: one, request_id: one })],
  });

  it.each<[string, Partial<FailureReport>, Partial<FailureReport>]>([
    ['the last windows', whole, { ...whole, failed_windows: windows.slice(0, 1) }],
    ['then all windows', whole, { ...whole, failed_windows: [] }],
    [
      'then the middle of the timeline',
      { timeline: long, faults: three },
      { timeline: shortened, faults: three },
    ],
    [
      'then the last faults, but no more of the timeline',
      { timeline: long, faults: three },
      { timeline: shortened, faults: ['f1'] },
    ],
    [
      'then faults one by one',
      { timeline, happened, faults: [text('f', 300), 'f2', 'f3'] },
      { timeline, happened, faults: [text('f', 300), 'f2'] },
    ],
    [
      'then all but 200 characters of the first fault',
      { timeline, happened, faults: [text('f', 300), 'f2'] },
      { timeline, happened, faults: [cut('f', 200)] },
    ],
    [
      'then half of the sentence',
      { timeline, happened, faults: [text('f', 200)] },
      { timeline, happened: cut('h', 150), faults: [text('f', 200)] },
    ],
    [
      'then half of it again',
      { timeline, happened: text('h', 1_000) },
      { timeline, happened: cut('h', 250) },
    ],
    [
      'then report ids, but no sentence of 200 characters',
      { timeline, happened: text('h', 200), report_ids: ['r1'] },
      { timeline, happened: text('h', 200), report_ids: [] },
    ],
    [
      'then report ids from the last one on',
      { timeline, report_ids: ['r1', 'r2', 'r3'] },
      { timeline, report_ids: ['r1'] },
    ],
    ['then the beginning of the timeline', { timeline }, { report_ids: [], timeline: timeline.slice(-1) }],
    [
      'then all request ids but the first, and all but 200 characters of each text',
      { error: text('x', 300), request_ids: [text('q', 300), 'q2'] },
      { error: cut('x', 200), request_ids: [cut('q', 200)], report_ids: [] },
    ],
    ['then half of each text', texts(text('✓', 300)), texts(cut('✓', 50))],
  ])('leaves out %s', (_, before, after) => {
    expectTrimmed(before, after);
  });

  it('keeps 25 characters of each text even if that does not fit', () => {
    const runbook = `https://wiki.example/${text('x', 2_000)}`;
    const trimmed = trimToState({ ...report, runbook, error: text('e', 300), happened });
    expect(trimmed).toMatchObject({ runbook, error: cut('e', 25), happened: cut('h', 25) });
  });

  it('fits for any texts of the platform and of AWS', () => {
    const unit = fc.constantFrom('x', '"', '\\', 'é', '✓', '😀', '\n', '\u0001');
    const anyText = (most: number) =>
      fc
        .tuple(unit, fc.constantFrom(0, 10, most))
        .map(([one, length]) => one.repeat(length).slice(0, length));
    const caught = fc
      .record({
        ...{
          prefix: fc.constantFrom('', 'States.'),
          name: anyText(300),
          sentence: anyText(6_000),
          request_id: anyText(500),
        },
        faults: fc.array(anyText(1_000), { maxLength: 20 }),
      })
      .map(({ prefix, name, sentence, ...facts }) => ({
        ...caughtFrom(new RequestRefused(sentence, facts)),
        Error: prefix + name,
      }));
    const anyEntry = fc.record({ step: anyText(20), outcome: anyText(200), request_id: anyText(200) });
    const entries = fc.array(
      anyEntry.map((fields) => entry('', fields)),
      { maxLength: 20 },
    );
    const ids = fc.array(anyText(256), { maxLength: 3 });
    const names = { account: text('a', 64), export: text('e', 64), execution: text('e', 80) };
    fc.assert(
      fc.property(caught, entries, ids, (error, timeline, report_ids) => {
        const made = createFailureReport(error, { ...subject, ...names, timeline, report_ids });
        expect(byteLength(made)).toBeLessThanOrEqual(32_768);
        const adoptable_report = { id: 'r'.repeat(64), created_at: AT };
        for (const report of [made, { ...made, adoptable_report }])
          expect(byteLength(trimToState(report))).toBeLessThanOrEqual(2_000);
      }),
    );
  });
});
