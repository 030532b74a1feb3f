import { describe, expect, it } from 'vitest';
import { afterSuccess, afterThrottle, readReport } from '../../../functions/decisions/report-answer.ts';
import { windowOf } from '../../support/steps.ts';

describe('readReport', () => {
  it('returns the URL of a READY report without a warning', () => {
    const downloadUrl = 'https://storage.example.com/r1?signature=x';
    expect(readReport({ id: 'r1', status: 'READY', downloadUrl })).toEqual({
      answer: { url: downloadUrl },
      said: 'is READY',
      isOdd: false,
    });
  });

  it.each(['CREATED', 'PROCESSING'])('waits for a report that is %s, even with a URL', (status) => {
    const record = { id: 'r1', status, downloadUrl: 'https://storage.example.com/r1' };
    expect(readReport(record)).toEqual({ answer: 'generating', said: `is ${status}`, isOdd: false });
  });

  const noUrl = 'is READY without a valid URL';
  it.each([
    [
      '13: is useless if the report is not there',
      { id: 'r1', status: undefined },
      'useless',
      'does not exist (404)',
    ],
    [
      '14: waits for a status that the contract does not name',
      { id: 'r1', status: 'QUEUED' },
      'generating',
      'has the status QUEUED, which the contract does not name',
    ],
    ['15: is useless without a URL', { id: 'r1', status: 'READY' }, 'useless', noUrl],
    ['15: is useless with text for a URL', { id: 'r1', status: 'READY', downloadUrl: 'x' }, 'useless', noUrl],
  ])('%s, and is odd', (_, record, answer, said) => {
    expect(readReport(record as Parameters<typeof readReport>[0])).toEqual({ answer, said, isOdd: true });
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
