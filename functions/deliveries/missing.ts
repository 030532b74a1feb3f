import { type RequestTarget, requestHash } from '../decisions/request-hash.ts';
import { daysOf, describeDays } from '../workflow/request/dates.ts';
import type { ExportRequest, OnlyMissing } from '../workflow/request/request.ts';
import type { Window } from '../workflow/state-parts.ts';
import type { ExportPlan } from '../workflow/states.ts';
import { type DayState, judgeDays, TO_EXPORT } from './judge.ts';
import { type RecordStore, readRecords } from './records.ts';

/** Reasons to export a delivered window again that need a warning, because a user would not expect it. */
const WARNINGS = {
  other_request: 'delivered before for another request or another platform, so they are exported again',
  unfinished: 'delivered before their last day was over, so they are exported again',
} as const satisfies Partial<Record<DayState, string>>;

interface Conditions extends RequestTarget, OnlyMissing {
  readonly store: RecordStore;
}

/**
 * Finds the windows to export: each has a day that was not delivered, or not renewed by a later attempt.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findMissing(
  request: ExportRequest,
  windows: readonly Window[],
  { store, since, timeZone, ...target }: Conditions,
): Promise<Required<Pick<ExportPlan, 'windows' | 'already_delivered' | 'warnings'>>> {
  const { deliveries: all, plans, failures } = await readRecords(store, request, request);
  const deliveries = all.filter(({ published_at }) => Date.parse(published_at) >= since.getTime());
  const hash = requestHash(request, target);
  // A snapshot of a list is made during its day.
  const attempts = [...plans, ...failures];
  const facts = { deliveries, attempts, hash, timeZone: request.kind === 'list' ? undefined : timeZone };
  const days = windows.flatMap(daysIn);
  const judgedDays = judgeDays(days, facts);
  const stateOf = new Map(days.map((day, at) => [day, judgedDays[at] ?? 'absent']));
  const judged = windows.map((window) => ({
    window,
    states: daysIn(window).map((day) => stateOf.get(day) ?? 'absent'),
  }));
  const missing = judged.filter(({ states }) => states.some((state) => TO_EXPORT.has(state)));
  const warnings = (Object.keys(WARNINGS) as (keyof typeof WARNINGS)[]).flatMap((reason) => {
    const [first, ...others] = missing.filter(({ states }) => states.includes(reason));
    if (!first) return [];
    const more = others.length > 0 ? ` and ${others.length} more` : '';
    return [`only_missing: ${WARNINGS[reason]}: ${describeDays(first.window)}${more}`];
  });
  return {
    windows: missing.map(({ window }) => window),
    already_delivered: windows.length - missing.length,
    warnings,
  };
}

/** The start stands for a window without days, which a query for purchases may have. */
export function daysIn(window: Window): string[] {
  return window.start_date === window.end_date ? [window.start_date] : daysOf(window);
}
