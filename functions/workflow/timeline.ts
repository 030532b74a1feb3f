import * as z from 'zod/mini';
import { readCause } from './errors.ts';
import { type Caught, TimelineEntry } from './state-parts.ts';
import type { WindowState } from './states.ts';

/** A failure report shows a window's timeline. This many entries fit into the state together with everything else. */
export const MAX_ENTRIES = 20;

/** Outcomes and ids may come from the platform or from AWS, so they are cut to this length. */
const MAX_CHARACTERS = 200;

const LEFT_OUT = 'left out';

/** Oldest first. */
export type Timeline = readonly TimelineEntry[];

/** One call of a step. */
interface Call {
  /** Unknown if the function was killed before it could name itself. */
  readonly step?: string;
  readonly now: Date;
  /** Includes this try. */
  readonly tries?: number;
  /** The platform's, from the facts of an error. */
  readonly requestId?: unknown;
}

export function createEntry(outcome: string, { step, now, tries = 1, requestId }: Call): TimelineEntry {
  const time = now.toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    ...(step !== undefined && { step }),
    outcome: outcome.slice(0, MAX_CHARACTERS),
    from: time,
    to: time,
    times: 1,
    ...(tries > 1 && { tries }),
    ...(typeof requestId === 'string' && { request_id: requestId.slice(0, MAX_CHARACTERS) }),
  };
}

/** Adds entries. An entry that repeats the one before it is counted there instead. */
export function appendEntries(timeline: Timeline, entries: Timeline): TimelineEntry[] {
  const all = [...timeline];
  for (const next of entries) {
    const last = all.at(-1);
    if (last && last.step === next.step && last.outcome === next.outcome)
      all[all.length - 1] = mergeEntries(last, next);
    else all.push(next);
  }
  return shortenTimeline(all, MAX_ENTRIES);
}

function mergeEntries(last: TimelineEntry, next: TimelineEntry): TimelineEntry {
  const times = last.times + next.times;
  const tries = (last.tries ?? last.times) + (next.tries ?? next.times);
  return { ...last, ...next, from: last.from, times, ...(tries > times && { tries }) };
}

/** Replaces entries in the middle by a single one, because the beginning and the end say most. */
export function shortenTimeline(timeline: Timeline, maxEntries: number): TimelineEntry[] {
  if (timeline.length <= maxEntries) return [...timeline];
  const first = Math.floor((maxEntries - 1) / 2);
  const last = timeline.length - (maxEntries - 1 - first);
  const omitted = timeline.slice(first, last);
  const times = omitted.reduce((sum, entry) => sum + entry.times, 0);
  const gap = { outcome: LEFT_OUT, from: omitted[0]?.from ?? '', to: omitted.at(-1)?.to ?? '', times };
  return [...timeline.slice(0, first), gap, ...timeline.slice(last)];
}

/**
 * The entries that a caught error carries in its facts. Step Functions hands the next state only the error's name and
 * message, so a step that fails writes its entries there. A function that was killed wrote none.
 */
export function entriesOfCaught(caught: Caught | undefined, now: Date): Timeline {
  if (!caught) return [];
  const { timeline } = readCause(caught.Cause ?? '').facts as { timeline?: unknown };
  return z.array(TimelineEntry).safeParse(timeline).data ?? [createEntry(caught.Error, { now })];
}

/** The outcome of a step: redriven, throttled, a lost answer, or else the window's status. */
export function windowOutcome(before: WindowState, after: WindowState): string {
  if (after.redrive_count !== before.redrive_count) return 'redriven';
  if (after.throttled > before.throttled) return 'throttled';
  return after.lost_answers === before.lost_answers ? after.status : 'AnswerLost';
}
