import { addDays, daysOf } from '../../functions/workflow/request/dates.ts';
import type { PageContents, PageDay, PageExport, PageSums } from '../../infra/page/contents.ts';

/** Contents of a page with these exports. */
export function pageContents(exports: readonly PageExport[] = []): PageContents {
  return { made_at: '2026-11-22T02:31:12.521Z', place: 'out', exports };
}

/** An export that was never delivered, with the fields that are given. */
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

/** An export with everything that the page shows, with the fields that are given. @param days how many it has */
export function fullExport(days: number, fields: Partial<PageExport> = {}): PageExport {
  const start = addDays('2026-11-22', -days);
  const isLong = days > 100;
  return pageExport({
    days: pageDays(start, days, { 2: 'absent', 3: 'held', 4: 'empty', 5: 'running' }),
    ranges: [
      { ...range(addDays(start, 2)), reason: 'not exported' },
      { ...range(addDays(start, 3)), reason: 'held' },
    ],
    sums: pageSums(start, isLong ? Math.ceil(days / 7) : days, isLong ? 'week' : 'day'),
    restatements: Array.from({ length: 12 }, (_, at) => ({
      date: addDays('2026-11-20', -at),
      metric: 'spend',
      first: at === 3 ? undefined : '1100.500000',
      now: '1250.250000',
      corrections: at === 0 ? 2 : 1,
      at: '2026-11-21T02:20:00.000Z',
    })),
    older_restatements: 3,
    freshness: { newest_day: '2026-11-21', delivered_at: '2026-11-22T02:20:11.000Z', days_behind: 1 },
    executions: ['failed', 'delivered'].map((outcome) => ({
      execution: `scheduled-${outcome}`,
      outcome: outcome as 'failed' | 'delivered',
      ...(outcome === 'failed' && { error: 'ReportStuck' }),
      start_date: '2026-11-19',
      end_date: '2026-11-22',
      ended_at: '2026-11-22T02:20:11.000Z',
      seconds: 75.4,
    })),
    table: {
      table: 'daily_campaigns',
      description: 'The report of acme/daily-campaigns: one row per account, day and campaign_name.',
      time_zones: { acme: 'Europe/Berlin' },
      currencies: { acme: 'EUR' },
      columns: [
        { name: 'date', type: 'date', meaning: 'The day' },
        {
          name: 'spend',
          type: 'decimal(18,6)',
          meaning: 'The money spent on ads',
          unit: 'EUR',
          adds_up: true,
        },
        { name: 'ctr', type: 'double', meaning: 'Clicks per impression', unit: 'ratio', adds_up: false },
      ],
    },
    queries: { days: 'SELECT *\nFROM daily_campaigns_days', sums: 'SELECT 1', restatements: 'SELECT 2' },
    ...fields,
  });
}

/** Days with rows, and other states of some: by their place, such as `{ 3: 'absent' }`. */
export function pageDays(
  start_date: string,
  days: number,
  states: Readonly<Record<number, PageDay['state']>> = {},
): PageDay[] {
  return daysOf({ start_date, end_date: addDays(start_date, days) }).map((date, at) => {
    const state = states[at] ?? 'rows';
    const rows = state === 'rows' || state === 'held' ? 100 + at : undefined;
    return { date, state, rows, restated: state === 'rows' && at % 10 === 0 ? 1 : 0 };
  });
}

/** Sums of three metrics. The second point has no day, and the last one half of its days. */
export function pageSums(first: string, many: number, unit: PageSums['unit'] = 'day'): PageSums {
  const all = { day: 1, week: 7, month: 30 }[unit];
  const points = Array.from({ length: many }, (_, at) => ({
    start: addDays(first, at * all),
    known: at === 1 ? 0 : at === many - 1 ? Math.ceil(all / 2) : all,
    all,
  }));
  const sizes = { spend: 640.25, impressions: 81_234, number_of_purchases: 12 };
  const metrics = Object.entries(sizes).map(([name, size]) => {
    const fraction = name === 'spend' ? '.250000' : '';
    const values = points.map((_, at) =>
      at === 1 ? null : `${3 * Math.round(size * (1 + at / many))}${fraction}`,
    );
    return { name, values, total: '6172836.250000' };
  });
  return { unit, points, metrics };
}

function range(day: string) {
  const command = `npm run export -- run daily-campaigns --account acme --from ${day} --to ${addDays(day, 1)}`;
  return { start_date: day, end_date: addDays(day, 1), days: 1, command };
}
