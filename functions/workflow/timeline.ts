import * as z from 'zod/mini';
import { readCause } from './errors.ts';
import type { Caught } from './states.ts';

/** What a window went through, for whoever reads the card of its failure: no more than fits beside everything else. */
export const MAX_ENTRIES = 20;

/** Of ids and names that others made up. */
const MAX_CHARACTERS = 200;

/** What stands in for the entries that were cut. */
const LEFT_OUT = 'left out';

/** One thing that happened, or the same several times in a row. */
export const TimelineEntry = z.object({
  /** Absent where a function was killed before it could say which one it was, and of what was left out. */
  step: z.optional(z.string()),
  /** A window's status, `throttled`, the name of an error, or `left out`. */
  outcome: z.string(),
  from: z.string(),
  to: z.string(),
  times: z.number(),
  /** How often it was tried for that, where a Retry of the state has repeated it. */
  tries: z.optional(z.number()),
  /** The platform's, of the last answer. */
  request_id: z.optional(z.string()),
});
export type TimelineEntry = z.infer<typeof TimelineEntry>;

/** Oldest first. */
export type Timeline = readonly TimelineEntry[];

interface Known {
  /** The platform's, whatever it is. */
  readonly requestId?: unknown;
  /** The last one included. */
  readonly tries?: number;
}

/** What a step came to, at one moment. */
export function entry(
  step: string | undefined,
  outcome: string,
  now: Date,
  { requestId, tries = 1 }: Known = {},
): TimelineEntry {
  const at = now.toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    ...(step !== undefined && { step }),
    outcome: outcome.slice(0, MAX_CHARACTERS),
    from: at,
    to: at,
    times: 1,
    ...(tries > 1 && { tries }),
    ...(typeof requestId === 'string' && { request_id: requestId.slice(0, MAX_CHARACTERS) }),
  };
}

/** Adds entries; what repeats the one before it is counted there. */
export function append(timeline: Timeline, entries: Timeline): TimelineEntry[] {
  const all = [...timeline];
  for (const next of entries) {
    const last = all.at(-1);
    if (last && last.step === next.step && last.outcome === next.outcome)
      all[all.length - 1] = sum(last, next);
    else all.push(next);
  }
  return shorten(all, MAX_ENTRIES);
}

function sum(last: TimelineEntry, next: TimelineEntry): TimelineEntry {
  const times = last.times + next.times;
  const tries = (last.tries ?? last.times) + (next.tries ?? next.times);
  return { ...last, ...next, from: last.from, times, ...(tries > times && { tries }) };
}

/** Leaves out the middle: how it began and how it ended says most. One entry stays in its place. */
export function shorten(timeline: Timeline, most: number): TimelineEntry[] {
  if (timeline.length <= most) return [...timeline];
  const first = Math.floor((most - 1) / 2);
  const last = timeline.length - (most - 1 - first);
  const cut = timeline.slice(first, last);
  const times = cut.reduce((sum, entry) => sum + entry.times, 0);
  const gap = { outcome: LEFT_OUT, from: cut[0]?.from ?? '', to: cut.at(-1)?.to ?? '', times };
  return [...timeline.slice(0, first), gap, ...timeline.slice(last)];
}

/**
 * What a caught error adds. A step writes its entries into the error's facts, because the machine tells the next state
 * the error's name and message and nothing else; what was killed has left none.
 */
export function entriesOf(caught: Caught | undefined, now: Date): Timeline {
  if (!caught) return [];
  const { timeline } = readCause(caught.Cause ?? '').facts as { timeline?: unknown };
  return z.array(TimelineEntry).safeParse(timeline).data ?? [entry(undefined, caught.Error, now)];
}
