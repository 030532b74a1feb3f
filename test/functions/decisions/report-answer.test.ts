import { describe, expect, it } from 'vitest';
import {
  afterSuccess,
  afterThrottle,
  countUselessAnswer,
  giveUp,
  readReport,
} from '../../../functions/decisions/report-answer.ts';
import { windowOf } from '../../support/steps.ts';

function reportRef(id: string, useless_answers = 0) {
  return { id, created_at: '2026-11-21T06:00:00.000Z', useless_answers, given_up: false };
}

describe('readReport', () => {
  it('returns the URL of a READY report without a warning', () => {
    const downloadUrl = 'https://storage.example.com/r1?signature=x';
    expect(readReport({ id: 'r1', status: 'READY', downloadUrl })).toEqual({ answer: { url: downloadUrl } });
  });

  it.each(['CREATED', 'PROCESSING'])('waits for a report that is %s, even with a URL', (status) => {
    const record = { id: 'r1', status, downloadUrl: 'https://storage.example.com/r1' };
    expect(readReport(record)).toEqual({ answer: 'generating' });
  });
});

describe('the reports of a window', () => {
  it('gives a report up at its second useless answer', () => {
    const once = countUselessAnswer([reportRef('a'), reportRef('b')], 'a');
    expect(once).toEqual([reportRef('a', 1), reportRef('b')]);
    expect(countUselessAnswer(once, 'a')).toEqual([{ ...reportRef('a', 2), given_up: true }, reportRef('b')]);
  });

  it('gives up only the named report', () => {
    expect(giveUp([reportRef('a'), reportRef('b')], 'b')).toEqual([
      reportRef('a'),
      { ...reportRef('b'), given_up: true },
    ]);
  });
});

describe('a window after a call', () => {
  const window = windowOf([]);

  it('8: counts 429s in a row and in total; a success resets only the row', () => {
    const twice = afterThrottle(afterSuccess(afterThrottle(window, { seconds: 20 })), { seconds: 30 });
    expect(twice).toMatchObject({ wait_seconds: 30, throttled: 1, throttled_in_all: 2 });
  });

  it('trusts a renewed token after the first success', () => {
    const renewed = { ...window, token: { ...window.token, unproven: true }, throttled: 3 };
    expect(afterSuccess(renewed)).toMatchObject({ throttled: 0, token: { unproven: false } });
  });
});
