import { describe, expect, it } from 'vitest';
import {
  AnswerUnreadable,
  addFact,
  errors,
  RequestRefused,
  readCause,
  readMessage,
} from '../../../functions/workflow/errors.ts';

describe('an error', () => {
  it.each(Object.entries(errors))('%s bears its own name, which Retry and Catch match', (name, Class) => {
    expect(new Class('It happened.').name).toBe(name);
    expect(new Class('It happened.')).toBeInstanceOf(Error);
  });

  it('carries its facts in the last line of its message, and gives both back', () => {
    const facts = { request_id: 'r-1', status: 422, faults: ['metrics: unknown', 'a\nb'], none: undefined };
    const { message } = new RequestRefused('It was refused:\n{"error"} is what came.', facts);
    expect(message.split('\n').at(-1)).toBe(
      '{"request_id":"r-1","status":422,"faults":["metrics: unknown","a\\nb"]}',
    );
    const { none, ...kept } = facts;
    expect(readMessage(message)).toEqual({
      happened: 'It was refused:\n{"error"} is what came.',
      facts: kept,
    });
  });

  it('fits into a Cause whatever it is told, and keeps the first facts', () => {
    const faults = Array.from({ length: 10 }, (_, at) => `${at}`.repeat(1_000));
    const error = new RequestRefused('"'.repeat(20_000), {
      request_id: 'r-1',
      faults,
      more: 'x'.repeat(9_000),
    });
    const { happened, facts } = readMessage(error.message);
    expect(happened).toBe('"'.repeat(6_000));
    expect(facts).toEqual({ request_id: 'r-1', faults: faults.slice(0, 5) });
    expect(JSON.stringify({ errorMessage: error.message }).length).toBeLessThan(32_768);
    expect(error.facts.faults).toHaveLength(10);
  });

  it('has room for 6,000 characters of facts, and for none beyond', () => {
    const exactly = { one: 'x'.repeat(5_998) };
    expect(readMessage(new RequestRefused('No.', exactly).message).facts).toEqual(exactly);
    expect(readMessage(new RequestRefused('No.', { one: 'x'.repeat(5_999) }).message).facts).toEqual({});
  });

  it('is not cut in the middle of a character', () => {
    const { happened } = readMessage(new RequestRefused(`${'x'.repeat(5_999)}😀`).message);
    expect(happened).toBe(`${'x'.repeat(5_999)}\ufffd`);
  });
});

describe('what is read of a message', () => {
  it.each([
    ['that is not ours', 'connect ECONNREFUSED'],
    ['whose last line is broken', 'It happened.\n{"request_id":'],
    ['that is empty', ''],
  ])('%s, is the whole of it', (_, message) => {
    expect(readMessage(message)).toEqual({ happened: message, facts: {} });
  });

  it('may be facts alone', () => {
    expect(readMessage('\n{"status":500}')).toEqual({ happened: '', facts: { status: 500 } });
  });

  it('may have one more fact, which stands beside the others', () => {
    const error = new AnswerUnreadable('It is HTML.', { status: 200 });
    addFact(error, 'timeline', [{ step: 'CheckReport' }]);
    expect(readMessage(error.message)).toEqual({
      happened: 'It is HTML.',
      facts: { status: 200, timeline: [{ step: 'CheckReport' }] },
    });
    const foreign = new TypeError('x is undefined');
    addFact(foreign, 'tries', 2);
    expect(readMessage(foreign.message)).toEqual({ happened: 'x is undefined', facts: { tries: 2 } });
  });
});

describe('what is read of a Cause', () => {
  it.each([
    ["Lambda's document", JSON.stringify({ errorType: 'X', errorMessage: 'It happened.\n{"status":500}' })],
    ['a bare message', 'It happened.\n{"status":500}'],
  ])('%s is the sentence and the facts', (_, cause) => {
    expect(readCause(cause)).toEqual({ happened: 'It happened.', facts: { status: 500 } });
  });

  it.each([
    ['plain text of Step Functions', 'The state reached its timeout.'],
    ['a document without a message', '{"errorType":"X"}'],
    ['a document with another message', '{"errorMessage":17}'],
    ['null', 'null'],
  ])('%s is the whole of it', (_, cause) => {
    expect(readCause(cause)).toEqual({ happened: cause, facts: {} });
  });
});
