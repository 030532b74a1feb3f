import { DAY_STATES } from '../../functions/days/judge.ts';
import { addDays, daysOf } from '../../functions/workflow/request/dates.ts';
import type { MissingDays } from '../../infra/operate/days/missing-days.ts';
import type { UnfinishedRun } from '../../infra/operate/days/open-runs.ts';
import type { PageContents, PageDay, PageExport } from '../../infra/operate/days/page-contents.ts';

/** Contents of a page with these exports. */
export function pageContents(exports: readonly PageExport[] = []): PageContents {
  const query = 'npm run export -- query --saved days --local';
  return {
    made_at: '2026-11-22T02:31:12.521Z',
    place: 'out',
    is_local: true,
    query,
    exports,
    damaged: [],
  };
}

/** An export with the fields that are given: without any, it was never delivered. */
export function pageExport(fields: Partial<PageExport> = {}): PageExport {
  const { days = [] } = fields;
  return {
    account: 'acme',
    name: 'daily-campaigns',
    kind: 'report',
    newest_day: undefined,
    missing: days.length > 0 ? missingOf(days) : undefined,
    remedies: [],
    damaged: [],
    months: [],
    days,
    metrics: [],
    running: [],
    last: undefined,
    table: undefined,
    curve: undefined,
    closed: [],
    compared: [],
    warnings: [],
    delivered_at: undefined,
    days_behind: undefined,
    time_zone: undefined,
    failure: undefined,
    ...fields,
  };
}

/** The counts that the page draws of these days. A day without rows is there. */
export function missingOf(days: readonly PageDay[], runs: readonly UnfinishedRun[] = []): MissingDays {
  const stateOf = ({ state }: PageDay) => (state === 'empty' ? 'there' : state);
  const counts = DAY_STATES.map((state) => [state, days.filter((day) => stateOf(day) === state).length]);
  return { days: days.length, counts: Object.fromEntries(counts), runs } as MissingDays;
}

/** An export with everything that the page shows, for this many days. */
export function fullExport(days: number, fields: Partial<PageExport> = {}): PageExport {
  const start = addDays('2026-11-22', -days);
  return pageExport({
    days: pageDays(start, days, { 2: 'missing', 3: 'held', 4: 'empty' }),
    remedies: [remedy(addDays(start, 2), 'not delivered'), remedy(addDays(start, 3), 'held')],
    metrics: [
      { name: 'spend', unit: 'EUR' },
      { name: 'impressions', unit: 'count' },
      { name: 'number_of_purchases', unit: 'count' },
    ],
    newest_day: '2026-11-21',
    delivered_at: '2026-11-22T02:20:11.000Z',
    days_behind: 1,
    time_zone: 'Europe/Berlin',
    last: {
      execution: 'scheduled-1',
      outcome: 'failed',
      error: 'ReportStuck',
      at: '2026-11-22T02:20:11.000Z',
    },
    table: {
      table: 'daily_campaigns',
      kind: 'report',
      key: ['account', 'date', 'campaign_name'],
      description: 'The report of acme/daily-campaigns: one row per account, day and campaign_name.',
      time_zones: { acme: 'Europe/Berlin' },
      currencies: { acme: 'EUR' },
      columns: [
        { name: 'date', type: 'date', meaning: 'The day' },
        { name: 'spend', type: 'double', meaning: 'The money spent on ads', unit: 'EUR', adds_up: true },
        { name: 'ctr', type: 'double', meaning: 'Clicks per impression', unit: 'ratio', adds_up: false },
      ],
    },
    ...fields,
  });
}

/** Days with rows, and other states by place, such as `{ 3: 'missing' }`. Every tenth one was corrected. */
export function pageDays(
  start_date: string,
  days: number,
  states: Readonly<Record<number, PageDay['state']>> = {},
): PageDay[] {
  return daysOf({ start_date, end_date: addDays(start_date, days) }).map((date, at) => {
    const state = states[at] ?? 'there';
    if (state !== 'there' && state !== 'held') return { date, state };
    const values = { spend: 640.25 + at, impressions: 243_702 + at, number_of_purchases: 36 };
    const isCorrected = state === 'there' && at % 10 === 0;
    const changes = { corrections: isCorrected ? 1 : 0, first: isCorrected ? { spend: 640 + at } : {} };
    return { date, state, rows: 100 + at, values, ...changes };
  });
}

function remedy(day: string, reason: string) {
  const range = { start_date: day, end_date: addDays(day, 1) };
  const command = `npm run export -- run daily-campaigns --account acme --from ${day} --to ${range.end_date}`;
  return { aim: 'To bring it:', ranges: [{ ...range, days: 1, reason }], command };
}
