import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createFailureReport,
  runbookLink,
  type Subject,
  trimToCause,
  trimToState,
} from '../../../functions/decisions/failure-report.ts';
import { errors, RequestRefused } from '../../../functions/workflow/errors.ts';
import type { Caught, FailureReport, TimelineEntry } from '../../../functions/workflow/states.ts';

const NOW = new Date('2026-11-21T06:00:00.500Z');
const AT = '2026-11-21T06:00:00Z';
const about: Subject = { execution: 'e', now: NOW };

/** What Step Functions is told of an error that a handler threw. */
function caughtFrom({ name, message }: Error): Caught {
  return { Error: name, Cause: JSON.stringify({ errorType: name, errorMessage: message, trace: [] }) };
}

function entry(step: string, fields: Partial<TimelineEntry> = {}): TimelineEntry {
  return { step, outcome: 'pending', from: AT, to: AT, times: 1, ...fields };
}

function bytesOf(card: FailureReport): number {
  return Buffer.byteLength(JSON.stringify(card));
}

describe('the card of a failure', () => {
  it('has nothing but what is known', () => {
    expect(createFailureReport({ Error: 'States.Timeout' }, about)).toStrictEqual({
      version: '1',
      error: 'States.Timeout',
      happened: 'Nothing more is known.',
      todo: "Read the execution's history and the function's log, then run the export again.",
      runbook: 'infra/RUNBOOK.md#statestimeout',
      execution: 'e',
      report_ids: [],
      request_ids: [],
      timeline: [{ outcome: 'States.Timeout', from: AT, to: AT, times: 1 }],
    });
  });

  it('has all that is known', () => {
    const window = { start_date: '2026-10-01', end_date: '2026-10-08' };
    const facts = { request_id: 'req_2', faults: ['metrics: unknown'], status: 422 };
    const caught = caughtFrom(new RequestRefused('The platform answered 422.', facts));
    const timeline = [entry('CreateReport', { request_id: 'req_1' })];
    const names = { account: 'acme', export: 'daily', window, report_ids: ['r1', 'r2'] };
    const runbookUrl = 'https://wiki.example/runbook';
    expect(createFailureReport(caught, { ...about, ...names, timeline, runbookUrl })).toStrictEqual({
      version: '1',
      error: 'RequestRefused',
      happened: 'The platform answered 422.',
      todo: 'Correct what the platform names, then run the export again.',
      runbook: 'https://wiki.example/runbook#requestrefused',
      execution: 'e',
      ...names,
      request_ids: ['req_2', 'req_1'],
      faults: ['metrics: unknown'],
      timeline: [...timeline, { outcome: 'RequestRefused', from: AT, to: AT, times: 1 }],
    });
  });

  it('names each request once: first that of the failure, then those that had led to it', () => {
    const timeline = ['a', 'b', 'b', undefined].map((id, at) =>
      entry(`s${at}`, id === undefined ? {} : { request_id: id }),
    );
    const of = (facts: object) =>
      createFailureReport(caughtFrom(new RequestRefused('x', { ...facts })), { ...about, timeline })
        .request_ids;
    expect(of({ request_id: 'b' })).toEqual(['b', 'a']);
    expect(of({})).toEqual(['a', 'b']);
    expect(of({ request_id: 7 })).toEqual(['a', 'b']);
  });

  it.each([
    ['its own sentence of an error of ours', 'ReportStuck', 'Give the platform the report ids'],
    ['the same of whatever is not ours', 'Lambda.Unknown', "Read the execution's history"],
    ['the same of a name that only an object has', 'constructor', "Read the execution's history"],
  ])('says what to do next: %s', (_, name, todo) => {
    expect(createFailureReport({ Error: name }, about).todo).toContain(todo);
  });

  it('says something else to do for each error of ours but those that differ in nothing', () => {
    const todos = Object.keys(errors).map((name) => createFailureReport({ Error: name }, about).todo);
    expect(todos.filter((todo, at) => todos.indexOf(todo) !== at)).toEqual(['Run the export again.']);
    for (const todo of todos) expect(todo).toMatch(/^[A-Z].{15,}\.$/);
  });

  it.each([
    ['RequestRefused', 'requestrefused'],
    ['Sandbox.Timedout', 'sandboxtimedout'],
    ['Lambda.TooManyRequestsException', 'lambdatoomanyrequestsexception'],
    ['SomethingNew', 'othererror'],
    ['toString', 'othererror'],
  ])('leads from %s to the section #%s', (name, section) => {
    expect(createFailureReport({ Error: name }, about).runbook).toBe(`infra/RUNBOOK.md#${section}`);
  });

  it('has a section’s address of a heading in words as well', () => {
    expect(runbookLink('Windows take_too-long (P4)!')).toBe('infra/RUNBOOK.md#windowstake_too-longp4');
  });

  it.each([
    ['empty', '', 'Nothing more is known.'],
    ['empty within Lambda’s document', '{"errorMessage":""}', 'Nothing more is known.'],
    ['plain text', 'The task timed out.', 'The task timed out.'],
    ['a document that was cut', '{"errorMessage":"The plat', '{"errorMessage":"The plat'],
    ['a document of another form', '{"errorMessage":7}', '{"errorMessage":7}'],
    ['null', 'null', 'null'],
    ['a message with facts that were cut', '{"errorMessage":"Once.\\n{\\"a\\":"}', 'Once.\n{"a":'],
    ['a message with an odd fact', '{"errorMessage":"Once.\\n{\\"faults\\":7}"}', 'Once.'],
  ])('says what happened where its Cause is %s', (_, Cause, happened) => {
    const card = createFailureReport({ Error: 'X', Cause }, about);
    expect(card).toMatchObject({ happened, request_ids: [] });
    expect(card).not.toHaveProperty('faults');
  });

  it('has no faults where there are none', () => {
    const card = createFailureReport(caughtFrom(new RequestRefused('x', { faults: [] })), about);
    expect(card).not.toHaveProperty('faults');
  });

  it.each([
    [256, 'x'.repeat(256)],
    [257, `${'x'.repeat(255)}…`],
  ])('has an error that fits into that of an execution: %i characters', (characters, error) => {
    expect(createFailureReport({ Error: 'x'.repeat(characters) }, about).error).toBe(error);
  });

  it('has in its timeline first what went before, and at most twenty entries', () => {
    const timeline = Array.from({ length: 20 }, (_, at) => entry(`s${at}`));
    const card = createFailureReport({ Error: 'X' }, { ...about, timeline });
    expect(card.timeline).toHaveLength(20);
    expect([card.timeline[0], card.timeline.at(-1)]).toEqual([
      entry('s0'),
      { outcome: 'X', from: AT, to: AT, times: 1 },
    ]);
  });
});

describe('a card that is too large', () => {
  const card: FailureReport = {
    ...{ version: '1', error: 'X', happened: 'short', todo: 'y', runbook: 'z', execution: 'e' },
    ...{ report_ids: ['r1'], request_ids: ['q1'], timeline: [entry('s')] },
  };
  const filled = (bytes: number): FailureReport => ({ ...card, todo: 'y'.repeat(1 + bytes - bytesOf(card)) });

  it.each([
    ['a state', trimToState, 2_000],
    ['a Cause', trimToCause, 32_768],
  ])('for %s is one of a byte more than there is room for', (_, trim, room) => {
    expect([bytesOf(filled(room)), trim(filled(room))]).toEqual([room, filled(room)]);
    expect(trim(filled(room + 1))).not.toEqual(filled(room + 1));
  });

  /** As large as there is room for in a state, and as much more as what is given up first has. */
  function trimmed(extra: Partial<FailureReport>, kept: Partial<FailureReport> = {}): FailureReport {
    const room = 2_000 - bytesOf({ ...card, ...kept });
    return trimToState({ ...card, ...extra, todo: 'y'.repeat(1 + room) });
  }

  const many = { timeline: Array.from({ length: 8 }, (_, at) => entry(`s${at}`)) };
  const short = { timeline: many.timeline.slice(0, 5) };
  const faults = { faults: ['f1', 'f2', 'f3'] };

  it('gives up windows first, from the last one on', () => {
    const one = { ...card, execution: 'w1' };
    const failed_windows = ['w1', 'w2', 'w3'].map((execution) => ({ ...card, execution }));
    const kept = { ...many, ...faults, failed_windows: [one] };
    expect(trimmed({ ...many, ...faults, failed_windows }, kept)).toMatchObject(kept);
    const none = { ...many, ...faults, failed_windows: [] };
    expect(trimmed({ ...many, ...faults, failed_windows }, none)).toMatchObject(none);
  });

  it('then the middle of the timeline, down to five entries', () => {
    const left = { outcome: 'left out', from: AT, to: AT, times: 4 };
    const [first, second] = many.timeline;
    const timeline = [first, second, left, ...many.timeline.slice(6)] as TimelineEntry[];
    expect(trimmed({ ...many, ...faults }, { timeline, ...faults })).toMatchObject({ timeline, ...faults });
    const fewer = trimmed({ ...many, ...faults }, { timeline, faults: ['f1'] });
    expect(fewer).toMatchObject({ timeline, faults: ['f1'] });
  });

  it('then faults from the last one on, and then all but 200 characters of the first', () => {
    const happened = 'h'.repeat(300);
    const long = { ...short, happened, faults: ['f'.repeat(300), 'f2', 'f3'] };
    for (const left of [2, 1]) {
      const fewer = { ...long, faults: long.faults.slice(0, left) };
      expect(trimmed(long, fewer)).toMatchObject(fewer);
    }
    const cut = { ...long, faults: [`${'f'.repeat(199)}…`] };
    expect(trimmed(long, cut)).toMatchObject(cut);
    const exactly = { ...short, happened, faults: ['f'.repeat(200)] };
    const words = { ...exactly, happened: `${'h'.repeat(149)}…` };
    expect(trimmed(exactly, words)).toMatchObject(words);
  });

  it('then half of its words, as often as there are more than 200 characters of them', () => {
    const twice = { ...short, happened: `${'h'.repeat(249)}…` };
    expect(trimmed({ ...short, happened: 'h'.repeat(1_000) }, twice)).toMatchObject(twice);
    const kept = { ...short, happened: 'h'.repeat(200), report_ids: [] };
    expect(trimmed({ ...kept, report_ids: ['r1'] }, kept)).toMatchObject(kept);
  });

  it('then the ids of reports from the last one on, and then the timeline from its beginning', () => {
    const ids = { ...short, report_ids: ['r1'] };
    expect(trimmed({ ...short, report_ids: ['r1', 'r2', 'r3'] }, ids)).toMatchObject(ids);
    const last = { report_ids: [], timeline: short.timeline.slice(-1) };
    expect(trimmed(short, last)).toMatchObject(last);
  });

  it('at last all but the first request, and all but 200 characters of that and of its error', () => {
    const error = 'x'.repeat(300);
    const request_ids = ['q'.repeat(300), 'q2'];
    const last = { error: `${'x'.repeat(199)}…`, request_ids: [`${'q'.repeat(199)}…`], report_ids: [] };
    expect(trimmed({ error, request_ids }, last)).toMatchObject(last);
  });

  it('and then every text that others have written, to half as many characters until it fits', () => {
    const text = '✓'.repeat(300);
    const half = `${'✓'.repeat(49)}…`;
    const texts = (one: string): Partial<FailureReport> => ({
      ...{ error: one, happened: one, faults: [one], request_ids: [one], report_ids: [] },
      timeline: [entry('s', { outcome: one, request_id: one })],
    });
    expect(trimmed(texts(text), texts(half))).toMatchObject(texts(half));
  });

  it('keeps 25 characters of each text where nothing of the sort makes it fit', () => {
    const runbook = `https://wiki.example/${'x'.repeat(2_000)}`;
    const cut = trimToState({ ...card, runbook, error: 'e'.repeat(300), happened: 'h'.repeat(300) });
    expect(cut).toMatchObject({ runbook, error: `${'e'.repeat(24)}…`, happened: `${'h'.repeat(24)}…` });
  });

  it('fits all the same, whatever others have written into it', () => {
    const unit = fc.constantFrom('x', '"', '\\', 'é', '✓', '😀', '\n', '\u0001');
    const text = (most: number) =>
      fc
        .tuple(unit, fc.constantFrom(0, 10, most))
        .map(([one, length]) => one.repeat(length).slice(0, length));
    const facts = fc.record({ request_id: text(500), faults: fc.array(text(1_000), { maxLength: 20 }) });
    const entries = fc.array(
      fc.record({ step: text(20), outcome: text(200), request_id: text(200) }).map((fields) => ({
        ...entry(''),
        ...fields,
      })),
      { maxLength: 20 },
    );
    const reports = fc.array(text(256), { maxLength: 3 });
    fc.assert(
      fc.property(
        text(300),
        text(6_000),
        facts,
        entries,
        reports,
        (name, happened, known, timeline, report_ids) => {
          const caught = { ...caughtFrom(new RequestRefused(happened, known)), Error: name };
          const names = { account: 'a'.repeat(64), export: 'e'.repeat(64), execution: 'e'.repeat(80) };
          const whole = createFailureReport(caught, { ...about, ...names, timeline, report_ids });
          expect(bytesOf(whole)).toBeLessThanOrEqual(32_768);
          expect(bytesOf(trimToState(whole))).toBeLessThanOrEqual(2_000);
        },
      ),
    );
  });
});
