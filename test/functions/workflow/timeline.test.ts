import { describe, expect, it } from 'vitest';
import { addFact, RequestRefused, TokenRefused } from '../../../functions/workflow/errors.ts';
import {
  appendEntries,
  createEntry,
  entriesOfCaught,
  MAX_ENTRIES,
  shortenTimeline,
  type Timeline,
} from '../../../functions/workflow/timeline.ts';

const SIX = new Date('2026-11-21T06:00:00.123Z');
const SEVEN = new Date('2026-11-21T07:00:00.456Z');
const AT_SIX = { from: '2026-11-21T06:00:00Z', to: '2026-11-21T06:00:00Z' };

function pending(step: string, now = SIX) {
  return createEntry('pending', { step, now });
}

describe('createEntry', () => {
  it('leaves out what is unknown', () => {
    const entry = createEntry('pending', { now: SIX, tries: 1, requestId: 7 });
    expect(entry).toStrictEqual({ ...AT_SIX, outcome: 'pending', times: 1 });
  });

  it('cuts milliseconds, and all but 200 characters of outcome and id', () => {
    const call = { step: 'CheckReport', now: SIX, tries: 2, requestId: 'y'.repeat(201) };
    expect(createEntry('x'.repeat(201), call)).toStrictEqual({
      ...{ ...AT_SIX, step: 'CheckReport', times: 1, tries: 2 },
      ...{ outcome: 'x'.repeat(200), request_id: 'y'.repeat(200) },
    });
  });
});

describe('appendEntries', () => {
  it('counts an entry that repeats the last one, with the first and last time and the last request_id', () => {
    const refused = (now: Date, requestId: string) =>
      createEntry('TokenRefused', { step: 'CheckReport', now, requestId });
    const once = appendEntries([], [refused(SIX, 'req_1')]);
    expect(appendEntries(once, [refused(SEVEN, 'req_2')])).toEqual([
      {
        ...{ step: 'CheckReport', outcome: 'TokenRefused', times: 2, request_id: 'req_2' },
        ...{ from: '2026-11-21T06:00:00Z', to: '2026-11-21T07:00:00Z' },
      },
    ]);
    expect(once[0]?.times).toBe(1);
  });

  it('sums the tries of repeated entries', () => {
    const plain = pending('CheckReport');
    const retried = createEntry('pending', { step: 'CheckReport', now: SIX, tries: 3 });
    expect(appendEntries([plain, retried], [plain]).at(-1)).toMatchObject({ times: 2, tries: 4 });
    expect(appendEntries([plain], [plain])).toEqual([{ ...plain, times: 2 }]);
  });

  it.each([
    ['step', pending('SaveReport')],
    ['outcome', createEntry('ready', { step: 'CheckReport', now: SIX })],
  ])('keeps an entry of another %s', (_, next) => {
    expect(appendEntries([pending('CheckReport')], [next])).toHaveLength(2);
  });

  it('omits the middle of more than 20 entries', () => {
    let timeline: Timeline = [];
    for (let index = 0; index < 100; index += 1) timeline = appendEntries(timeline, [pending(`s${index}`)]);
    expect(timeline).toHaveLength(MAX_ENTRIES);
    expect(timeline.map(({ step }) => step)).toEqual([
      ...Array.from({ length: 9 }, (_, index) => `s${index}`),
      undefined,
      ...Array.from({ length: 10 }, (_, index) => `s${90 + index}`),
    ]);
    expect(timeline[9]).toMatchObject({ outcome: 'left out', times: 81 });
  });
});

describe('shortenTimeline', () => {
  it.each([
    [3, ['a', undefined, 'f']],
    [2, [undefined, 'f']],
    [1, [undefined]],
    [6, ['a', 'b', 'c', 'd', 'e', 'f']],
  ])('to %d entries counts all of them', (maxEntries, steps) => {
    const short = shortenTimeline(
      [...'abcdef'].map((step) => pending(step)),
      maxEntries,
    );
    expect(short.map(({ step }) => step)).toEqual(steps);
    expect(short.reduce((sum, { times }) => sum + times, 0)).toBe(6);
  });

  const timeline = [0, 1, 2, 3, 4].map((minute) => ({
    ...pending(`s${minute}`, new Date(Date.UTC(2026, 10, 21, 6, minute))),
    times: minute + 1,
  }));

  it('says from when to when the omitted entries were', () => {
    const gap = { from: '2026-11-21T06:01:00Z', to: '2026-11-21T06:03:00Z', times: 2 + 3 + 4 };
    const expected = [timeline[0], { outcome: 'left out', ...gap }, timeline[4]];
    expect(shortenTimeline(timeline, 3)).toEqual(expected);
  });

  it('counts entries that were already omitted', () => {
    const again = shortenTimeline([...shortenTimeline(timeline, 4), pending('s5')], 3);
    expect(again.map(({ step, times }) => [step, times])).toEqual([
      ['s0', 1],
      [undefined, 2 + 3 + 4 + 5],
      ['s5', 1],
    ]);
  });

  it('copies a timeline that is short enough', () => {
    expect(shortenTimeline(timeline, 5)).toEqual(timeline);
    expect(shortenTimeline(timeline, 5)).not.toBe(timeline);
    expect(shortenTimeline([], 1)).toEqual([]);
  });
});

describe('entriesOfCaught', () => {
  const refused = new TokenRefused('The platform answered 401.', { request_id: 'req_1' });
  const added = [createEntry('TokenRefused', { step: 'CheckReport', now: SIX, requestId: 'req_1' })];
  addFact(refused, 'timeline', added);

  it.each([
    ['Lambda’s JSON', JSON.stringify({ errorType: 'TokenRefused', errorMessage: refused.message })],
    ['the bare message', refused.message],
  ])('reads the entries from a Cause that is %s', (_, Cause) => {
    expect(entriesOfCaught({ Error: 'TokenRefused', Cause }, SEVEN)).toEqual(added);
  });

  it.each([
    ['comes from a killed function', '{"errorType":"Runtime.ExitError","errorMessage":"Runtime exited"}'],
    ['is missing', undefined],
    ['has a malformed timeline', new RequestRefused('x', { timeline: ['y'] }).message],
  ])('names only the error if the Cause %s', (_, Cause) => {
    const caught = { Error: 'Runtime.ExitError', ...(Cause !== undefined && { Cause }) };
    expect(entriesOfCaught(caught, SIX)).toEqual([{ outcome: 'Runtime.ExitError', ...AT_SIX, times: 1 }]);
  });

  it('is empty if no error was caught', () => {
    expect(entriesOfCaught(undefined, SIX)).toEqual([]);
  });
});
