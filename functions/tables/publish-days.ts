import type { ObjectStore } from '../aws/objects.ts';
import type { DayVersion } from '../workflow/day-metadata.ts';
import type { AccessRefused } from '../workflow/errors.ts';
import { daysOf } from '../workflow/request/dates.ts';
import type { Window } from '../workflow/state-parts.ts';
import { dayKey } from '../workflow/table.ts';
import { createDayFiles } from './day-files.ts';
import { isFinal } from './problems.ts';
import { type Published, publishObject } from './publish-object.ts';
import type { CurateLimit, DayFacts, OpenReport } from './report.ts';

/** Days whose calls to S3 are under way at the same time. A window has 45 at most, with a HEAD, a GET of the end of the old object, and a PUT each. */
const PARALLEL = 8;

export interface PublishedDay extends DayFacts, Published {}

interface Target {
  readonly store: Pick<ObjectStore, 'head' | 'readEnd' | 'putFile'>;
  readonly table: string;
  readonly account: string;
  readonly window: Window;
  readonly version: DayVersion;
}

/** The days that show the report now, or a newer one. */
interface Publication {
  /** In order. */
  readonly days: readonly PublishedDay[];
  /** The reason why the other days of the window were not written. */
  readonly stopped?: AccessRefused | CurateLimit;
}

/**
 * Writes an object for every day of the window, also for a day without rows: it may have had some before.
 *
 * @throws ServiceUnavailable; no call is under way then
 */
export async function publishDays(report: OpenReport, target: Target): Promise<Publication> {
  const { store, table, account, version } = target;
  const filesOf = createDayFiles(report, store);
  const facts = new Map(report.facts.days.map((each) => [each.day, each]));
  const { results, failures } = await mapParallel(daysOf(target.window), PARALLEL, async (day) => {
    const { rows, sums } = facts.get(day) ?? { rows: 0, sums: {} };
    const key = dayKey(table, account, day);
    await using parquet = filesOf(key, day);
    const ours = { ...version, values: { rows, sums } };
    return { day, rows, sums, ...(await publishObject(store, key, ours, parquet)) };
  });
  // Another try may succeed, and then writes all days.
  for (const failure of failures) if (!isFinal(failure)) throw failure;
  const [stopped] = failures.filter(isFinal);
  return { days: results, ...(stopped && { stopped }) };
}

/** Begins no call after one has failed, and ends only when all calls have ended. @returns results in the order of the items */
async function mapParallel<T, R>(
  items: readonly T[],
  limit: number,
  run: (item: T) => Promise<R>,
): Promise<{ results: R[]; failures: unknown[] }> {
  const results: [number, R][] = [];
  const failures: unknown[] = [];
  const rest = [...items.entries()];
  const work = async () => {
    for (let next = rest.shift(); next && failures.length === 0; next = rest.shift()) {
      const [at, item] = next;
      await run(item).then(
        (result) => void results.push([at, result]),
        (error: unknown) => void failures.push(error),
      );
    }
  };
  await Promise.all(Array.from({ length: limit }, work));
  return { results: results.sort(([one], [other]) => one - other).map(([, result]) => result), failures };
}
