import { describe, expect, it } from 'vitest';
import { addFact, RequestRefused, readMessage, TokenRefused } from '../../../functions/workflow/errors.ts';
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

/** As many entries as letters, none like the one before it. */
function timelineOf(steps: string): Timeline {
  return [...steps].map((step) => createEntry('pending', { step, now: SIX }));
}

describe('a timeline', () => {
  it('counts what repeats the last entry, and keeps the first moment, the last one and the last request_id', () => {
    const once = appendEntries(
      [],
      [createEntry('TokenRefused', { step: 'CheckReport', now: SIX, requestId: 'req_1' })],
    );
    const twice = appendEntries(once, [
      createEntry('TokenRefused', { step: 'CheckReport', now: SEVEN, requestId: 'req_2' }),
    ]);
    expect(twice).toEqual([
      {
        step: 'CheckReport',
        outcome: 'TokenRefused',
        from: '2026-11-21T06:00:00Z',
        to: '2026-11-21T07:00:00Z',
        times: 2,
        request_id: 'req_2',
      },
    ]);
    expect(once[0]?.times).toBe(1);
  });

  it('counts the tries of what was repeated, beside how often it came to that', () => {
    const retried = createEntry('pending', { step: 'CheckReport', now: SIX, tries: 3 });
    expect(retried).toMatchObject({ times: 1, tries: 3 });
    const plain = createEntry('pending', { step: 'CheckReport', now: SIX, tries: 1 });
    expect(plain).not.toHaveProperty('tries');
    expect(appendEntries([plain, retried], [plain]).at(-1)).toMatchObject({ times: 2, tries: 4 });
    expect(appendEntries([plain], [plain])).toEqual([{ ...plain, times: 2 }]);
  });

  it('has of an unknown step nothing, of a moment no milliseconds, and of names and ids the first 200 characters', () => {
    const at = { from: '2026-11-21T06:00:00Z', to: '2026-11-21T06:00:00Z' };
    const known = createEntry('x'.repeat(201), { now: SIX, requestId: 'y'.repeat(201), tries: 2 });
    const cut = { outcome: 'x'.repeat(200), request_id: 'y'.repeat(200) };
    expect(known).toStrictEqual({ ...at, ...cut, times: 1, tries: 2 });
    const unknown = createEntry(cut.outcome, { step: 'CheckReport', now: SIX, requestId: 7 });
    expect(unknown).toStrictEqual({ step: 'CheckReport', ...at, outcome: cut.outcome, times: 1 });
  });

  it.each([
    ['another step', createEntry('pending', { step: 'SaveReport', now: SIX })],
    ['another outcome', createEntry('ready', { step: 'CheckReport', now: SIX })],
  ])('begins a new entry with %s', (_, next) => {
    expect(appendEntries([createEntry('pending', { step: 'CheckReport', now: SIX })], [next])).toHaveLength(
      2,
    );
  });

  it('never has more than its most entries: the middle is left out, and counted', () => {
    let timeline: Timeline = [];
    for (let at = 0; at < 100; at += 1)
      timeline = appendEntries(timeline, [createEntry('pending', { step: `s${at}`, now: SIX })]);
    expect(timeline).toHaveLength(MAX_ENTRIES);
    expect(timeline.map(({ step }) => step)).toEqual([
      ...Array.from({ length: 9 }, (_, at) => `s${at}`),
      undefined,
      ...Array.from({ length: 10 }, (_, at) => `s${90 + at}`),
    ]);
    expect(timeline[9]).toMatchObject({ outcome: 'left out', times: 81 });
  });

  it.each([
    [3, ['a', undefined, 'f']],
    [2, [undefined, 'f']],
    [1, [undefined]],
    [6, ['a', 'b', 'c', 'd', 'e', 'f']],
  ])('can be made as short as %d, whatever is left out counted once', (most, steps) => {
    const short = shortenTimeline(timelineOf('abcdef'), most);
    expect(short.map(({ step }) => step)).toEqual(steps);
    expect(short.reduce((sum, { times }) => sum + times, 0)).toBe(6);
  });
});

describe('what is left out of a timeline', () => {
  const moments = [0, 1, 2, 3, 4].map((minute) => new Date(Date.UTC(2026, 10, 21, 6, minute)));
  const timeline = moments.map((now, at) => ({
    ...createEntry('pending', { step: `s${at}`, now }),
    times: at + 1,
  }));

  it('says from when to when, and how often', () => {
    const { from, to } = { from: '2026-11-21T06:01:00Z', to: '2026-11-21T06:03:00Z' };
    expect(shortenTimeline(timeline, 3)).toEqual([
      timeline[0],
      { outcome: 'left out', from, to, times: 2 + 3 + 4 },
      timeline[4],
    ]);
  });

  it('is counted on where it is left out again', () => {
    const again = shortenTimeline(
      [...shortenTimeline(timeline, 4), createEntry('pending', { step: 's5', now: SEVEN })],
      3,
    );
    expect(again.map(({ step, times }) => [step, times])).toEqual([
      ['s0', 1],
      [undefined, 2 + 3 + 4 + 5],
      ['s5', 1],
    ]);
  });

  it('is nothing where there are no more than the most, which is a copy', () => {
    expect(shortenTimeline(timeline, 5)).toEqual(timeline);
    expect(shortenTimeline(timeline, 5)).not.toBe(timeline);
    expect(shortenTimeline([], 1)).toEqual([]);
  });
});

describe('what a caught error adds', () => {
  const refused = new TokenRefused('The platform answered 401.', { request_id: 'req_1' });
  const added = [createEntry('TokenRefused', { step: 'CheckReport', now: SIX, requestId: 'req_1' })];
  addFact(refused, 'timeline', added);

  it.each([
    ['as Lambda words it', JSON.stringify({ errorType: 'TokenRefused', errorMessage: refused.message })],
    ['as the bare message', refused.message],
  ])('stands in its Cause, %s', (_, Cause) => {
    expect(entriesOfCaught({ Error: 'TokenRefused', Cause }, SEVEN)).toEqual(added);
  });

  it.each([
    ['was killed', '{"errorType":"Runtime.ExitError","errorMessage":"Runtime exited"}'],
    ['says nothing', undefined],
    ['says it in another form', new RequestRefused('x', { timeline: ['y'] }).message],
  ])('is the name alone where the function %s', (_, Cause) => {
    const caught = { Error: 'Runtime.ExitError', ...(Cause !== undefined && { Cause }) };
    expect(entriesOfCaught(caught, SEVEN)).toEqual([
      { outcome: 'Runtime.ExitError', from: '2026-11-21T07:00:00Z', to: '2026-11-21T07:00:00Z', times: 1 },
    ]);
  });

  it('is nothing where nothing was caught', () => {
    expect(entriesOfCaught(undefined, SIX)).toEqual([]);
  });

  it('leaves what the error says of itself as it was', () => {
    const { happened, facts } = readMessage(refused.message);
    expect(happened).toBe('The platform answered 401.');
    expect(facts).toMatchObject({ request_id: 'req_1' });
  });
});
