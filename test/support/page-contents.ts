import { addDays, daysOf, groupDays } from '../../functions/workflow/request/dates.ts';
import type { PageContents, PageDay, PageExport, PageSums } from '../../infra/page/contents.ts';

/** Contents of a page without exports, with those that are given. */
export function pageContents(exports: readonly PageExport[] = []): PageContents {
  return { made_at: '2026-11-22T02:31:12.521Z', place: 'out', exports };
}

/** An export that has nothing yet, with the fields that are given. */
export function pageExport(fields: Partial<PageExport> = {}): PageExport {
  return {
    account: 'acme',
    name: 'daily-campaigns',
    kind: 'report',
    ranges: [],
    restatements: [],
    older_restatements: 0,
    freshness: {},
    executions: [],
    queries: {},
    ...fields,
  };
}

/** Days with rows, and other states of some of them: by their place, such as `{ 3: 'absent' }`. */
export function pageDays(
  start_date: string,
  days: number,
  states: Readonly<Record<number, PageDay['state']>> = {},
): PageDay[] {
  return daysOf({ start_date, end_date: addDays(start_date, days) }).map((date, at) => {
    const state = states[at] ?? 'rows';
    const rows = state === 'rows' || state === 'held' ? 100 + ((at * 37) % 60) : undefined;
    return { date, state, rows, restated: state === 'rows' && at % 29 === 0 ? 1 + (at % 3) : 0 };
  });
}

/** Sums of three metrics. Each point has its own, and the one at `gap` has none. */
export function pageSums(
  start: string,
  points: number,
  { unit = 'day', gap }: { unit?: PageSums['unit']; gap?: number } = {},
): PageSums {
  const starts = Array.from({ length: points }, (_, at) => addDays(start, at * (unit === 'week' ? 7 : 1)));
  const labels = ['Größe zählt', 'Back to School', 'קמפיין חורף', 'Summer Sale – Retargeting'];
  const metrics = [
    ['spend', 'EUR', 640.25],
    ['impressions', 'count', 81_234],
    ['number_of_purchases', 'count', 12],
  ] as const;
  return {
    unit,
    starts,
    dimension: 'campaign_name',
    metrics: metrics.map(([name, unit, size]) => {
      const series = [...labels, '7 others'].map((label, place) => {
        const values = starts.map((_, at) => (at === gap ? null : valueAt(at, place, size)));
        const total = values.reduce((sum, value) => sum + Number(value), 0).toFixed(6);
        return { label, ...(label === '7 others' && { others: true as const }), values, total };
      });
      const total = series.reduce((sum, { total }) => sum + Number(total), 0).toFixed(6);
      return { name, unit, series, total };
    }),
  };
}

/** A weekly wave that grows slowly, less for each place. */
function valueAt(at: number, place: number, size: number): string {
  const wave = 1 + 0.35 * Math.sin((at + place) * 0.9) + at / 150;
  return (
    Math.round(((size * wave) / (1 + place)) * (size < 1_000 && size > 100 ? 100 : 1)) /
    (size < 1_000 && size > 100 ? 100 : 1)
  ).toFixed(6);
}

/** Ranges for the days of one state. */
export function pageRanges(
  days: readonly PageDay[],
  state: PageDay['state'],
  reason: string,
): PageExport['ranges'] {
  return groupDays(days.filter((day) => day.state === state).map(({ date }) => date)).map((range) => ({
    ...range,
    days: daysOf(range).length,
    reason,
    command: `npm run export -- run daily-campaigns --account acme --from ${range.start_date} --to ${range.end_date}`,
  }));
}
