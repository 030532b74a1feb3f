import { describe, expect, it } from 'vitest';
import { errors, RequestRefused, readCause, readMessage } from '../../../functions/workflow/errors.ts';

describe('an error', () => {
  it.each(Object.entries(errors))('%s has its own name, which Retry and Catch match', (name, Class) => {
    expect(new Class('It happened.').name).toBe(name);
    expect(new Class('It happened.')).toBeInstanceOf(Error);
  });

  it('carries its facts in the last line of its message', () => {
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

  it('fits into a Cause and keeps the first facts', () => {
    const faults = Array.from({ length: 10 }, (_, at) => `${at}`.repeat(1_000));
    const error = new RequestRefused('"'.repeat(2e4), { request_id: 'r-1', faults, more: 'x'.repeat(9_000) });
    const { happened, facts } = readMessage(error.message);
    expect(happened).toBe('"'.repeat(6_000));
    expect(facts).toEqual({ request_id: 'r-1', faults: faults.slice(0, 5) });
    expect(JSON.stringify({ errorMessage: error.message }).length).toBeLessThan(32_768);
    expect(error.facts.faults).toHaveLength(10);
  });

  it('does not contain half a character after a cut', () => {
    const { happened } = readMessage(new RequestRefused(`${'x'.repeat(5_999)}😀`).message);
    expect(happened).toBe(`${'x'.repeat(5_999)}\ufffd`);
  });
});

describe('readCause', () => {
  it.each([
    ["Lambda's document", JSON.stringify({ errorType: 'X', errorMessage: 'It happened.\n{"status":500}' })],
    ['a bare message', 'It happened.\n{"status":500}'],
  ])('reads sentence and facts from %s', (_, cause) => {
    expect(readCause(cause)).toEqual({ happened: 'It happened.', facts: { status: 500 } });
  });

  it.each([
    ['plain text', 'The state reached its timeout.'],
    ['JSON without a message', '{"errorType":"X"}'],
    ['JSON with a number for a message', '{"errorMessage":17}'],
    ['null', 'null'],
  ])('returns a Cause of %s unchanged', (_, cause) => {
    expect(readCause(cause)).toEqual({ happened: cause, facts: {} });
  });
});
