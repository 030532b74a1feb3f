import fc from 'fast-check';
import { addDays, daysBetween } from '../../functions/workflow/request/dates.ts';

/** What happened to an export, in the order of time. Plain data, the same for the same seed. */
export interface History {
  /** The time zone of the account. */
  readonly timeZone: string;
  readonly first: string;
  /** The number of days that are asked about. */
  readonly days: number;
  readonly events: readonly Event[];
}

export interface Event {
  readonly what: What;
  /** By UTC, in ISO 8601. */
  readonly at: string;
  /** The days of the run, or of the rebuild. The end is exclusive. */
  readonly start_date: string;
  readonly end_date: string;
  /** Days of the run that have no rows, counted from its first one. */
  readonly empty: readonly number[];
}

/**
 * - `delivered`: a run ends well · `late`: so does one whose report was created before the last event
 * - `killed`, `failed`: before the report came · `torn`: killed between the table and the manifest
 * - `refused`: the table cannot take the file · `resumed`: the last run that did not finish is finished
 * - `metric`: the config gets another metric, or loses it again
 * - `removed`, `damaged`: the file of the last delivery goes, or gets other content
 * - `accepted`: `rebuild --accept-empty`
 */
export type What = (typeof WHAT)[number];
const WHAT = [
  ...['delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'delivered'],
  ...['late', 'killed', 'killed', 'failed', 'torn', 'refused', 'refused', 'resumed', 'resumed'],
  ...['metric', 'metric', 'removed', 'damaged', 'accepted', 'accepted'],
] as const;

const HOUR_MS = 3_600_000;

const draft = fc.record({
  what: fc.constantFrom(...WHAT),
  hours: fc.integer({ min: 5, max: 31 }),
  minutes: fc.integer({ min: 0, max: 59 }),
  /** Days before the newest one that is over. -1 is today. */
  back: fc.constantFrom(-1, 0, 0, 0, 0, 1),
  length: fc.constantFrom(1, 2, 2, 3, 3, 3, 4, 5),
  empty: fc.oneof(
    { weight: 3, arbitrary: fc.constant<number[]>([]) },
    { weight: 2, arbitrary: fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 2 }) },
  ),
});

const history: fc.Arbitrary<History> = fc
  .record({
    timeZone: fc.constantFrom('UTC', 'UTC', 'Europe/Berlin', 'America/Los_Angeles'),
    first: fc.integer({ min: 2, max: 20 }).map((day) => addDays('2026-10-01', day)),
    days: fc.integer({ min: 3, max: 5 }),
    drafts: fc.array(draft, { minLength: 6, maxLength: 9 }),
  })
  .map(({ drafts, ...asked }) => ({ ...asked, events: place(drafts, asked.first, asked.days) }));

/** The first histories of a seed. */
export function historiesOf(seed: number, number: number): History[] {
  return fc.sample(fc.noBias(history), { seed, numRuns: number });
}

/** Gives each event its time and its days: none is asked for before it has begun. */
function place(
  drafts: readonly (typeof draft extends fc.Arbitrary<infer T> ? T : never)[],
  first: string,
  days: number,
): Event[] {
  let at = Date.parse(first) + 36 * HOUR_MS;
  return drafts.map(({ what, hours, minutes, back, length, empty }): Event => {
    at += hours * HOUR_MS + minutes * 60_000;
    const time = new Date(at).toISOString();
    const begun = daysBetween(first, time.slice(0, 'YYYY-MM-DD'.length)) + 1;
    const last = Math.max(1, Math.min(days, begun - 1 - back));
    const start_date = addDays(first, Math.max(0, last - length));
    return { what, at: time, start_date, end_date: addDays(first, last), empty };
  });
}
