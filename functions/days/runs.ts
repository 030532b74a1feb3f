import * as z from 'zod/mini';
import type { ObjectStore } from '../aws/objects.ts';
import { parseJson } from '../workflow/json.ts';
import { type ExportId, runKey, runsPrefix } from '../workflow/keys.ts';
import { isPossibleRequest, isPossibleTime } from '../workflow/possible.ts';
import { addDays, daysOf } from '../workflow/request/dates.ts';
import { ExportRequest } from '../workflow/request/request.ts';
import { Window } from '../workflow/state-parts.ts';
import { covers, type Delivery } from './judge.ts';
import { type ReadRecords, readAll } from './read-all.ts';

/**
 * The object that PlanExport writes for an account's execution, and PublishExport removes once everything is
 * delivered. An object that is left shows a run that did not finish.
 */
export const Run = z.object({
  version: z.literal('1'),
  execution: z.string(),
  /** The execution of several accounts that starts this one. */
  parent: z.optional(z.string()),
  /** The run of the config that it is, such as `daily-campaigns#2`. Absent: a person started it. */
  run: z.optional(z.string()),
  /** When it began, or was due, in ISO 8601. A day is renewed by a report that was created since then. */
  began_at: z.string(),
  request: ExportRequest,
  /** The windows that it exports. */
  windows: z.array(Window),
});
export type Run = z.infer<typeof Run>;

/** Days for which a run that did not finish is shown. */
export const RUN_DAYS = 31;

type RunStore = Pick<ObjectStore, 'list' | 'getText'>;

/** Reads the runs of an export that have not delivered everything, the oldest first. */
export async function readRuns(store: RunStore, id: ExportId, now: Date): Promise<ReadRecords<Run>> {
  const keys = await store.list(runsPrefix(id));
  const { records, damaged } = await readAll(store, keys, (text, key) => parseRun(text, key, id, now));
  const oldestFirst = (first: Run, second: Run) => Date.parse(first.began_at) - Date.parse(second.began_at);
  return { records: records.toSorted(oldestFirst), damaged };
}

/** @returns undefined if the text is no run, or cannot be true */
export function parseRun(text: string | undefined, key: string, id: ExportId, now: Date): Run | undefined {
  const { data: run } = Run.safeParse(parseJson(text));
  if (!run) return undefined;
  const { execution, began_at, request } = run;
  const isOfKey = runKey(id, execution) === key && request.account === id.account && request.name === id.name;
  const isTrue = isOfKey && isPossibleRequest(request) && isPossibleTime(began_at, now);
  return isTrue ? run : undefined;
}

/** The days of a run that were not delivered since it began, by reports created since then, ascending. */
export function daysToRenew(
  run: Pick<Run, 'began_at' | 'request' | 'windows'>,
  deliveries: readonly Delivery[],
): string[] {
  const since = Date.parse(run.began_at);
  const renewing = deliveries.filter(({ lost, created_at }) => !lost && Date.parse(created_at) >= since);
  // A list is a snapshot, of which any later one will do.
  if (run.request.kind === 'list' && renewing.length > 0) return [];
  const days = run.windows.flatMap(daysIn).toSorted();
  return days.filter((day) => !renewing.some((delivery) => covers(delivery, day)));
}

/**
 * Finds the execution that still works on a run: its own, or the execution of several accounts that starts
 * it.
 *
 * @returns undefined if neither runs
 */
export function runningExecution(
  { execution, parent }: Pick<Run, 'execution' | 'parent'>,
  running: readonly string[],
): string | undefined {
  return [execution, parent].find((name) => name !== undefined && running.includes(name));
}

/** True if a run is so old that nobody will finish it. */
export function isForgotten({ began_at }: Run, now: Date): boolean {
  return addDays(began_at.slice(0, 'YYYY-MM-DD'.length), RUN_DAYS) < now.toISOString().slice(0, 10);
}

/** A window without days, which a query for purchases may have, has its start. */
export function daysIn(window: Window): string[] {
  return window.start_date === window.end_date ? [window.start_date] : daysOf(window);
}
