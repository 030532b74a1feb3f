import { expect, test } from 'vitest';
import type { DaySettings } from '../../../infra/sandbox/reporting/blocks.ts';
import type { ReportRequest } from '../../../infra/sandbox/reporting/report-request.ts';
import { createReportFile, type FileOptions } from '../../../infra/sandbox/reporting/rows.ts';
import { send, startDownload } from './client.ts';

const [FIRST, SECOND] = ['5f0c1b9e-3a74-4d1b-9c52-7e8d2f6a1b01', '8a2d4c6f-1b3e-4f5a-8d7c-9e0f1a2b3c02'];

const REQUEST: ReportRequest = {
  start_date: '2026-10-01',
  end_date: '2026-10-11',
  advertiser_ids: [FIRST, SECOND],
  metrics: ['spend', 'impressions'],
  dimensions: ['campaign_id', 'campaign_name', 'country'],
};

/** The lines of a report created at noon of 8 October: rows without the comma at their end. */
function linesOf(request: Partial<ReportRequest> = {}, options: Partial<FileOptions> = {}): string[] {
  const createdAt = Date.parse('2026-10-08T12:00:00Z');
  const file = createReportFile({ ...REQUEST, ...request }, { createdAt, ...options });
  const lines = Buffer.concat([...file.read()])
    .toString()
    .split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => line.replace(/,$/, ''));
}

/** Rows per day of October. */
function countsOf(request: Partial<ReportRequest>, options: Partial<FileOptions>): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const line of linesOf(request, options)) {
    const day = Number(JSON.parse(line).date.slice(-2));
    counts[day] = (counts[day] ?? 0) + 1;
  }
  return counts;
}

const of =
  (text: string) =>
  (line: string): boolean =>
    line.includes(text);

const CHANGING: DaySettings = {
  restated: { days: 3, everyHours: 6 },
  lateHours: 20,
  isEmpty: (day, advertiser) => day === '2026-10-03' || (day === '2026-10-05' && advertiser === FIRST),
};

test.each([
  ['without options', {}],
  ['that are restated, late or empty', CHANGING],
])('days %s have the same bytes in every window with that day', (_, options) => {
  const all = linesOf({ start_date: '2026-09-20', end_date: '2026-10-20' }, options);
  expect(all.length).toBeGreaterThan(100);
  for (const [start_date, end_date] of [
    ['2026-10-01', '2026-10-11'],
    ['2026-10-05', '2026-10-06'],
    ['2026-10-07', '2026-10-20'],
  ] as const) {
    const inWindow = all.filter((line) => line.slice(9, 19) >= start_date && line.slice(9, 19) < end_date);
    expect(linesOf({ start_date, end_date }, options)).toEqual(inWindow);
  }
});

test('an advertiser has the same rows whatever other advertisers the report has, in either case', () => {
  const both = linesOf({}, CHANGING);
  for (const id of [FIRST, SECOND]) {
    const own = both.filter(of(id));
    expect(own.length).toBeGreaterThan(20);
    expect(linesOf({ advertiser_ids: [id.toUpperCase()] }, CHANGING)).toEqual(own);
  }
  expect(linesOf({ advertiser_ids: [SECOND, FIRST] }, CHANGING).sort()).toEqual(both.sort());
});

test('a metric has the same values whatever other metrics the report has; an option changes them', () => {
  const spend = (request: Partial<ReportRequest>) => linesOf(request).map((line) => JSON.parse(line).spend);
  expect(spend({ metrics: ['clicks', 'spend'] })).toEqual(spend({}));
  expect(spend({ attribution_window: '7d' })).not.toEqual(spend({}));
});

test('a campaign keeps its id from day to day, and every advertiser has its own', () => {
  const ids = linesOf().map((line) => JSON.parse(line).campaign_id);
  expect(new Set(ids).size).toBe(2 * 2);
});

test('a larger file has more rows of the same days', () => {
  const more = new Set(linesOf({ advertiser_ids: [FIRST] }, { rows: 1_000 }));
  expect(more.size).toBe(1_000);
  for (const line of linesOf({ advertiser_ids: [FIRST] })) expect(more).toContain(line);
});

test('the metrics of a restated day grow every few hours until some days after its end', () => {
  const day = { start_date: '2026-10-01', end_date: '2026-10-02', dimensions: [] };
  const spendAfter = (hours: number) => {
    const createdAt = Date.parse('2026-10-02T00:00:00Z') + hours * 3_600_000;
    const [line = ''] = linesOf(day, { createdAt, restated: { days: 2, everyHours: 6 } });
    return JSON.parse(line).spend;
  };
  const values = Array.from({ length: 11 }, (_, period) => spendAfter(6 * (period - 1)));
  for (const [index, value] of values.entries()) {
    if (index <= 9) expect(value).toBeGreaterThan(values[index - 1] ?? 0);
    else expect(value).toBe(values[index - 1]);
  }
  expect(spendAfter(-1)).toBe(spendAfter(-100));
  expect(spendAfter(5.99)).toBe(spendAfter(0));
  expect(spendAfter(48)).toBe(JSON.parse(linesOf(day)[0] ?? '').spend);
});

test('a late day has no rows before its end, half of them for some hours, and then all', () => {
  // At noon of the 8th, the 6th ended 36 hours ago, and the 7th 12 hours ago.
  const days = { start_date: '2026-10-05', advertiser_ids: [FIRST] };
  expect(countsOf(days, { lateHours: 20 })).toEqual({ 5: 6, 6: 6, 7: 3 });
  expect(countsOf(days, { lateHours: 12 })).toEqual({ 5: 6, 6: 6, 7: 6 });
  expect(countsOf({ ...days, dimensions: [] }, { lateHours: 20 })).toEqual({ 5: 1, 6: 1 });
});

test('an empty day has no rows of its advertiser, and a total is absent if no advertiser has rows', () => {
  const days = { start_date: '2026-10-02', end_date: '2026-10-07' };
  expect(countsOf(days, CHANGING)).toEqual({ 2: 12, 4: 12, 5: 6, 6: 12 });
  expect(countsOf({ ...days, dimensions: [] }, CHANGING)).toEqual({ 2: 1, 4: 1, 5: 1, 6: 1 });
  expect(linesOf(days, { isEmpty: () => true })).toEqual([]);
});

test('a file of an exact size spreads its rows over the days that have some', () => {
  const days = { start_date: '2026-10-02', end_date: '2026-10-07' };
  expect(countsOf(days, { ...CHANGING, rows: 41 })).toEqual({ 2: 11, 4: 10, 5: 10, 6: 10 });
  expect(linesOf(days, { isEmpty: () => true, rows: 41 })).toEqual([]);
});

test('the sandbox serves reports with these options', async () => {
  const { url } = await startDownload({
    report: { secondsToReady: 25, isEmpty: (day, _, createdAt) => day > '2026-10-02' && createdAt > 0 },
  });
  const rows: { date: string }[] = JSON.parse((await send('GET', url)).text);
  expect(new Set(rows.map(({ date }) => date))).toEqual(new Set(['2026-10-01', '2026-10-02']));
});
