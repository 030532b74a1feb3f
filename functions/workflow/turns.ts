import type { CopyRange } from './copying.ts';

/**
 * Ranges of one file are copied by tasks that know nothing of each other, and each needs a fresh URL: a GET of the same
 * report, of which no two may be less than 10 s apart (contract 4.4). So each has its turns, 22 s from every other range's.
 * A GET may begin in the first 5 s of one, and has left after 5 more or never will (the time-out of a connection): so at
 * most 10 s into the turn, and 12 s before the next, 2 s of which are for clocks that differ. Who comes too late for one
 * waits for the next.
 */

const TURN_MS = 5_000;
const APART_MS = 22_000;

/** From the GET of the step that divides the file to the first turn. */
const LEAD_MS = 10_000;

/** A clock that is behind by less is waited for within the turn; the GET leaves so much later, by the clocks of the others. */
const BEHIND_MS = 2_000;

type Turn = Pick<CopyRange, 'turn' | 'wake'>;
type Turns = Turn & Pick<CopyRange, 'turn_every_seconds'>;

/** The turns of so many ranges, the first of them 10 s after `now`. */
export function turnsFrom(now: Date, ranges: number): (at: number) => Turns {
  const first = Math.ceil(now.getTime() / 1000) * 1000 + LEAD_MS;
  return (at) => ({
    ...turnAt(first + at * APART_MS),
    turn_every_seconds: (ranges * APART_MS) / 1000,
  });
}

export function isTurn({ turn }: Turn, now: Date): boolean {
  const since = now.getTime() - Date.parse(turn);
  return since >= 0 && since < TURN_MS;
}

/** The first of a range's turns that begins after a moment. */
export function turnAfter({ turn, turn_every_seconds }: Omit<Turns, 'wake'>, moment: Date): Turn {
  const since = moment.getTime() - Date.parse(turn);
  const every = turn_every_seconds * 1000;
  return turnAt(Date.parse(turn) + Math.max(0, Math.floor(since / every) + 1) * every);
}

/** The same turn, for one that woke before it by its own clock; the next, where it did so a second time. */
export function wakeLater(range: Turns): Turn {
  const turn = Date.parse(range.turn);
  if (range.wake !== range.turn) return turnAfter(range, new Date(turn));
  return { turn: range.turn, wake: timestamp(turn + BEHIND_MS) };
}

function turnAt(time: number): Turn {
  return { turn: timestamp(time), wake: timestamp(time) };
}

/** As a Wait state reads it. */
function timestamp(time: number): string {
  return new Date(time).toISOString();
}
