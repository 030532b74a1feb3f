import { type RequestTarget, requestHash } from '../decisions/request-hash.ts';
import { daysOf } from '../workflow/request/dates.ts';
import type { ExportRequest, OnlyMissing } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { ExportPlan } from '../workflow/states.ts';
import { judgeDays, TO_EXPORT } from './judge.ts';
import { type RecordStore, readRecords } from './records.ts';

interface Conditions extends RequestTarget, OnlyMissing {
  readonly now: () => Date;
  readonly store: RecordStore;
}

/**
 * Finds the windows to export: each has a day that was not delivered, or that a plan still asks for. Looks at
 * no table, so no day is unannounced, held, not in the table or of an older request. Deliveries before
 * `since` do not count.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findMissing(
  request: ExportRequest,
  windows: readonly Window[],
  { store, now, since, timeZone, ...target }: Conditions,
): Promise<Required<Pick<ExportPlan, 'windows' | 'already_delivered'>>> {
  const { deliveries: all, plans, failures } = await readRecords(store, request, now(), request);
  const deliveries = all.filter(({ published_at }) => Date.parse(published_at) >= since.getTime());
  const hash = requestHash(request, target);
  const attempts = [...plans, ...failures];
  // A snapshot of a list is made during its day.
  const facts = { deliveries, attempts, hash, timeZone: request.kind === 'list' ? undefined : timeZone };
  const days = windows.flatMap(daysIn);
  const states = judgeDays(days, facts);
  const toExport = new Set(days.filter((_, at) => TO_EXPORT.has(states[at] ?? 'absent')));
  const missing = windows.filter((window) => daysIn(window).some((day) => toExport.has(day)));
  return { windows: missing, already_delivered: windows.length - missing.length };
}

/** The start stands for a window without days, which a query for purchases may have. */
export function daysIn(window: Window): string[] {
  return window.start_date === window.end_date ? [window.start_date] : daysOf(window);
}
